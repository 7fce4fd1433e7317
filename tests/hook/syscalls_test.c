/* Where modules make system calls, by what objdump says of the same files: each is found and
 * nothing else; a probe before one ends before it, one behind begins behind it, and what leads
 * there leads through both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/syscalls.h"

#define BYTES (64u << 20)
#define INSN 1u
#define TARGET 2u
#define CALL 4u
#define TWICE 8u   /* a target of more than one jump */

static struct { const char *path; bool glibc; unsigned at_least; } files[] = {
	{ "/usr/lib/x86_64-linux-gnu/libc.so.6", true, 400 },
	{ "/lib64/ld-linux-x86-64.so.2", true, 30 },
	{ "/usr/sbin/ldconfig", true, 100 },                   /* static */
	{ "/usr/bin/python3", false, 0 },                  /* makes none itself */
	{ "/lib/ld-musl-x86_64.so.1", false, 300 },
	{ "/usr/bin/caddy", false, 30 },                      /* Go */
};

struct view {
	struct hook_prober *prober;
	const struct sym_module *m;
	hook_syscall_list calls;
	uint64_t base;
	uint8_t *marks;      /* of each address: INSN, TARGET, CALL, TWICE */
	unsigned noted;      /* CALL */
};

static uint64_t target_of(const char *line)
{
	const char *tab = strrchr(line, '\t'), *operand;
	char *end;
	uint64_t target;

	if (!tab || (tab[1] != 'j' && strncmp(tab + 1, "call", 4) != 0))
		return 0;
	operand = tab + 1 + strcspn(tab + 1, " \n");
	operand += strspn(operand, " ");
	target = strtoull(operand, &end, 16);
	return end != operand && (*end == ' ' || *end == '\n') ? target : 0;
}

static void read_objdump(struct view *v, const char *path)
{
	char *command = mem_printf("objdump -d --no-show-raw-insn '%s'", path), *line = NULL, *end;
	FILE *f = popen(command, "r");
	size_t cap = 0;

	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		uint64_t at = strtoull(line, &end, 16) - v->base, target = target_of(line) - v->base;

		if (*line != ' ' || *end != ':' || at >= BYTES)
			continue;
		v->marks[at] |= INSN;
		if (strncmp(end, ":\tsyscall", 9) == 0) {
			v->marks[at] |= CALL;
			v->noted++;
		}
		if (target < BYTES)
			v->marks[target] |= v->marks[target] & TARGET ? TWICE : TARGET;
	}
	assert_int_equal(pclose(f), 0);
	free(line);
	free(command);
}

static void open_view(struct view *v, const char *path)
{
	struct err err = { 0 };

	*v = (struct view){ .marks = mem_zalloc(BYTES) };
	if (hook_prober_open(path, &v->prober, &err) < 0)
		fail_msg("%s", err.text);
	v->m = hook_prober_module(v->prober);
	v->base = v->m->segments.at[0].vaddr;
	hook_syscalls_find(v->prober, &v->calls);
}

static void close_view(struct view *v)
{
	vec_free(&v->calls);
	hook_prober_close(v->prober);
	free(v->marks);
}

static bool marked(const struct view *v, uint64_t vaddr, unsigned mark)
{
	return vaddr - v->base < BYTES && v->marks[vaddr - v->base] & mark;
}

/* Nothing leads to `at` but the jump behind the call, which ends the thread. */
static bool is_own_loop(const struct view *v, const struct hook_syscall *c, uint64_t at)
{
	const uint8_t *p = sym_bytes(v->m, at, c->vaddr + 4 - at);

	return c->number == SYS_exit && p && p[c->vaddr + 2 - at] == 0xeb &&
	       (int8_t)p[c->vaddr + 3 - at] == -(int)(c->vaddr + 4 - at) && !marked(v, at, TWICE);
}

static const char *fault_before(const struct view *v, const struct hook_syscall *c)
{
	const struct hook_probe *p = c->before;
	uint64_t from = p->vaddr - p->before;

	if (p->kind == HOOK_NONE)
		return NULL;
	if (from + p->len > c->vaddr || from + p->patch_len > c->vaddr)
		return "has the call in its window";
	for (uint64_t at = from; at < c->vaddr; at++)
		if (marked(v, at, CALL) || (at > from && marked(v, at, TARGET) && !(c->ahead && is_own_loop(v, c, at))))
			return "can be come to past its probe";
	if (marked(v, c->vaddr, TARGET) || !marked(v, from, INSN) || !marked(v, p->vaddr, INSN))
		return "is jumped to, or cuts an instruction";
	return NULL;
}

