/* Debian's own programs: how many of their functions are hooked, and that nothing objdump sees
 * jumps into the bytes that would be overwritten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "branch_target.h"
#include "hook/plan.h"

#define LEAST 99.4 /* percent */

struct planned {
	struct sym_module *m;
	struct hook_plan *plan;
};

static bool plan_file(const char *path, struct planned *p)
{
	struct err err = { 0 };

	if (access(path, R_OK) != 0)
		return false;
	if (sym_open(path, &p->m, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(hook_plan(p->m, &p->plan, &err), 0);
	return true;
}

static void planned_free(struct planned *p)
{
	hook_plan_free(p->plan);
	sym_close(p->m);
}

/* PLT entries belong to other modules, cold fragments to other functions. */
static double hooked_share(const char *path, const struct planned *p)
{
	unsigned n = 0, by_kind[HOOK_KINDS_N] = { 0 }, by_reason[REASONS_N] = { 0 },
		 only[REASONS_N] = { 0 };
	double share;

	for (uint32_t i = 0; i < p->plan->n; i++) {
		const struct hook_plan_entry *e = &p->plan->entries[i];

		if (p->m->functions.at[i].plt || p->m->functions.at[i].cold)
			continue;
		n++;
		by_kind[e->kind]++;
		by_reason[e->reason] += e->kind == HOOK_NONE;
		only[e->reason] += e->kind != HOOK_NONE;
	}
	share = 100.0 * (n - by_kind[HOOK_NONE]) / n;
	printf("%-44s %6u %7.3f %%", path, n, share);
	for (unsigned k = 1; k < HOOK_KINDS_N; k++)
		if (by_kind[k])
			printf(" %s %.2f", hook_kind_words[k], 100.0 * by_kind[k] / n);
	for (unsigned k = 1; k < REASONS_N; k++)
		if (by_reason[k])
			printf(" -%s %u", hook_reason_words[k], by_reason[k]);
	for (unsigned k = 1; k < REASONS_N; k++)
		if (only[k])
			printf(" (%s %u)", hook_reason_words[k], only[k]);
	printf("\n");
	return share;
}

static void test_shares(void **state)
{
	static const char *const files[] = {
		"/usr/bin/python3", "/usr/bin/sqlite3", "/usr/bin/redis-server",
		"/usr/sbin/nginx",     "/usr/bin/git",	   "/usr/bin/bash",
		"/usr/bin/gawk",       "/usr/bin/lua5.4",  "/usr/bin/perl",
		"/usr/bin/xz",	       "/usr/bin/zstd",	   "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
		"/usr/bin/node",       "/usr/bin/rg",	   "/usr/bin/caddy",
	};
	unsigned seen = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct planned p;

		if (!plan_file(files[i], &p))
			continue;
		seen++;
		assert_true(hooked_share(files[i], &p) >= LEAST);
		planned_free(&p);
	}
	assert_true(seen >= 5);
}

/* A file that starts threads with clone itself is watched, or costs a system call for each record:
 * not libc, and no file that has threads of libc's. */
static void test_threads(void **state)
{
	static const char *const files[] = {
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/python3", "/usr/bin/gdb", "/usr/bin/node",
		"/usr/bin/caddy", "/usr/lib/x86_64-linux-gnu/libasan.so.8", "/usr/bin/busybox",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct planned p;

		if (!plan_file(files[i], &p))
			continue;
		if (p.plan->starts_threads)
			fail_msg("%s is said to start threads itself", files[i]);
		planned_free(&p);
	}
}

/* In a Go program no return is followed, whatever else is known of a function. */
static void test_go(void **state)
{
	struct planned p;

	if (!plan_file("/usr/bin/caddy", &p))
		skip();
	for (uint32_t i = 0; i < p.plan->n; i++) {
		const struct hook_plan_entry *e = &p.plan->entries[i];
		const char *name = sym_name(p.m, &p.m->functions.at[i]);

		assert_true(e->kind == HOOK_NONE || (e->entry_only && e->reason == REASON_GO));
		if (name && strncmp(name, "runtime.goexit.", 15) == 0)
			assert_int_equal(e->kind, HOOK_NONE);
	}
	planned_free(&p);
}

/* --- objdump ---------------------------------------------------------------- */

static void mark(uint8_t *marks, size_t n, uint64_t at, uint64_t bytes)
{
	if (at + bytes <= n)
		memset(marks + at, 1, bytes);
}

/* Marks the bytes that patches take but for the first one of each hook, the only one that may be
 * jumped to. */
static void mark_patches(const struct planned *p, uint64_t base, uint8_t *marks, size_t n)
{
	for (uint32_t i = 0; i < p->plan->n; i++) {
		const struct hook_plan_entry *e = &p->plan->entries[i];
		uint64_t at = e->vaddr + e->patch_offset - base,
			 island = e->vaddr + (uint64_t)(int64_t)e->island - base;

		if (e->kind == HOOK_NONE || hook_by_callers(e->kind))
			continue;
		mark(marks, n, at + 1, e->patch_len - 1u);
		if (e->kind == HOOK_SHORT)
			mark(marks, n, island, 5);
	}
	for (uint32_t i = 0; i < p->plan->calls.n; i++)
		mark(marks, n, p->plan->calls.at[i].at - base, HOOK_CALL_BYTES);
}

static void check_against_objdump(const char *path)
{
	size_t n = 64u << 20, hits = 0, cap = 0, targets = 0;
	uint8_t *marks = mem_zalloc(n);
	char *command = mem_printf("objdump -d --no-show-raw-insn '%s'", path), *line = NULL;
	struct planned p;
	uint64_t base = 0, target;
	FILE *f;

	if (!plan_file(path, &p))
		skip();
	if (p.m->segments.n)
		base = p.m->segments.at[0].vaddr;
	mark_patches(&p, base, marks, n);
	f = popen(command, "r");
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		if (!branch_target(line, &target))
			continue;
		targets++;
		if (target - base < n && marks[target - base] && hits++ < 10)
			print_error("%s: %s", path, line);
	}
	assert_int_equal(pclose(f), 0);
	printf("%s: %zu branches, none into a patch\n", path, targets);
	assert_true(targets > 1000);
	assert_int_equal(hits, 0);
	free(line);
	free(command);
	free(marks);
	planned_free(&p);
}

static void test_objdump(void **state)
{
	static const char *const files[] = {
		"/usr/bin/python3", "/usr/bin/git", "/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/bash",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		check_against_objdump(files[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_go),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_objdump),
	};

	return cmocka_run_group_tests_name("hook_programs", tests, NULL, NULL);
}
