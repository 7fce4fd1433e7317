/* The functions of programs, against nm, readelf and objdump: of this test program itself,
 * stripped and not, of C++ and Go programs built here, and of Debian's. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

/* ---- what the tools say ---- */

static bool cold(const char *name)
{
	const char *at = strstr(name, ".cold");

	return at && (!at[5] || at[5] == '.');
}

/* Function symbols of a file with symbols; cold fragments apart. Not crt's two functions that
 * nothing but a jump names: no symbol, no FDE, no table. */
static void symbols_of(const char *file, struct set *functions, struct set *fragments)
{
	struct output o = output_of("readelf -sW %s | awk '$4 ~ /^I?FUNC$/ && $7 != \"UND\" && "
				    "$8 !~ /register_tm_clones/ {print $2, $8}'", path_of(file));

	while (next_line(&o)) {
		char name[3000] = "";
		uint64_t vaddr;

		assert_true(sscanf(o.line, "%lx %2999s", &vaddr, name) >= 1);
		set_add(cold(name) ? fragments : functions, vaddr);
	}
	set_sort(functions);
	set_sort(fragments);
}

static struct set frames_of(const char *file)
{
	struct output o = output_of("readelf --debug-dump=frames %s 2>/dev/null | "
				    "sed -n 's/.* FDE .*pc=\\([0-9a-f]*\\)\\.\\..*/\\1/p'",
				    path_of(file));
	struct set s = { 0 };

	while (next_line(&o))
		set_add(&s, strtoull(o.line, NULL, 16));
	set_sort(&s);
	return s;
}

/* ---- stripped against unstripped ---- */

static void compare(const char *stripped, const char *original, double recall)
{
	struct sym_module *m = open_alone(stripped);
	struct set truth = { 0 }, fragments = { 0 }, ours = functions_of(m);
	size_t both, named_cold;

	symbols_of(original, &truth, &fragments);
	both = set_common(&truth, &ours, "missed");
	named_cold = set_common(&ours, &fragments, NULL);
	print_message("%s: %zu of %zu functions, %zu that are none, %zu of %zu fragments left\n",
		      stripped, both, truth.v.n, ours.v.n - both, named_cold, fragments.v.n);
	assert_true((double)both >= recall * (double)truth.v.n);
	assert_true(ours.v.n - set_common(&ours, &truth, "invented") - named_cold <=
		    2 + ours.v.n / 200);
	assert_true((double)named_cold <= .1 * (double)fragments.v.n);
	vec_free(&truth.v);
	vec_free(&fragments.v);
	vec_free(&ours.v);
	close_alone(m);
}

static void own_program(void **state)
{
	run("cp /proc/%d/exe self && strip -o self.stripped self", getpid());
	compare("self.stripped", "self", .99);
	compare("self", "self", 1);
}

