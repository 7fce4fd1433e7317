/* Probes at any instruction, by what objdump and readelf say of the same files: a window is whole
 * instructions of one function, nothing jumps into it, and the markers are those that readelf
 * lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "branch_target.h"
#include "hook/returns.h"
#include "sym/usdt.h"

#define BYTES (64u << 20)
#define INSN 1u
#define TARGET 2u
#define RETURN 4u
#define TAKEN 8u
#define PLANNED 16u

struct file { const char *path; unsigned markers; /* at least so many, hookable */ };
static const struct file files[] = {
	{ "/usr/bin/python3", 8 },
	{ "/usr/lib/postgresql/15/bin/postgres", 66 },
	{ "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 3 },
	{ "/usr/bin/perl", 0 },
	{ "/usr/lib/x86_64-linux-gnu/libc.so.6", 0 },
	{ "/lib64/ld-linux-x86-64.so.2", 0 },
};

struct view {
	struct hook_prober *prober;
	const struct sym_module *m;
	uint64_t base;
	uint8_t *marks;           /* of each address: INSN, TARGET */
};

/* "ret", "bnd ret", "repz ret", "ret $0x8" */
static bool is_return(const char *line)
{
	const char *tab = strrchr(line, '\t'), *ret = tab ? strstr(tab, "ret") : NULL;

	return ret && (ret[-1] == '\t' || ret[-1] == ' ') && strchr(" \n", ret[3]) && !strchr(tab, '<');
}

static void read_objdump(struct view *v, const char *path)
{
	char *command = mem_printf("objdump -d --no-show-raw-insn '%s'", path), *line = NULL, *end;
	FILE *f = popen(command, "r");
	size_t cap = 0;
	uint64_t target;

	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		uint64_t at = strtoull(line, &end, 16) - v->base;

		if (*line == ' ' && *end == ':' && at < BYTES)
			v->marks[at] |= INSN;
		if (*line == ' ' && *end == ':' && at < BYTES && is_return(line))
			v->marks[at] |= RETURN;
		if (branch_target(line, &target) && target - v->base < BYTES)
			v->marks[target - v->base] |= TARGET;
	}
	assert_int_equal(pclose(f), 0);
	free(line);
	free(command);
}

static bool open_view(struct view *v, const char *path)
{
	struct err err;

	if (hook_prober_open(path, &v->prober, &err) < 0)
		return false;
	v->m = hook_prober_module(v->prober);
	v->base = v->m->segments.at[0].vaddr;
	v->marks = mem_zalloc(BYTES);
	read_objdump(v, path);
	return true;
}

static void close_view(struct view *v)
{
	hook_prober_close(v->prober);
	free(v->marks);
}

static bool is_marked(const struct view *v, uint64_t vaddr, unsigned mark)
{
	return vaddr - v->base < BYTES && v->marks[vaddr - v->base] & mark;
}

/* Does a recipe's instructions begin where objdump's do? */
static bool same_instructions(const struct view *v, const struct relocate_recipe *r, uint64_t at)
{
	for (unsigned i = 0; i < r->n; at += r->insn[i].len, i++)
		if (!is_marked(v, at, INSN))
			return false;
	return is_marked(v, at, INSN) || !r->falls;
}

/* The sentence that says what is wrong with it, or NULL. */
static const char *fault_of(const struct view *v, const struct hook_probe *p)
{
	uint64_t from = p->vaddr - p->before, last = from + p->patch_len;

	if (!same_instructions(v, &p->lead, from) || !same_instructions(v, &p->rest, p->vaddr))
		return "cuts an instruction";
	if (p->before + p->rest.len < p->patch_len && p->kind == HOOK_JUMP)
		return "is longer than its instructions";
	for (uint64_t at = from + 1; at < (last > p->vaddr ? last : p->vaddr + 1); at++)
		if (is_marked(v, at, TARGET))
			return "is jumped into";
	if (p->kind == HOOK_SHORT)
		for (uint64_t at = from + (uint64_t)(int64_t)p->island, end = at + 5; at < end; at++)
			if (is_marked(v, at, TARGET) || sym_around(v->m, at))
				return "has its island in code";
	return NULL;
}

