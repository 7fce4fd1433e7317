/* Inlined functions by DWARF: C and C++, in the file, in a separate debug
 * file, in one of dwz's; and the names near a name. */
#include <stdio.h>
#include <string.h>

#include "tools.h"

static struct sym_inlined find(const char *file, const char *name)
{
	struct sym_module *m = open_module(file);
	struct sym_inlined in;
	struct err err = { 0 };

	if (sym_inlined_find(m, name, &in, &err))
		fail_msg("%s", err.text);
	sym_close(m);
	return in;
}

static void expect_copy(const struct sym_inlined *in, const char *caller, const char *file,
			unsigned line)
{
	for (size_t i = 0; i < in->copies.n; i++) {
		const struct sym_inline_copy *c = &in->copies.at[i];

		if (!strcmp(c->caller, caller) && !strcmp(c->file, file) && c->line == line) {
			assert_int_not_equal(c->vaddr, 0);
			return;
		}
	}
	fail_msg("no copy in %s() at %s:%u", caller, file, line);
}

static void check_twice(const char *file)
{
	struct sym_inlined in = find(file, "twice");

	assert_true(in.has_dwarf);
	assert_true(in.known);
	assert_int_equal(in.bodies, 0);
	assert_int_equal(in.copies.n, 3);
	expect_copy(&in, "first", "in.c", 10);
	expect_copy(&in, "second", "in.c", 6); /* through deep(), which is inlined itself */
	expect_copy(&in, "second", "in.c", 15);
	sym_inlined_free(&in);
}

static void in_c(void **state)
{
	struct sym_inlined in;

	copy_fixture("in.c");
	run("gcc -std=gnu11 -O2 -g in.c -o in && gcc -std=gnu11 -O2 -gdwarf-4 in.c -o in4 && "
	    "clang -O2 -g in.c -o inclang");
	check_twice("in");
	check_twice("in4");
	check_twice("inclang");
	in = find("in", "alone");
	assert_true(in.known);
	assert_int_equal(in.bodies, 1);
	assert_int_equal(in.copies.n, 0);
	sym_inlined_free(&in);
	in = find("in", "both");
	assert_int_equal(in.bodies, 1);
	assert_int_equal(in.copies.n, 1);
	expect_copy(&in, "main", "in.c", 26);
	sym_inlined_free(&in);
	in = find("in", "puts"); /* declared, that is all */
	assert_false(in.known);
	sym_inlined_free(&in);
	in = find("in", "nobody");
	assert_true(in.has_dwarf);
	assert_false(in.known);
	sym_inlined_free(&in);
}

static void in_separate_files(void **state)
{
	struct sym_inlined in;
	struct sym_module *m;

	copy_fixture("in.c");
	run("gcc -std=gnu11 -O2 -g in.c -o in && strip -o gone in");
	in = find("gone", "twice");
	assert_false(in.has_dwarf);
	sym_inlined_free(&in);

	run("objcopy --only-keep-debug in in.debug && strip -o out in && "
	    "objcopy --add-gnu-debuglink=in.debug out");
	check_twice("out");
	m = open_module("out");
	for (size_t i = 0, n = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		n += name && !strcmp(name, "alone") && m->functions.at[i].source == SYM_DEBUGFILE;
		if (i + 1 == m->functions.n)
			assert_int_equal(n, 1);
	}
	sym_close(m);

	run("mkdir .debug && mv in.debug .debug/");
	check_twice("out");

	/* a debug file of another build is not believed */
	run("sed 's/puts/atoi/g; s/stdio/stdlib/' in.c > in2.c && "
	    "gcc -std=gnu11 -O2 -g in2.c -o in2 && "
	    "objcopy --only-keep-debug in2 .debug/in.debug");
	in = find("out", "twice");
	assert_false(in.has_dwarf);
	sym_inlined_free(&in);

	/* without build-ids the checksum in the link decides */
	run("gcc -std=gnu11 -O2 -g -Wl,--build-id=none in.c -o bare && "
	    "objcopy --only-keep-debug bare bare.debug && "
	    "strip -o bout bare && objcopy --add-gnu-debuglink=bare.debug bout");
	check_twice("bout");
	run("printf x >> bare.debug");
	in = find("bout", "twice");
	assert_false(in.has_dwarf);
	sym_inlined_free(&in);
}

