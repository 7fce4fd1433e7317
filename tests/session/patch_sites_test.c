/* SPDX-License-Identifier: MIT */
/* The sites where patches may stand: merged in order, each once, the newest patch of each; kept as
 * long as one image has them. And which of them stand in a process: this one's child. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/code.h"
#include "inject/standing_patches.h"

static struct patch patch_at(uint64_t address, uint8_t length, uint8_t byte)
{
	struct patch p = { .address = address, .length = length, .function = 7 };

	memset(p.bytes, byte, length);
	memset(p.expected, 0x90, length);
	return p;
}

static void merged(void **state)
{
	struct patch_sites sites = { 0 };
	const struct patch first[] = { patch_at(30, 5, 1), patch_at(10, 5, 1), patch_at(20, 2, 1) };
	struct patch second[] = { patch_at(20, 5, 2), patch_at(30, 5, 2), patch_at(5, 8, 2),
				  patch_at(40, 2, 2) };
	const uint64_t want[][3] = { { 5, 8, 2 },  { 10, 5, 1 }, { 20, 2, 1 },
				     { 20, 5, 2 }, { 30, 5, 2 } };
	uint32_t which = patch_sites_begin(&sites);
	const struct patch_list *all;

	second[3].function = PATCH_SEMAPHORE;
	assert_int_equal(patch_sites_of(&sites, which)->n, 0);
	patch_sites_add(&sites, which, first, 3);
	for (int i = 0; i < 2; i++) /* once more changes nothing */
		patch_sites_add(&sites, which, second, 4);
	all = patch_sites_of(&sites, which);
	assert_int_equal(all->n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(all->at[i].address, want[i][0]);
		assert_int_equal(all->at[i].length, want[i][1]);
		assert_int_equal(all->at[i].bytes[0], want[i][2]);
	}
	patch_sites_free(&sites);
}

static void shared(void **state)
{
	struct patch_sites sites = { 0 };
	const struct patch p = patch_at(10, 5, 1);
	uint32_t one = patch_sites_begin(&sites), other = patch_sites_begin(&sites);

	patch_sites_add(&sites, one, &p, 1);
	patch_sites_add(&sites, PATCH_SITES_NONE, &p, 1);
	patch_sites_share(&sites, one);
	patch_sites_end(&sites, one);
	assert_int_equal(patch_sites_of(&sites, one)->n, 1);
	patch_sites_end(&sites, one);
	patch_sites_end(&sites, one);   /* too often */
	patch_sites_end(&sites, PATCH_SITES_NONE);
	assert_int_equal(patch_sites_of(&sites, one)->n, 0);
	assert_int_equal(patch_sites_of(&sites, other)->n, 0);
	assert_int_equal(patch_sites_of(&sites, PATCH_SITES_NONE)->n, 0);
	patch_sites_free(&sites);
}

/* --- in a process ----------------------------------------------------------------------------- */

/* Text and data of the child, far enough from its trampolines that jumps are of five bytes. */
static uint8_t *text;
enum { CODE_AT = 1 << 20, MAPPED = CODE_AT + 4096 };

/* Trampolines are mapped where `text` is, a megabyte further. */
static void map_all(void)
{
	int fd = memfd_create("brace-code", 0);

	text = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fd >= 0 && text != MAP_FAILED && ftruncate(fd, 4096) == 0);
	assert_true(mmap(text + CODE_AT, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 0) != MAP_FAILED);
	close(fd);
	memset(text, 0x90, CODE_AT);
}

static uint64_t at(unsigned offset)
{
	return (uint64_t)(uintptr_t)(text + offset);
}

/* Writes what may stand there: by a change that nobody noted, by somebody else, by nobody. */
static void write_all(void)
{
	const uint64_t word = at(CODE_AT + 64), elsewhere = at(64);
	int32_t distance = (int32_t)(at(CODE_AT + 16) - at(404));

	code_jump(at(0), at(CODE_AT + 32), text);          /* ours */
	code_jump(at(100), at(800), text + 100);           /* somebody else's */
	memcpy(text + 200, &word, 8);                      /* ours */
	memcpy(text + 300, &elsewhere, 8);                 /* the program's */
	memcpy(text + 400, &distance, 4);                  /* ours */
	code_short_jump(at(500), at(520), text + 500);     /* to an island, which is ours */
	code_jump(at(520), at(CODE_AT + 48), text + 520);
	code_short_jump(at(600), at(620), text + 600);     /* to nothing of ours */
	memset(text + 700, 0x11, 5);                       /* what brace wrote */
	code_jump(at(5000), at(CODE_AT), text + 5000);     /* on another page */
}

static void standing(void **state)
{
	static const struct { unsigned offset; uint8_t length; bool stands; } want[] = {
		{ 0, 5, true },	   { 2, 5, false },   { 100, 5, false }, { 200, 8, true },
		{ 300, 8, false }, { 400, 4, true },  { 500, 2, true },	 { 520, 5, true },
		{ 600, 2, false }, { 620, 5, false }, { 700, 5, true },	 { 5000, 5, true },
	};
	const size_t n = sizeof(want) / sizeof(*want);
	struct patch_list sites = { 0 }, told = { 0 }, out = { 0 };
	struct tracee *t;
	struct maps maps;
	struct err err;
	pid_t child;
	size_t found = 0;

	map_all();
	for (size_t i = 0; i < n; i++)
		*vec_add(&sites) = patch_at(at(want[i].offset), want[i].length, 0x11);
	/* Told: that somebody else changed, one that is out, and a semaphore. */
	for (unsigned i = 0; i < 3; i++) {
		*vec_add(&told) = patch_at(at((unsigned[]){ 100, 620, 900 }[i]), i == 2 ? 2 : 5, 0x11);
		told.at[i].status = PATCH_APPLIED;
	}
	told.at[2].function = PATCH_SEMAPHORE;
	write_all();
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	if (tracee_stop(child, &t, &err) < 0) {
		kill(child, SIGKILL);
		print_message("%s\n", err.text);
		skip(); /* ptrace is not allowed */
	}
	assert_int_equal(maps_read(child, &maps, &err), 0);
	assert_int_equal(standing_patches_find(t, &maps, &sites, &told, &out), 1);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < out.n; k++)
			if (out.at[k].address == at(want[i].offset)) {
				assert_true(want[i].stands && out.at[k].length == want[i].length);
				assert_memory_equal(out.at[k].bytes, text + want[i].offset,
						    want[i].length);
				found++;
			}
	assert_int_equal(found, 7);
	assert_int_equal(out.n, 8); /* and the semaphore */
	out.n = 0;
	assert_int_equal(standing_patches_find(t, &maps, &(struct patch_list){ 0 }, &told, &out), 0);
	assert_int_equal(out.n, 3); /* without sites, what was told */
	tracee_release(t);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	maps_free(&maps);
	vec_free(&sites);
	vec_free(&told);
	vec_free(&out);
	munmap(text, MAPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(merged), cmocka_unit_test(shared),
					    cmocka_unit_test(standing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