static const char *fault_behind(const struct view *v, const struct hook_syscall *c)
{
	const struct hook_probe *p = c->behind;

	if (p->kind == HOOK_NONE)
		return NULL;
	if (p->before || p->vaddr != c->vaddr + 2)
		return "has its return elsewhere";
	for (uint64_t at = p->vaddr + 1; at < p->vaddr + p->patch_len; at++)
		if (marked(v, at, TARGET))
			return "is jumped into behind";
	return marked(v, p->vaddr, TARGET) && !c->joined ? "is joined, and does not say so" : NULL;
}

static unsigned check(const struct view *v, const struct hook_syscall *c)
{
	const char *fault = marked(v, c->vaddr, CALL) ? fault_before(v, c) : "is none";

	if (!fault)
		fault = fault_behind(v, c);
	if (!fault && !c->bar != (c->before->kind != HOOK_NONE && (c->behind->kind != HOOK_NONE || !c->returns)))
		fault = "has no reason, or one too much";
	if (fault)
		print_error("%s: the call at %#llx %s\n", v->m->path, (unsigned long long)c->vaddr, fault);
	return fault != NULL;
}

static void check_file(const char *path, bool glibc, unsigned at_least)
{
	unsigned bad = 0, led = 0, left = 0, unknown = 0;
	struct view v;

	open_view(&v, path);
	read_objdump(&v, path);
	for (size_t i = 0; i < v.calls.n; i++) {
		const struct hook_syscall *c = &v.calls.at[i];

		bad += check(&v, c);
		led += !c->bar;
		left += c->bar == SYSCALL_BAR_SIGNAL_RETURN;
		unknown += c->number == SYSCALL_UNKNOWN;
	}
	print_message("%s: %u of %zu system calls led, %u of unknown number\n", path, led, v.calls.n, unknown);
	assert_int_equal(bad, 0);
	assert_int_equal(v.calls.n, v.noted);
	assert_true(v.calls.n >= at_least);
	if (glibc)
		assert_true(left == 1 && led + left + 3 >= v.calls.n && unknown < v.calls.n / 5);
	close_view(&v);
}

static void test_files(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (access(files[i].path, R_OK) == 0)
			check_file(files[i].path, files[i].glibc, files[i].at_least);
}

/* --- numbers: wrappers of known names --------------------------------------------------------- */

static const struct { const char *function; uint32_t number; } wrappers[] = {
	{ "getpid", SYS_getpid }, { "close", SYS_close }, { "__close", SYS_close }, { "read", SYS_read }, { "write", SYS_write },
	{ "getuid", SYS_getuid }, { "dup2", SYS_dup2 }, { "chdir", SYS_chdir }, { "munmap", SYS_munmap },
	{ "mprotect", SYS_mprotect }, { "lseek64", SYS_lseek }, { "socket", SYS_socket },
	{ "listen", SYS_listen }, { "setsid", SYS_setsid }, { "umask", SYS_umask }, { "kill", SYS_kill },
	{ "epoll_create1", SYS_epoll_create1 }, { "vfork", SYS_vfork }, { "syscall", SYSCALL_UNKNOWN },
};

static void test_numbers(void **state)
{
	unsigned met = 0;
	struct view v;

	open_view(&v, files[0].path);
	for (size_t i = 0; i < v.calls.n; i++) {
		const struct hook_syscall *c = &v.calls.at[i];
		const char *name = c->function == PROBE_ALONE ? NULL : sym_name(v.m, &v.m->functions.at[c->function]);

		for (size_t k = 0; name && k < sizeof(wrappers) / sizeof(*wrappers); k++) {
			if (strcmp(name, wrappers[k].function) != 0)
				continue;
			assert_int_equal(c->number, wrappers[k].number);
			assert_int_equal(c->twice, c->number == SYS_vfork);
			met++;
		}
	}
	print_message("%u of %zu wrappers\n", met, sizeof(wrappers) / sizeof(*wrappers));
	assert_true(met >= 12);
	close_view(&v);
}

/* A short wrapper's own entry hook and the probe stand in the same place. */
static void test_beside_entry(void **state)
{
	unsigned at_entry = 0;
	struct view v;

	open_view(&v, files[0].path);
	for (size_t i = 0; i < v.calls.n; i++)
		at_entry += v.calls.at[i].before->at_entry;
	print_message("%u probes stand at their function's entry hook\n", at_entry);
	assert_true(at_entry > 100);
	close_view(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files), cmocka_unit_test(test_numbers), cmocka_unit_test(test_beside_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