static void with_dwz(void **state)
{
	copy_fixture("in.c");
	run("gcc -std=gnu11 -O2 -g in.c -o in && cp in one && cp in two && "
	    "dwz -m common.dwz one two && "
	    "readelf -SW one | grep -q gnu_debugaltlink");
	check_twice("one");
}

static void compressed_and_split(void **state)
{
	copy_fixture("in.c");
	run("gcc -std=gnu11 -O2 -g -gz=zlib in.c -o zlib && gcc -std=gnu11 -O2 -g -gz=zlib-gnu in.c -o gnu && "
	    "gcc -std=gnu11 -O2 -g -gsplit-dwarf in.c -o split && readelf -SW zlib | grep -q 'debug_info.* C ' && "
	    "test -e split-in.dwo -o -e in.dwo");
	check_twice("zlib");
	check_twice("gnu");
	check_twice("split");
}

/* Sections of a file that was made to take memory or time: left out, and said so. */
static void left_out(const char *file, const char *words, bool has_dwarf)
{
	struct sym_inlined in = find(file, "twice");

	assert_int_equal(in.has_dwarf, has_dwarf);
	assert_int_equal(in.copies.n, 0);
	assert_non_null(in.left_out);
	assert_non_null(strstr(in.left_out, words));
	sym_inlined_free(&in);
}