static unsigned check(const struct view *v, const struct hook_probe *p)
{
	const char *fault = p->kind == HOOK_NONE ? NULL : fault_of(v, p);

	if (fault)
		print_error("%s: the window of %#llx %s\n", v->m->path, (unsigned long long)p->vaddr, fault);
	return fault != NULL;
}

/* --- any instruction ------------------------------------------------------------------------ */

static void check_instructions(const struct file *file)
{
	unsigned asked = 0, hooked = 0, leads = 0, bad = 0;
	struct view v;

	if (!open_view(&v, file->path))
		skip();
	for (size_t i = 0; i < v.m->functions.n; i += 1 + v.m->functions.n / 150) {
		const struct sym_function *f = &v.m->functions.at[i];

		for (uint64_t at = f->vaddr; at < f->vaddr + f->size && at < f->vaddr + 400; at++) {
			const struct hook_probe *p;

			if (f->plt || !is_marked(&v, at, INSN))
				continue;
			p = hook_probe_plan(v.prober, at);
			asked++;
			hooked += p->kind != HOOK_NONE;
			leads += p->kind != HOOK_NONE && p->before;
			bad += check(&v, p);
		}
	}
	printf("%s: %u of %u instructions can be probed, %u with a lead\n", file->path, hooked, asked, leads);
	assert_int_equal(bad, 0);
	assert_true(asked > 300 && hooked > asked * 85 / 100);
	close_view(&v);
}

static void test_instructions(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		check_instructions(&files[i]);
}

static void test_no_instruction(void **state)
{
	struct hook_prober *p;
	struct err err;
	const struct sym_module *m;
	uint64_t vaddr = 0;

	assert_int_equal(hook_prober_open("/usr/bin/perl", &p, &err), 0);
	m = hook_prober_module(p);
	for (size_t i = 0; i < m->functions.n && !vaddr; i++) {
		const uint8_t *b = sym_bytes(m, m->functions.at[i].vaddr, 3);

		vaddr = b && !memcmp(b, "\x48\x83\xec", 3) ? m->functions.at[i].vaddr : 0; /* sub $n, %rsp */
	}
	assert_int_equal(hook_probe_plan(p, vaddr)->kind, HOOK_JUMP);
	assert_true(hook_probe_plan(p, vaddr)->at_entry);
	assert_int_equal(hook_probe_plan(p, vaddr + 1)->reason, REASON_UNDECODABLE);
	assert_int_equal(hook_probe_plan(p, 1)->reason, REASON_NOT_CODE);
	assert_true(hook_probe_plan(p, vaddr + 4)->function != PROBE_ALONE);
	assert_ptr_equal(hook_probe_plan(p, vaddr), hook_probe_plan(p, vaddr));
	hook_prober_close(p);
}

/* --- returns -------------------------------------------------------------------------------- */

/* Returns within the function, by objdump. */
static size_t returns_within(const struct view *v, const struct sym_function *f)
{
	size_t n = 0;

	for (uint64_t at = f->vaddr; at < f->vaddr + f->size; at++)
		n += is_marked(v, at, RETURN);
	return n;
}

/* Takes the bytes of a patch; false: another probe has some of them. */
static bool take_bytes(struct view *v, uint64_t from, unsigned n)
{
	bool is = true;

	for (uint64_t at = from - v->base; n--; at++) {
		is &= !(v->marks[at] & TAKEN);
		v->marks[at] |= TAKEN;
	}
	return is;
}

/* Each probe has the bytes of its jump, and of its island, for itself. */
static bool take_patches(struct view *v, const struct hook_probe *p)
{
	uint64_t from = p->vaddr - p->before;
	bool is;

	if (is_marked(v, p->vaddr, PLANNED))
		return true; /* the same one: functions may share their end */
	v->marks[p->vaddr - v->base] |= PLANNED;
	is = take_bytes(v, from, p->patch_len);
	return (p->kind != HOOK_SHORT || take_bytes(v, from + (uint64_t)(int64_t)p->island, 5)) && is;
}

