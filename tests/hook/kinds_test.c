/* How functions are hooked: hand-written ones that have one property each, and ordinary ones
 * compiled in every way that leaves room for a tracer. FIXTURES is their directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook/plan.h"

struct planned {
	struct sym_module *m;
	struct hook_plan *plan;
};

static struct planned plan_of(const char *name)
{
	struct planned p;
	struct err err = { 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", getenv("FIXTURES"), name);
	if (sym_open(path, &p.m, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(hook_plan(p.m, &p.plan, &err), 0);
	return p;
}

static void planned_free(struct planned *p)
{
	hook_plan_free(p->plan);
	sym_close(p->m);
}

static const struct hook_plan_entry *entry(const struct planned *p, const char *name)
{
	for (uint32_t i = 0; i < p->plan->n; i++) {
		const struct sym_function *f = &p->m->functions.at[i];
		const char *s = sym_name(p->m, f);

		if (s && !f->plt && strcmp(s, name) == 0)
			return &p->plan->entries[i];
	}
	fail_msg("there is no %s", name);
	return NULL;
}

#define HOOKED(name, kind) { name, HOOK_##kind, REASON_NONE }
#define ENTRY(name, reason) { name, HOOK_JUMP, REASON_##reason }
#define REFUSED(name, reason) { name, HOOK_NONE, REASON_##reason }

static const struct { const char *name; enum hook_kind kind; enum hook_reason reason; } reasons[] = {
	HOOKED("plain", JUMP), HOOKED("ret_only", PADDED), HOOKED("ret_int3", PADDED), HOOKED("tail_short", PADDED),
	HOOKED("plain_near", JUMP), HOOKED("indirect_tail", PADDED), HOOKED("endbr", JUMP),
	HOOKED("inner_padding", PADDED), HOOKED("loop_to_3", SHORT), HOOKED("call_in_middle", SHORT),
	HOOKED("call_last", JUMP), REFUSED("call_by_rsp", UNMOVABLE), HOOKED("short_branches", JUMP),
	REFUSED("loop_to_1", BRANCH_TARGET), HOOKED("before_packed", JUMP), REFUSED("packed_1", TOO_SHORT),
	REFUSED("packed_2", TOO_SHORT), REFUSED("packed_loop", BRANCH_TARGET),
	REFUSED("packed_call", CALL_IN_WINDOW), HOOKED("after_packed", JUMP),
	REFUSED("reads_flags", READS_FLAGS), REFUSED("reads_flags_late", READS_FLAGS),
	HOOKED("sets_flags_first", JUMP), ENTRY("returns_flags", RETURNS_FLAGS), HOOKED("ordinary", JUMP),
	HOOKED("caller_of_flags", JUMP), ENTRY("pops_return", READS_CALLER), ENTRY("loads_return", READS_CALLER),
	ENTRY("loads_return_by_frame", READS_CALLER), HOOKED("loads_argument", JUMP), HOOKED("loads_stack", JUMP),
	ENTRY("pushes_in_loop", NO_RETURN_ADDRESS), HOOKED("loops_to_entry", JUMP),
	HOOKED("jumps_with_frame", PADDED), ENTRY("jumped_to", NO_RETURN_ADDRESS), HOOKED("jumps_balanced", PADDED),
	HOOKED("tail_target", JUMP), REFUSED("unmovable", UNMOVABLE), REFUSED("undecodable", UNDECODABLE),
	REFUSED("constants", NOT_CODE), HOOKED("loads_constants", JUMP), HOOKED("table_user", JUMP),
	HOOKED("table_target", SHORT), ENTRY("odd_frame", NO_RETURN_ADDRESS), HOOKED("nops5", NOP),
	HOOKED("nops_of_one", NOP), HOOKED("nops_too_few", JUMP), ENTRY("setjmp", RETURNS_TWICE),
	HOOKED("vfork", JUMP), ENTRY("getcontext", RETURNS_TWICE), ENTRY("dlsym", READS_CALLER),
	ENTRY("backtrace", READS_CALLER), ENTRY("_Unwind_RaiseException", READS_CALLER),
	ENTRY("__asan_report_load8", READS_CALLER), REFUSED("__tls_get_addr", CONVENTION),
	REFUSED("_dl_runtime_resolve_xsavec", CONVENTION), REFUSED("mcount", CONVENTION),
	REFUSED("__restore_rt", RUNTIME),
};

static void test_reasons(void **state)
{
	struct planned p = plan_of("libreasons.so");
	unsigned bad = 0;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		const struct hook_plan_entry *e = entry(&p, reasons[i].name);
		bool only = e->kind != HOOK_NONE && e->reason != REASON_NONE;

		if (e->kind == reasons[i].kind && e->reason == reasons[i].reason && e->entry_only == only)
			continue;
		print_error("%s: %s %s, not %s %s\n", reasons[i].name, hook_kind_words[e->kind],
			    hook_reason_words[e->reason], hook_kind_words[reasons[i].kind],
			    hook_reason_words[reasons[i].reason]);
		bad++;
	}
	assert_int_equal(bad, 0);
	planned_free(&p);
}

/* Where the patch stands, and that islands are in padding nobody else has. */
static void test_places(void **state)
{
	static const char *const shorts[] = { "loop_to_3", "call_in_middle", "table_target" };
	struct planned p = plan_of("libreasons.so");
	uint64_t islands[3];

	assert_int_equal(entry(&p, "endbr")->patch_offset, 4);
	assert_int_equal(entry(&p, "plain")->patch_offset, 0);
	assert_int_equal(entry(&p, "plain")->patch_len, 5);
	assert_int_equal(entry(&p, "ret_only")->recipe.len, 1);
	for (size_t i = 0; i < 3; i++) {
		const struct hook_plan_entry *e = entry(&p, shorts[i]);
		uint64_t at = islands[i] = e->vaddr + (uint64_t)(int64_t)e->island;

		assert_int_equal(e->patch_len, 2);
		assert_true(e->island >= 2 - 128 && e->island <= 2 + 127);
		for (uint64_t k = at; k < at + 5; k++)
			assert_null(sym_around(p.m, k));
		for (uint32_t k = 0; k < p.plan->n; k++) {
			const struct hook_plan_entry *o = &p.plan->entries[k];

			assert_false(o->kind == HOOK_PADDED && o->vaddr + o->patch_offset + 5 > at && o->vaddr <= at);
		}
		for (size_t k = 0; k < i; k++)
			assert_true(at >= islands[k] + 5 || islands[k] >= at + 5);
	}
	planned_free(&p);
}