static void write_text(const char *file, const char *text)
{
	FILE *f = fopen(path_of(file), "w");

	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void bombs(void **state)
{
	write_text("main.s", ".globl main\nmain: xor %eax, %eax\n ret\n");
	write_text("zeros.s", ".section .debug_info,\"\",@progbits\n .zero 0x2000000\n");
	run("gcc -gz=zlib zeros.s main.s -o zeros && test $(stat -c %%s zeros) -lt 1000000");
	left_out("zeros", ".debug_info is 32 MiB, compressed more than debug information can be", false);
	/* One byte a DIE, of 10,000 attributes each; and DIEs that end only where all of those
	 * below them do. */
	write_text("below.s", ".section .debug_abbrev,\"\",@progbits\n .uleb128 1, 0x11\n .byte 1, 0, 0\n"
		   " .uleb128 2, 0x01\n .byte 1, 0, 0\n .uleb128 3, 0x21\n .byte 0\n .rept 10000\n .uleb128 0x3f, 0x19\n .endr\n .byte 0, 0, 0\n"
		   ".section .debug_info,\"\",@progbits\n .long 2f - 1f\n1: .value 4\n .long 0\n .byte 8, 1, 2\n"
		   " .fill 1000000, 1, 3\n .byte 0, 0\n2:\n");
	run("gcc below.s main.s -o below");
	left_out("below", "it would take unreasonably long", true);
	/* DIEs in one another, each of which ends only where the million in the innermost does. */
	write_text("nested.s", ".section .debug_abbrev,\"\",@progbits\n .uleb128 1, 0x11\n .byte 1, 0, 0\n"
		   " .uleb128 2, 0x0b\n .byte 1, 0, 0\n .uleb128 3, 0x21\n .byte 0\n .rept 60\n .uleb128 0x3f, 0x19\n .endr\n .byte 0, 0\n"
		   " .uleb128 4, 0x01\n .byte 1, 0, 0, 0\n"
		   ".section .debug_info,\"\",@progbits\n .long 2f - 1f\n1: .value 4\n .long 0\n .byte 8, 1\n"
		   " .fill 200, 1, 2\n .byte 4\n .fill 1000000, 1, 3\n .fill 202, 1, 0\n2:\n");
	run("gcc nested.s main.s -o nested");
	left_out("nested", "it would take unreasonably long", true);
	write_text("many.s", ".section .debug_abbrev,\"\",@progbits\n .uleb128 1, 0x11\n .byte 1, 0, 0\n"
		   " .uleb128 2, 0x2e\n .byte 0\n .rept 10000\n .uleb128 0x3f, 0x19\n .endr\n .byte 0, 0, 0\n"
		   ".section .debug_info,\"\",@progbits\n .long 2f - 1f\n1: .value 4\n .long 0\n .byte 8, 1\n"
		   " .fill 1000000, 1, 2\n .byte 0\n2:\n");
	run("gcc many.s main.s -o many");
	left_out("many", "it would take unreasonably long", true);
}

/* The names in debug information may be anything. */
static void names_a_fifo(void **state)
{
	copy_fixture("in.c");
	run("gcc -std=gnu11 -O2 -g in.c -o in && cp in one && cp in two && dwz -m common.dwz one two && rm common.dwz && mkfifo common.dwz");
	left_out("one", "dwz", false);
	run("rm -f *.dwo && gcc -std=gnu11 -O2 -g -gsplit-dwarf in.c -o split && rm *.dwo && mkfifo split-in.dwo in.dwo");
	find("split", "twice");
}

static void in_cxx(void **state)
{
	static const char *const spellings[] = { "norm", "_ZNK3geo5point4normEv" };
	struct sym_inlined in;

	copy_fixture("geo.cc");
	run("g++ -O2 -g geo.cc -o geo");
	for (size_t i = 0; i < 2; i++) {
		in = find("geo", spellings[i]);
		assert_true(in.known);
		assert_int_equal(in.bodies, 0);
		assert_int_equal(in.copies.n, 2);
		expect_copy(&in, "far", "geo.cc", 10);
		expect_copy(&in, "main", "geo.cc", 16);
		sym_inlined_free(&in);
	}
	in = find("geo", "_ZNK3geo5point3farEv");
	assert_int_equal(in.bodies, 1);
	assert_int_equal(in.copies.n, 0);
	sym_inlined_free(&in);
}

/* Against readelf: as many copies as there are inlined subroutines with that origin. */
static void in_libc(void **state)
{
	struct sym_inlined in = find("/lib/x86_64-linux-gnu/libc.so.6", "checked_request2size");

	assert_true(in.known);
	assert_int_equal(in.bodies, 0);
	assert_true(in.copies.n >= 4);
	for (size_t i = 0; i < in.copies.n; i++)
		assert_non_null(strstr(in.copies.at[i].file, "malloc.c"));
	sym_inlined_free(&in);
}

static void near_names(void **state)
{
	struct sym_module *m = open_module("/usr/bin/bash");
	const char *near[4];
	size_t n;

	assert_true(sym_nearest(m, "execute_comand", near, 4) > 0);
	assert_string_equal(near[0], "execute_command");
	assert_true(sym_nearest(m, "fidn_variable", near, 4) > 0);
	assert_string_equal(near[0], "find_variable");
	n = sym_nearest(m, "expand_string", near, 4);
	assert_int_equal(n, 4);
	assert_string_equal(near[0], "expand_string");
	assert_non_null(strstr(near[3], "expand_string"));
	assert_int_equal(sym_nearest(m, "quite_unlike_anything_there", near, 4), 0);
	assert_int_equal(sym_nearest(m, "", near, 4), 0);
	assert_int_equal(sym_nearest(m, "execute_comand", near, 0), 0);
	sym_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_c),	    cmocka_unit_test(in_separate_files),
		cmocka_unit_test(with_dwz), cmocka_unit_test(in_cxx), cmocka_unit_test(compressed_and_split),
		cmocka_unit_test(bombs), cmocka_unit_test(names_a_fifo),
		cmocka_unit_test(in_libc),  cmocka_unit_test(near_names),
	};

	return cmocka_run_group_tests(tests, tools_setup, tools_teardown);
}