static unsigned check_returns(struct view *v, const struct sym_function *f, const struct hook_returns *r)
{
	size_t inside = 0;
	unsigned bad = 0;

	for (size_t i = 0; i < r->at.n; i++) {
		bad += !is_marked(v, r->at.at[i]->vaddr, RETURN) || r->at.at[i]->kind == HOOK_NONE || check(v, r->at.at[i]);
		bad += i && hook_probes_overlap(r->at.at[i], r->at.at[i - 1]);
		inside += r->at.at[i]->vaddr - f->vaddr < f->size;
		bad += !take_patches(v, r->at.at[i]);
	}
	bad += r->bar ? r->at.n != 0 : inside != returns_within(v, f);
	bad += r->bar == RETURN_BAR_NEVER && returns_within(v, f);
	bad += r->bar == RETURN_BAR_WINDOW && !is_marked(v, r->where, RETURN);
	if (bad)
		print_error("%s: returns of %#llx: %s\n", v->m->path, (unsigned long long)f->vaddr, return_bar_texts[r->bar]);
	return bad;
}

/* Every function: the returns that can be probed are objdump's, all of them. */
static void test_returns(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		unsigned n[RETURN_BARS_N] = { 0 }, bad = 0, all = 0;
		struct view v;

		if (!open_view(&v, files[i].path))
			continue;
		for (size_t k = 0; k < v.m->functions.n; k += 1 + v.m->functions.n / 4000) {
			struct hook_returns r;

			hook_returns_find(v.prober, v.m->functions.at[k].vaddr, &r);
			n[r.bar]++;
			all += r.bar != RETURN_BAR_NO_FUNCTION;
			bad += check_returns(&v, &v.m->functions.at[k], &r);
			hook_returns_free(&r);
		}
		printf("%s: returns of %u of %u functions; not of %u that go on elsewhere, %u that compute a jump, %u without a window, "
		       "%u that never return\n", files[i].path, n[RETURN_BAR_NONE], all, n[RETURN_BAR_TAIL_CALL],
		       n[RETURN_BAR_COMPUTED], n[RETURN_BAR_WINDOW] + n[RETURN_BAR_OVERLAP], n[RETURN_BAR_NEVER]);
		assert_int_equal(bad, 0);
		assert_true(n[RETURN_BAR_NONE] > all / 5);
		close_view(&v);
	}
}

/* --- markers -------------------------------------------------------------------------------- */

struct noted { char provider[64], name[64], arguments[256]; unsigned long long at, base, semaphore; };

static size_t read_readelf(const char *path, struct noted *out, size_t max)
{
	char *command = mem_printf("readelf -n '%s' 2>/dev/null", path), *line = NULL;
	FILE *f = popen(command, "r");
	size_t cap = 0, n = 0;

	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		struct noted *o = &out[n ? n - 1 : 0];

		if (strstr(line, "Provider: ") && n < max) {
			o = &out[n++];
			sscanf(line, " Provider: %63s", o->provider);
		}
		sscanf(line, " Name: %63s", o->name);
		sscanf(line, " Location: %llx, Base: %llx, Semaphore: %llx", &o->at, &o->base, &o->semaphore);
		sscanf(line, " Arguments: %255[^\n]", o->arguments);
	}
	pclose(f);
	free(line);
	free(command);
	return n;
}

static void check_markers(const struct file *file)
{
	struct noted *noted = mem_zalloc(400 * sizeof(*noted));
	size_t n = read_readelf(file->path, noted, 400);
	usdt_markers markers = { 0 };
	unsigned hooked = 0, bad = 0;
	struct view v;

	if (!open_view(&v, file->path))
		skip();
	sym_usdt(v.m, &markers);
	assert_int_equal(markers.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct hook_probe *p = hook_probe_plan(v.prober, markers.at[i].vaddr);

		assert_string_equal(markers.at[i].provider, noted[i].provider);
		assert_string_equal(markers.at[i].name, noted[i].name);
		assert_int_equal(markers.at[i].vaddr, noted[i].at); /* nothing here is prelinked */
		assert_int_equal(markers.at[i].semaphore, noted[i].semaphore);
		assert_memory_equal(markers.at[i].arguments, noted[i].arguments, strlen(noted[i].arguments));
		hooked += p->kind != HOOK_NONE;
		bad += check(&v, p);
	}
	printf("%s: %u of %zu markers can be hooked\n", file->path, hooked, n);
	assert_int_equal(bad, 0);
	assert_true(hooked >= file->markers);
	vec_free(&markers);
	free(noted);
	close_view(&v);
}

static void test_markers(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		check_markers(&files[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_no_instruction),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_markers),
	};

	return cmocka_run_group_tests_name("hook_probes", tests, NULL, NULL);
}
