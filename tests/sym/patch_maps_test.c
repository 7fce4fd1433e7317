/* The room compilers leave for tracers, against nm and the bytes themselves, and code
 * addresses in data, against the assembler. */
#include <stdio.h>
#include <string.h>

#include "tools.h"

static uint64_t address_of(const char *file, const char *symbol)
{
	struct output o = output_of("nm %s | awk '$3==\"%s\" {print $1}'", file, symbol);
	uint64_t vaddr = 0;

	while (next_line(&o))
		vaddr = strtoull(o.line, NULL, 16);
	assert_int_not_equal(vaddr, 0);
	return vaddr;
}

static const char *const names[] = { "leaf", "inner", "main" };

/* Each function has one entry, `before` bytes in front of it, where the bytes are `code`. */
static void has_entries(const char *file, const uint64_t *at, size_t n, uint64_t before,
			const struct sym_module *m, const char *code)
{
	assert_int_equal(n, 3);
	for (size_t i = 0; i < 3; i++) {
		uint64_t vaddr = address_of(file, names[i]) - before, k = 0;

		while (k < n && at[k] != vaddr)
			k++;
		if (k == n)
			fail_msg("%s: no entry at %#lx for %s", file, vaddr, names[i]);
		assert_memory_equal(sym_bytes(m, vaddr, strlen(code)), code, strlen(code));
	}
}

static void build(const char *compiler, const char *options)
{
	copy_fixture("three.c");
	run("%s -O2 %s three.c -o a 2>/dev/null && strip -o a.stripped a", compiler, options);
}

static void patchable_entries(void **state)
{
	static const char *const options[] = { "-fpatchable-function-entry=5,2",
					       "-no-pie -fpatchable-function-entry=5,2" };

	for (size_t i = 0; i < 2; i++) {
		struct sym_module *m;

		build("gcc", options[i]);
		m = open_module("a.stripped");
		has_entries("a", m->patchable.at, m->patchable.n, 2, m, "\x90\x90\x90\x90\x90");
		for (size_t k = 0; k < 3; k++) /* the nops at its start are no padding in front */
			assert_non_null(sym_at(m, address_of("a", names[k])));
		sym_close(m);
	}
	build("gcc", "-fpatchable-function-entry=16,2");
	for (size_t k = 0; k < 3; k++) {
		struct sym_module *m = open_module("a.stripped");

		assert_non_null(sym_at(m, address_of("a", names[k])));
		sym_close(m);
	}
}

/* LLD writes the addresses as relocations only: the words in the file are 0. */
static void unrelocated_words(void **state)
{
	struct sym_module *m;

	run("lld --version >/dev/null 2>&1 || ld.lld --version >/dev/null 2>&1");
	build("clang", "-fuse-ld=lld -fPIE -pie -fpatchable-function-entry=5");
	m = open_module("a");
	has_entries("a", m->patchable.at, m->patchable.n, 0, m, "\x0f\x1f\x44\x00\x08");
	sym_close(m);
}

static void mcount_calls(void **state)
{
	struct sym_module *m;

	build("gcc", "-no-pie -fno-pie -pg -mfentry -mnop-mcount -mrecord-mcount");
	m = open_module("a.stripped");
	has_entries("a", m->mcount_loc.at, m->mcount_loc.n, 0, m, "\x0f\x1f\x44\x00\x00");
	sym_close(m);
	build("gcc", "-no-pie -fno-pie -pg -mfentry -mrecord-mcount");
	m = open_module("a.stripped");
	has_entries("a", m->mcount_loc.at, m->mcount_loc.n, 0, m, "\xe8");
	sym_close(m);
	build("gcc", "-pg -mfentry -mrecord-mcount");
	m = open_module("a.stripped");
	assert_int_equal(m->mcount_loc.n, 3);
	sym_close(m);
	build("gcc", "-pg");
	m = open_module("a");
	assert_int_equal(m->mcount_loc.n + m->patchable.n + m->xray_sleds.n, 0);
	assert_false(m->xray);
	sym_close(m);
}

static void xray_sleds(void **state)
{
	struct sym_module *m;

	build("clang", "-fxray-instrument -fxray-instruction-threshold=1");
	m = open_module("a");
	assert_true(m->xray);
	has_entries("a", m->xray_sleds.at, m->xray_sleds.n, 0, m, "\xeb\x09");
	sym_close(m);
}

/* ---- code addresses in data ---- */

static bool refers(const struct sym_module *m, uint64_t vaddr)
{
	for (size_t i = 0; i < m->code_refs.n; i++)
		if (m->code_refs.at[i] == vaddr)
			return true;
	return false;
}

static void data_words(void **state)
{
	static const char *const options[] = { "-no-pie", "-pie" };

	copy_fixture("table.s");
	for (size_t i = 0; i < 2; i++) {
		struct sym_module *m;
		uint64_t main_at;

		run("gcc %s table.s -o t -Wl,-z,noexecstack", options[i]);
		m = open_module("t");
		main_at = address_of("t", "main");
		assert_true(refers(m, main_at + 2));
		assert_true(refers(m, main_at + 3));
		assert_false(refers(m, main_at + 1));
		for (size_t k = 1; k < m->code_refs.n; k++)
			assert_true(m->code_refs.at[k - 1] < m->code_refs.at[k]);
		sym_close(m);
	}
}

/* LLD packs relative relocations (RELR). */
static void packed_relocations(void **state)
{
	struct sym_module *m;
	uint64_t main_at;

	copy_fixture("table.s");
	run("clang -pie -fuse-ld=lld -Wl,--pack-dyn-relocs=relr table.s -o t && "
	    "readelf -SW t | grep -q relr");
	m = open_module("t");
	main_at = address_of("t", "main");
	assert_true(refers(m, main_at + 2));
	assert_true(refers(m, main_at + 3));
	sym_close(m);
}

/* gcc -S names a landing pad's label in the exception table: -Wa,-L keeps it as a symbol. */
static void landing_pads(void **state)
{
	struct output o;
	struct sym_module *m;
	size_t n = 0;

	copy_fixture("pads.cc");
	run("g++ -O1 -S pads.cc && g++ -Wa,-L pads.s -o pads && "
	    "sed -n '/^.LLSDA.*:/,/^.LLSDACSE.*:/p' pads.s | "
	    "grep -o '\\.L[0-9]*-' | tr -d - | sort -k1b,1 -u > pads.list");
	m = open_module("pads");
	o = output_of("nm pads | awk '{print $3, $1}' | sort -k1b,1 | join - pads.list | "
		      "cut -d' ' -f2");
	for (; next_line(&o); n++)
		assert_true(refers(m, strtoull(o.line, NULL, 16)));
	assert_true(n >= 2);
	sym_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patchable_entries), cmocka_unit_test(unrelocated_words),
		cmocka_unit_test(mcount_calls),	     cmocka_unit_test(xray_sleds),
		cmocka_unit_test(data_words),	     cmocka_unit_test(packed_relocations),
		cmocka_unit_test(landing_pads),
	};

	return cmocka_run_group_tests(tests, tools_setup, tools_teardown);
}