/* No section headers at all, as the loader sees it. */
static void without_sections(void **state)
{
	struct sym_module *with, *without;
	struct set a, b;
	size_t n;
	uint8_t *bytes;
	FILE *f;

	run("cp /usr/bin/git git");
	bytes = read_whole(path_of("git"), &n);
	memset(bytes + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	memset(bytes + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
	f = fopen(path_of("git.bare"), "w");
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	free(bytes);
	with = open_alone("git");
	without = open_alone("git.bare");
	a = functions_of(with);
	b = functions_of(without);
	assert_true(a.v.n > 5000);
	assert_int_equal(set_common(&a, &b, "lost"), a.v.n);
	assert_int_equal(set_common(&b, &a, "new"), b.v.n);
	for (size_t i = 0; i < with->functions.n; i++) {
		const struct sym_function *f1 = &with->functions.at[i],
					  *f2 = sym_at(without, f1->vaddr);

		if (!f1->plt)
			continue;
		assert_non_null(f2);
		assert_true(f2->plt);
		assert_string_equal(sym_name(with, f1), sym_name(without, f2));
	}
	vec_free(&a.v);
	vec_free(&b.v);
	close_alone(with);
	close_alone(without);
}

static void cxx_program(void **state)
{
	copy_fixture("shapes.cc");
	run("g++ -O2 -g shapes.cc -o shapes && strip -o shapes.stripped shapes");
	compare("shapes.stripped", "shapes", .99);
	run("g++ -O2 -no-pie shapes.cc -o shapes.fixed && "
	    "strip -o shapes.fixed.stripped shapes.fixed");
	compare("shapes.fixed.stripped", "shapes.fixed", .99);
	run("clang++ -O2 shapes.cc -o shapes.clang && strip -o shapes.clang.stripped shapes.clang");
	/* __clang_call_terminate has no FDE */
	compare("shapes.clang.stripped", "shapes.clang", .96);
}

/* libc from Debian is stripped; libc6-dbg has its symbols. */
static void libc_and_its_debug_file(void **state)
{
	const char *libc = "/lib/x86_64-linux-gnu/libc.so.6";
	struct output o = output_of("readelf -n %s | sed -n 's/.*Build ID: //p'", libc);
	struct sym_module *m;
	char debug[256];

	assert_true(next_line(&o));
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%.100s.debug", o.line,
		 o.line + 2);
	next_line(&o);
	compare(libc, debug, .99);

	m = open_module(libc);
	assert_int_equal(sym_at(m, sym_around(m, m->functions.at[100].vaddr)->vaddr)->source,
			 SYM_DEBUGFILE);
	for (size_t i = 0, found = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		if (name && !strcmp(name, "malloc") && !m->functions.at[i].plt)
			found++; /* not __libc_malloc, nor malloc@@GLIBC_2.2.5 */
		if (i + 1 == m->functions.n)
			assert_int_equal(found, 1);
	}
	sym_close(m);
}

/* ---- Debian's programs ---- */

/* Exactly readelf's FDEs, but for PLT, signal frames and functions behind CFI padding. */
static void frames_are_functions(const char *file, size_t at_least)
{
	struct sym_module *m = open_alone(file);
	struct set frames = frames_of(file), ours = { 0 };
	size_t common;

	for (size_t i = 0; i < m->functions.n; i++)
		if (m->functions.at[i].source != SYM_ENTRY)
			set_add(&ours, m->functions.at[i].vaddr);
	set_sort(&ours);
	common = set_common(&frames, &ours, NULL);
	print_message("%s: %zu of %zu FDEs\n", file, common, frames.v.n);
	assert_true(frames.v.n > at_least);
	assert_true(common + 4 >= frames.v.n);
	for (size_t i = 0; i < m->functions.n; i++)
		if (m->functions.at[i].source == SYM_EH_FRAME)
			assert_true(set_has(&frames, m->functions.at[i].vaddr));
	vec_free(&frames.v);
	vec_free(&ours.v);
	close_alone(m);
}

static void debian_frames(void **state)
{
	frames_are_functions("/usr/bin/python3", 9000);
	frames_are_functions("/usr/bin/git", 5800);
	frames_are_functions("/usr/bin/sqlite3", 360);
	frames_are_functions("/usr/bin/xz", 110);
	frames_are_functions("/usr/bin/bash", 2200);
	frames_are_functions("/usr/bin/perl", 2100);
}

/* Every exported function is there, under one of its names. */
static void exported(const char *file)
{
	struct sym_module *m = open_module(file);
	struct output o = output_of(
		"readelf --dyn-syms -W %s | "
		"awk '$4 ~ /^I?FUNC$/ && $7 != \"UND\" {sub(/@.*/, \"\", $8); print $2, $8}'",
		path_of(file));
	size_t n = 0, exact = 0;

	while (next_line(&o)) {
		char name[3000];
		uint64_t vaddr;
		const struct sym_function *f;

		assert_int_equal(sscanf(o.line, "%lx %2999s", &vaddr, name), 2);
		f = sym_at(m, vaddr);
		if (!f)
			fail_msg("%s: %s at %#lx is missing", file, name, vaddr);
		assert_ptr_equal(sym_around(m, vaddr + f->size - 1), f);
		exact += !strcmp(sym_name(m, f), name);
		n++;
	}
	assert_true(n > 10);
	assert_true(exact * 10 >= n * 7); /* the others are aliases */
	sym_close(m);
}

static void debian_exports(void **state)
{
	exported("/usr/bin/python3");
	exported("/usr/bin/bash");
	exported("/usr/bin/perl");
	exported("/lib/x86_64-linux-gnu/libz.so.1");
}

static void cold_parts(void **state)
{
	struct sym_module *m = open_module("/usr/bin/python3");
	struct set ours = functions_of(m);
	size_t fragments = 0, functions = ours.v.n;

	for (size_t i = 0; i < m->functions.n; i++)
		fragments += m->functions.at[i].cold;
	print_message("python3.11: %zu functions, %zu cold parts\n", functions, fragments);
	assert_in_range(fragments, 2800, 3100); /* 30 % of its FDEs */
	assert_in_range(functions, 6700, 6900);
	vec_free(&ours.v);
	sym_close(m);
}

/* ---- PLT ---- */

/* objdump labels what it knows of an entry: exactly these names at these addresses. */
static void plt_of(const char *file)
{
	struct sym_module *m = open_module(file);
	struct output o =
		output_of("objdump -d %s 2>/dev/null | "
			  "grep -E '^[0-9a-f]+ <[^>]*@plt>:' | tr -d '<>:' | sed 's/@plt//'",
			  path_of(file));
	size_t n = 0, ours = 0;

	while (next_line(&o)) {
		char name[3000];
		uint64_t vaddr;
		const struct sym_function *f;

		assert_int_equal(sscanf(o.line, "%lx %2999s", &vaddr, name), 2);
		f = sym_at(m, vaddr);
		if (!f || !f->plt)
			fail_msg("%s: %s@plt at %#lx is missing", file, name, vaddr);
		if (name[0] != '*') {
			assert_non_null(sym_name(m, f));
			assert_string_equal(sym_name(m, f), name);
		}
		n++;
	}
	for (size_t i = 0; i < m->functions.n; i++)
		ours += m->functions.at[i].plt;
	print_message("%s: %zu PLT entries\n", file, ours);
	assert_true(n > 0);
	assert_int_equal(ours, n);
	sym_close(m);
}

/* A static program's entries have no names to objdump; ifuncs' resolvers give them. */
static void plt_of_static(const char *file)
{
	struct sym_module *m = open_module(file);
	struct output o = output_of("objdump -d -j .plt %s | "
				    "sed -n 's/^ *\\([0-9a-f]*\\):.*jmp .*/\\1/p'",
				    path_of(file));
	size_t n = 0, ours = 0;

	for (; next_line(&o); n++) {
		const struct sym_function *f = sym_at(m, strtoull(o.line, NULL, 16));

		assert_non_null(f);
		assert_true(f->plt);
		assert_non_null(sym_name(m, f));
	}
	for (size_t i = 0; i < m->functions.n; i++)
		ours += m->functions.at[i].plt;
	assert_true(n > 10);
	assert_int_equal(ours, n);
	sym_close(m);
}

static void plt_entries(void **state)
{
	plt_of("/usr/bin/bash");
	plt_of("/usr/bin/python3");
	plt_of("/usr/bin/perl");
	plt_of("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	plt_of("/lib/x86_64-linux-gnu/libc.so.6");
	copy_fixture("plt.c");
	run("gcc -O1 -Wl,-z,lazy plt.c -o plt.lazy && gcc -O1 -Wl,-z,now plt.c -o plt.now && "
	    "gcc -O1 -fcf-protection -Wl,-z,ibtplt plt.c -o plt.ibt && "
	    "gcc -O1 -no-pie plt.c -o plt.fixed && "
	    "gcc -O1 -static plt.c -o plt.static");
	plt_of("plt.lazy");
	plt_of("plt.now");
	plt_of("plt.ibt");
	plt_of("plt.fixed");
	plt_of_static("plt.static");
}

/* ---- Go ---- */

/* Names as the table spells them: the linker's mark of the ABI is not part of them. */
static bool go_names(const struct sym_module *m, uint64_t vaddr, char *name)
{
	size_t n = strlen(name);
	const struct sym_function *f = sym_at(m, vaddr);

	if (n > 5 && !strcmp(name + n - 5, ".abi0"))
		name[n - 5] = 0;
	if (strchr(name, '[')) /* type arguments are left out of the table */
		return f != NULL;
	return f && !strcmp(sym_name(m, f), name);
}

static void go_program_of(const char *mode)
{
	struct sym_module *m;
	struct set truth = { 0 }, ours;
	struct output o;
	size_t named = 0, both;

	run("export GOCACHE=$PWD/cache GO111MODULE=off HOME=$PWD; "
	    "go build -buildmode=%s -o hello hello.go && "
	    "go build -buildmode=%s -ldflags '-s -w' -o hello.stripped hello.go", mode, mode);
	m = open_module("hello.stripped");
	assert_int_equal(m->language, SYM_LANG_GO);
	o = output_of("go tool nm hello | awk '$2==\"T\"||$2==\"t\" {print $1, $3}' | "
		      "grep -vE ' (runtime.e?text|go.buildid)$'");
	while (next_line(&o)) {
		char name[3000];
		uint64_t vaddr;

		assert_int_equal(sscanf(o.line, "%lx %2999s", &vaddr, name), 2);
		set_add(&truth, vaddr);
		named += go_names(m, vaddr, name);
	}
	set_sort(&truth);
	ours = functions_of(m);
	both = set_common(&truth, &ours, "missed");
	print_message("go %s: %zu of %zu, %zu by name\n", mode, both, truth.v.n, named);
	assert_true(truth.v.n > 800);
	assert_true(both * 1000 >= truth.v.n * 999);
	assert_int_equal(set_common(&ours, &truth, "invented"), ours.v.n);
	assert_true(named * 1000 >= truth.v.n * 990);
	vec_free(&truth.v);
	vec_free(&ours.v);
	sym_close(m);
}

static void go_table_of(int version, bool pie)
{
	struct sym_module *m;
	struct output o;
	uint64_t at[2];
	size_t n = 0;

	run("as -defsym GO=%d go_tables.s -o go.o && ld %s -e f go.o -o go && "
	    "strip -o go.stripped go", version, pie ? "-pie" : "");
	o = output_of("nm go | sed -n 's/^\\([0-9a-f]*\\) [Tt] [fg]$/\\1/p'");
	while (next_line(&o))
		at[n++] = strtoull(o.line, NULL, 16);
	assert_int_equal(n, 2);
	m = open_module("go.stripped");
	assert_int_equal(m->language, SYM_LANG_GO);
	assert_int_equal(m->functions.n, 2);
	assert_int_equal(m->functions.at[0].vaddr, at[0] < at[1] ? at[0] : at[1]);
	assert_int_equal(m->functions.at[1].vaddr, at[0] < at[1] ? at[1] : at[0]);
	assert_string_equal(sym_name(m, &m->functions.at[0]), "f");
	assert_string_equal(sym_name(m, &m->functions.at[1]), "main.g");
	assert_int_equal(m->functions.at[1].size, 2);
	sym_close(m);
}

/* Layouts of other Go releases than Debian's. */
static void go_tables(void **state)
{
	static const int versions[] = { 2, 16, 18 };

	copy_fixture("go_tables.s");
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		go_table_of(versions[i], false);
		go_table_of(versions[i], true);
	}
}

static void go_program(void **state)
{
	copy_fixture("hello.go");
	go_program_of("exe");
	go_program_of("pie");
}

/* ---- entries that are no plain calls ---- */

static void odd_entries(void **state)
{
	struct sym_module *m;
	size_t odd = 0;

	copy_fixture("odd.s");
	run("gcc odd.s -o odd -Wl,-z,noexecstack");
	m = open_module("odd");
	for (size_t i = 0; i < m->functions.n; i++) {
		const char *name = sym_name(m, &m->functions.at[i]);

		odd += m->functions.at[i].cfa_unusual;
		assert_non_null(name); /* else the second part of k */
		assert_string_not_equal(name, "h"); /* a signal frame */
		if (!strcmp(name, "f") || !strcmp(name, "g") || !strcmp(name, "_start"))
			assert_true(m->functions.at[i].cfa_unusual);
	}
	assert_int_equal(odd, 3);
	sym_close(m);
}

static void aliases(void **state)
{
	struct sym_module *m;
	const struct sym_function *f = NULL;

	copy_fixture("alias.c");
	run("gcc -O1 alias.c -o alias");
	m = open_module("alias");
	for (size_t i = 0; i < m->functions.n; i++)
		if (!strcmp(sym_name(m, &m->functions.at[i]), "name"))
			f = &m->functions.at[i];
	assert_non_null(f);
	assert_int_equal(f->source, SYM_SYMTAB);
	assert_ptr_equal(sym_around(m, f->vaddr + 1), f);
	sym_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_program),	 cmocka_unit_test(without_sections),
		cmocka_unit_test(cxx_program),	 cmocka_unit_test(libc_and_its_debug_file),
		cmocka_unit_test(debian_frames), cmocka_unit_test(debian_exports),
		cmocka_unit_test(cold_parts),	 cmocka_unit_test(plt_entries),
		cmocka_unit_test(go_tables),
		cmocka_unit_test(go_program),	 cmocka_unit_test(odd_entries),
		cmocka_unit_test(aliases),
	};

	return cmocka_run_group_tests(tests, tools_setup, tools_teardown);
}