struct variant {
	const char *file;
	enum hook_kind kind;     /* of add, sum, name, factorial and main */
	uint8_t offset, covered; /* 0 = as the instructions fall */
};

static void check_variant(const struct variant *v)
{
	static const char *const names[] = { "add", "sum", "name", "factorial", "main" };
	struct planned p = plan_of(v->file);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct hook_plan_entry *e = entry(&p, names[i]);

		print_message("%s: %s %s %s\n", v->file, names[i], hook_kind_words[e->kind], hook_reason_words[e->reason]);
		if (v->kind != HOOK_JUMP || e->kind != HOOK_PADDED) /* add has 4 bytes */
			assert_int_equal(e->kind, v->kind);
		assert_false(e->entry_only);
		assert_int_equal(e->patch_offset, v->offset);
		if (v->covered) {
			assert_int_equal(e->recipe.len, v->covered);
			assert_int_equal(e->recipe.n, 0);
			assert_true(e->recipe.falls);
		}
	}
	planned_free(&p);
}

static void test_compilers(void **state)
{
	static const struct variant variants[] = {
		{ "functions-O0", HOOK_JUMP, 0, 0 },
		{ "functions-O2-cet", HOOK_JUMP, 4, 0 },
		{ "functions-pg", HOOK_MCOUNT, 0, 0 },
		{ "functions-cyg", HOOK_MCOUNT, 0, 0 },
		{ "functions-mfentry", HOOK_FENTRY, 0, 6 },
		{ "functions-mfentry-nopie", HOOK_FENTRY, 0, 5 },
		{ "functions-mfentry-cet", HOOK_FENTRY, 4, 6 },
		{ "functions-mnop", HOOK_NOP, 0, 5 },
		{ "functions-patchable5", HOOK_NOP, 0, 5 },
		{ "functions-patchable16_8", HOOK_NOP, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
		check_variant(&variants[i]);
}

static void test_xray(void **state)
{
	static const struct variant xray = { "functions-xray", HOOK_XRAY, 0, 11 };

	if (!getenv("HAVE_XRAY"))
		skip();
	check_variant(&xray);
}

/* -Os aligns nothing: a function shorter than a jump, or with a loop in its first bytes, has
 * no padding to use. */
static bool is_packed(const struct planned *p, uint32_t i)
{
	enum hook_reason r = p->plan->entries[i].reason;

	return (r == REASON_TOO_SHORT || r == REASON_BRANCH_TARGET) && p->m->functions.at[i].size < 20;
}

/* Every function of a program's own is hooked, however small the code. */
static void test_sizes(void **state)
{
	static const char *const files[] = { "functions-O2", "functions-Os", "functions-O2-stripped" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct planned p = plan_of(files[i]);

		for (uint32_t k = 0; k < p.plan->n; k++)
			if (p.plan->entries[k].kind == HOOK_NONE && !(strcmp(files[i], "functions-Os") == 0 && is_packed(&p, k)))
				fail_msg("%s: %s at %lx: %s", files[i], sym_name(p.m, &p.m->functions.at[k]),
					 p.plan->entries[k].vaddr, hook_reason_words[p.plan->entries[k].reason]);
		planned_free(&p);
	}
}

/* __fentry__ and mcount are called, not traced; functions imported by name are entry only. */
static void test_imports(void **state)
{
	struct planned p = plan_of("functions-mfentry-nopie");
	unsigned seen = 0;

	for (uint32_t i = 0; i < p.plan->n; i++) {
		const struct sym_function *f = &p.m->functions.at[i];
		const char *name = sym_name(p.m, f);

		if (!f->plt || !name)
			continue;
		seen |= strcmp(name, "__fentry__") == 0 ? 1 : strcmp(name, "printf") == 0 ? 2 : 0;
		if (strcmp(name, "__fentry__") == 0)
			assert_int_equal(p.plan->entries[i].reason, REASON_CONVENTION);
		else if (strcmp(name, "printf") == 0)
			assert_int_equal(p.plan->entries[i].kind, HOOK_JUMP);
	}
	assert_int_equal(seen, 3);
	planned_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_compilers),
		cmocka_unit_test(test_xray),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_imports),
	};

	return cmocka_run_group_tests_name("hook_kinds", tests, NULL, NULL);
}
