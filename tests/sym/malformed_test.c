/* Files that are not what sym_open wants: refused with their own sentence; and real files
 * cut short and damaged: no crash. Built with ASan and UBSan. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sym/elf_view.h"
#include "sym/signatures.h"
#include "sym/source.h"
#include "sym/usdt.h"
#include "tools.h"

#define MANY 20000

static void refused(const char *file, int code, const char *sentence)
{
	struct sym_module *m = (void *)1;
	struct err err = { 0 };
	int r = sym_open(path_of(file), &m, &err);

	assert_int_equal(r, -code);
	assert_null(m);
	assert_int_equal(err.code, code);
	if (!strstr(err.text, sentence) || !strstr(err.text, file) || strchr(err.text, '\n'))
		fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
}

static void refusals(void **state)
{
	copy_fixture("main.c");
	copy_fixture("start.c");
	write_file("text", "hello\n");
	write_file("script", "#! /bin/sh -e\necho\n");
	write_file("empty", "");
	run("gcc -c main.c -o main.o && "
	    "clang -m32 -nostdlib -ffreestanding -static -fuse-ld=lld start.c -o small && "
	    "clang --target=aarch64-linux-gnu -nostdlib -ffreestanding -static -fuse-ld=lld "
	    "start.c -o arm && "
	    "gcc -g main.c -o good && objcopy --only-keep-debug good debug && "
	    "head -c 40 good > header && head -c 3000 good > segments && "
	    "mkdir dir && cp good secret && chmod 0 secret && mkfifo fifo");
	refused("nowhere", ENOENT, "No such file");
	refused("dir", EISDIR, "is a directory");
	refused("fifo", ENOEXEC, "not a regular file");
	refused("empty", ENOEXEC, "is empty");
	refused("text", ENOEXEC, "is not an ELF program");
	refused("script", ENOEXEC,
		"is a script, not an ELF program; trace its interpreter: /bin/sh");
	refused("small", ENOEXEC, "is a 32-bit program; brace traces x86-64 only");
	refused("arm", ENOEXEC, "is a program for arm64; brace traces x86-64 only");
	refused("main.o", ENOEXEC, "is a relocatable object, not a program or shared library");
	refused("debug", ENOEXEC, "holds debug information, no code");
	refused("header", ENOEXEC, "is truncated: its ELF header is not whole");
	refused("segments", ENOEXEC, "is truncated: it ends at byte 3000");
	if (geteuid())
		refused("secret", EACCES, "Permission denied");
	sym_close(open_module("good"));
}

/* --- files that others write to ---- */

/* A look at a mapping of a file that was shortened gives SIGBUS. */
static void shortened(void **state)
{
	struct sym_module *m;
	unsigned sum = 0;

	run("cp /usr/bin/bash shorter");
	m = open_module("shorter");
	assert_int_equal(truncate(path_of("shorter"), 4096), 0);
	for (size_t i = 0; i < m->functions.n; i++)
		sum += *sym_bytes(m, m->functions.at[i].vaddr, 1);
	assert_true(sum > 0);
	sym_close(m);
}

struct writer { const char *path; off_t n; volatile bool stop; unsigned rounds; };

static void *shorten_and_mend(void *arg)
{
	struct writer *w = arg;

	for (; !w->stop; w->rounds++)
		if (truncate(w->path, 8192) || truncate(w->path, w->n))
			abort();
	return NULL;
}

/* Whole, or refused with a sentence: never by a signal, and never half of it. */
static void shortened_while_read(void **state)
{
	unsigned refused_now = 0;
	struct writer w = { 0 };
	pthread_t thread;
	struct stat st;

	run("cp /usr/bin/bash busy");
	w.path = strdup(path_of("busy"));
	assert_int_equal(stat(w.path, &st), 0);
	w.n = st.st_size;
	assert_int_equal(pthread_create(&thread, NULL, shorten_and_mend, &w), 0);
	for (int i = 0; i < 300 || !refused_now; i++) {
		struct elf_file f;
		struct err err = { 0 };
		int e = elf_file_read_path(w.path, ELF_CONTENTS, &f, &err);

		assert_true(e == 0 || (e == -ESTALE && strstr(err.text, "changed while brace read it")));
		refused_now += e != 0;
		elf_file_free(&f);
	}
	w.stop = true;
	pthread_join(thread, NULL);
	assert_true(w.rounds > 0);
	free((void *)w.path);
}

/* A terabyte of holes costs nothing; a table of so many symbols is refused. */
static void sparse(void **state)
{
	struct sym_module *m;
	struct err err = { 0 };
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	FILE *f;

	run("cp /usr/bin/xz holes && truncate -s 1T holes");
	m = open_module("holes");
	assert_true(m->functions.n > 10);
	sym_close(m);
	f = fopen(path_of("holes"), "r+");
	assert_int_equal(fread(&eh, sizeof(eh), 1, f), 1);
	assert_int_equal(fseek(f, (long)eh.e_shoff + sizeof(sh), SEEK_SET), 0);
	sh = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_offset = 1 << 20, .sh_size = (UINT64_C(1) << 32) * 24 };
	assert_int_equal(fwrite(&sh, sizeof(sh), 1, f), 1);
	fclose(f);
	assert_int_equal(sym_open(path_of("holes"), &m, &err), -EFBIG);
	assert_non_null(strstr(err.text, "MiB of code and tables: brace reads 2048 MiB at most"));
	f = fopen(path_of("holes"), "r+");
	assert_int_equal(fseek(f, (long)eh.e_shoff + sizeof(sh), SEEK_SET), 0);
	sh.sh_size = 1 << 30;
	assert_int_equal(fwrite(&sh, sizeof(sh), 1, f), 1);
	fclose(f);
	assert_int_equal(sym_open(path_of("holes"), &m, &err), -EFBIG);
	assert_non_null(strstr(err.text, "nearly all of them holes"));
}

/* The bytes read are those of the file, and no byte is read that was not asked for. */
static void parts(void **state)
{
	static const enum elf_part all[] = { ELF_NOTES, ELF_SYMBOLS, ELF_CONTENTS, ELF_WHOLE };
	size_t n, read[4] = { 0 };
	uint8_t *whole;

	copy_fixture("main.c");
	run("gcc -g main.c -o parts");
	whole = read_whole(path_of("parts"), &n);
	for (size_t k = 0; k < 4; k++) {
		struct elf_file f;
		struct err err;

		assert_int_equal(elf_file_read_path(path_of("parts"), all[k], &f, &err), 0);
		assert_int_equal(f.n, n);
		for (size_t i = 0; i < n; i++) {
			assert_true(f.bytes[i] == whole[i] || f.bytes[i] == 0);
			read[k] += f.bytes[i] != 0;
		}
		elf_file_free(&f);
	}
	assert_true(read[0] < read[1] && read[1] < read[2] && read[2] < read[3]);
	free(whole);
}

/* Reads everything there is to read, as hostile as the bytes may be. */
static bool survives(const uint8_t *bytes, size_t n)
{
	static const uint64_t probes[] = { 0, 1, 0x1000, 0x401000, UINT64_MAX };
	struct sym_module *m;
	struct err err = { 0 };
	size_t held = 0;

	if (sym_open_bytes(bytes, n, "bytes", &m, &err)) {
		assert_int_equal(err.code, ENOEXEC);
		assert_true(err.text[0]);
		return false;
	}
	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];

		held += sym_name(m, f) ? strlen(sym_name(m, f)) : 0;
		assert_ptr_equal(sym_at(m, f->vaddr), f);
		assert_non_null(sym_bytes(m, f->vaddr, f->size));
		if (i)
			assert_true(f[-1].vaddr < f->vaddr);
	}
	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		sym_around(m, probes[i]);
		sym_bytes(m, probes[i], SIZE_MAX);
	}
	sym_close(m);
	return held > 0;
}

static void truncations(void **state)
{
	static const char *const files[] = { "/usr/bin/xz", "/usr/bin/sqlite3", "/usr/bin/bash" };
	size_t n, whole = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		uint8_t *bytes = read_whole(files[i], &n);

		for (size_t cut = 0; cut < n; cut += cut < 4096 ? 61 : 4093) {
			uint8_t *exact = mem_zalloc(cut); /* so that one byte too far is seen */

			memcpy(exact, bytes, cut);
			whole += survives(exact, cut);
			free(exact);
		}
		assert_true(survives(bytes, n));
		free(bytes);
	}
	print_message("%zu cut files still had functions (their section headers were gone)\n",
		      whole);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Damage falls half on the tables in front (headers, dynamic symbols, relocations),
 * half anywhere. */
static void damage(uint8_t *bytes, size_t n, uint64_t *seed)
{
	for (int k = 0; k < 12; k++) {
		uint64_t r = next_random(seed);
		size_t at = r & 1 ? (r >> 8) % (n < 2048 ? n : 2048) : (r >> 8) % n;

		if (r & 2)
			bytes[at] ^= (uint8_t)(1u << (r >> 50 & 7));
		else
			bytes[at] = r & 4 ? (uint8_t)(r >> 40) : r & 8 ? 0 : 0xff;
	}
}

static void flips(void **state)
{
	size_t n, opened = 0;
	uint8_t *bytes = read_whole("/usr/bin/xz", &n), *copy = mem_zalloc(n);
	uint64_t seed = 88172645463325252;

	for (int round = 0; round < 1500; round++) {
		memcpy(copy, bytes, n);
		damage(copy, n, &seed);
		opened += survives(copy, n);
	}
	print_message("%zu of 1500 damaged files still had functions\n", opened);
	assert_in_range(opened, 100, 1499);
	free(copy);
	free(bytes);
}

static void write_many(const char *file, const char *head, const char *function)
{
	FILE *f = fopen(path_of(file), "w");

	fprintf(f, "%s", head);
	for (int i = 0; i < MANY; i++)
		fprintf(f, function, i, i, i, i);
	fprintf(f, ".cfi_endproc\n.globl main\nmain: ret\n");
	assert_int_equal(fclose(f), 0);
}

/* All functions have one name, which is as long as it may be: what does not fit the file has
 * none. */
static void names_that_overlap(void **state)
{
	size_t n, named = 0;
	uint8_t *bytes;
	struct elf_view v;
	struct sym_module *m;
	struct err err;

	write_many("names.s", ".cfi_startproc\n", ".type f%d, @function\nf%d: nop\n.size f%d, . - f%d\n");
	run("(cat names.s; printf '.globl '; head -c 4000 /dev/zero | tr '\\0' a; echo; head -c 4000 /dev/zero | tr '\\0' a; echo :) >long.s && "
	    "gcc long.s -o long");
	bytes = read_whole(path_of("long"), &n);
	assert_int_equal(elf_view_tables(&v, bytes, n, "long", &err), 0);
	for (size_t i = 0, at = 0; i < elf_symtab(&v).n; i++) {
		struct elf_symtab t = elf_symtab(&v);
		Elf64_Sym s = elf_symbol(&t, i);

		while (!at)
			at = (size_t)((const char *)memmem(t.strings, t.n_strings, "aaaaaaaa", 8) - t.strings);
		s.st_name = (Elf64_Word)at;
		memcpy((uint8_t *)t.symbols + i * sizeof(s), &s, sizeof(s));
	}
	elf_view_free(&v);
	assert_int_equal(sym_open_bytes(bytes, n, "long", &m, &err), 0);
	assert_true(m->functions.n >= MANY);
	assert_true(m->strings.n < 5 * n);
	for (size_t i = 0; i < m->functions.n; i++)
		named += m->functions.at[i].name != 0;
	assert_in_range(named, 100, MANY / 2);
	sym_close(m);
	free(bytes);
}

/* All functions stand in one unwind range, with 400,000 rules before the last: of those that would
 * take too long nothing is known, so they are not hooked as others are. */
static void rules_that_repeat(void **state)
{
	struct sym_module *m;
	size_t odd = 0;

	write_many("rules.s", ".cfi_startproc\n.rept 400000\n.cfi_escape 0x2e, 0\n.endr\nnop\n", ".type f%d, @function\nf%d: nop\n.size f%d, . - f%d\n");
	run("gcc rules.s -o rules");
	m = open_module("rules");
	for (size_t i = 0; i < m->functions.n; i++)
		odd += m->functions.at[i].cfa_unusual;
	assert_in_range(odd, MANY / 2, MANY - 1);
	sym_close(m);
}

/* Variables at main, and its lines; *seen: how often there were some. */
static void ask_source(const struct sym_module *m, size_t *seen)
{
	struct sym_source_function f;
	struct sym_source_info *s;
	sym_source_places places;
	sym_variables variables;
	struct sym_scope *sc;
	struct err err;

	if (sym_source_open(m, &s, &err))
		return;
	if (!sym_source_function(s, "main", NULL, &f, &err)) {
		if (!sym_scope_at(s, f.vaddr, &sc, &err)) {
			sym_scope_variables(sc, &variables);
			*seen += variables.n > 0;
			sym_variables_free(&variables);
			sym_scope_free(sc);
		}
		if (!sym_source_line(s, f.path, f.line, NULL, &places, &err))
			vec_free(&places);
		free(f.path);
	}
	sym_source_close(s);
}

static void damaged_dwarf(void **state)
{
	size_t n, read = 0, signed_ones = 0, seen = 0;
	uint8_t *bytes, *copy;
	uint64_t seed = 1442695040888963407;

	copy_fixture("in.c");
	run("gcc -std=gnu11 -O2 -g in.c -o d");
	bytes = read_whole(path_of("d"), &n);
	copy = mem_zalloc(n);
	for (int round = 0; round < 1000; round++) {
		struct sym_module *m;
		struct sym_signatures signatures;
		struct sym_inlined in;
		struct err err = { 0 };

		memcpy(copy, bytes, n);
		if (round)
			damage(copy + n / 3, n - n / 3, &seed);
		if (sym_open_bytes(copy, n, "d", &m, &err))
			continue;
		if (!sym_inlined_find(m, "twice", &in, &err)) {
			read += in.copies.n > 0;
			sym_inlined_free(&in);
		} else {
			assert_non_null(strstr(err.text, "debug information of d"));
		}
		if (!sym_signatures_read(m, &signatures, &err)) {
			signed_ones += signatures.at.n > 0;
			sym_signatures_free(&signatures);
		}
		ask_source(m, &seen);
		sym_close(m);
	}
	assert_in_range(seen, 1, 1000);
	print_message("%zu of 1000 still told of copies, %zu of signatures\n", read, signed_ones);
	assert_in_range(signed_ones, 1, 1000);
	assert_in_range(read, 1, 1000);
	free(copy);
	free(bytes);
}

/* Returns the file with 20,000 more headers of the section; free() it. */
static uint8_t *repeat_section(const uint8_t *bytes, size_t *n, const char *name)
{
	Elf64_Ehdr h;
	size_t old = *n + 8 - *n % 8, at = old;
	uint8_t *out;
	struct elf_view v;
	struct err err;

	memcpy(&h, bytes, sizeof(h));
	assert_int_equal(elf_view_tables(&v, bytes, *n, name, &err), 0);
	out = mem_zalloc(old + (h.e_shnum + MANY) * sizeof(Elf64_Shdr));
	memcpy(out, bytes, *n);
	memcpy(out + at, bytes + h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr));
	at += h.e_shnum * sizeof(Elf64_Shdr);
	for (size_t i = 0; i < v.sections.n; i++)
		for (size_t k = 0; !strcmp(v.sections.at[i].name, name) && k < MANY; k++, at += sizeof(Elf64_Shdr))
			memcpy(out + at, bytes + h.e_shoff + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
	assert_int_equal(at, old + (h.e_shnum + MANY) * sizeof(Elf64_Shdr));
	h.e_shoff = old;
	h.e_shnum = (uint16_t)(h.e_shnum + MANY);
	memcpy(out, &h, sizeof(h));
	elf_view_free(&v);
	*n = at;
	return out;
}

/* A section's contents are read a few times at most, however often the headers name them. */
static void sections_that_overlap(void **state)
{
	size_t whole, n;
	uint8_t *bytes, *more;
	usdt_markers markers = { 0 };
	struct sym_module *m;
	struct err err;

	copy_fixture("sections.s");
	run("gcc -no-pie sections.s -o sections");
	bytes = read_whole(path_of("sections"), &whole);
	n = whole;
	more = repeat_section(bytes, &n, "__mcount_loc");
	assert_int_equal(sym_open_bytes(more, n, "sections", &m, &err), 0);
	assert_in_range(m->mcount_loc.n, 100, 100 * 64);
	sym_close(m);
	free(more);
	n = whole;
	more = repeat_section(bytes, &n, ".note.stapsdt");
	sym_usdt_bytes(more, n, &markers);
	assert_in_range(markers.n, 100, 2 * n / 64);
	vec_free(&markers);
	free(more);
	free(bytes);
}

/* Copies the first needed library's entry to all spare ones. */
static size_t need_again(uint8_t *bytes)
{
	const Elf64_Ehdr *h = (const void *)bytes;
	const Elf64_Phdr *p = (const void *)(bytes + h->e_phoff);
	Elf64_Dyn *d;
	size_t n, needed = 0;

	while (p->p_type != PT_DYNAMIC)
		p++;
	d = (void *)(bytes + p->p_offset);
	n = p->p_filesz / sizeof(*d) - 1;
	assert_int_equal(d[0].d_tag, DT_NEEDED);
	for (size_t i = 0; i < n; i++) {
		if (d[i].d_tag == DT_NULL)
			d[i] = d[0];
		needed += d[i].d_tag == DT_NEEDED;
	}
	return needed;
}

/* Each entry of 16 bytes may name a library of 4 KiB: they are not all copied. */
static void needs_many(void **state)
{
	struct sym_module *m;
	struct err err;
	uint8_t *bytes;
	size_t n;

	copy_fixture("main.c");
	run("gcc -Wl,--spare-dynamic-tags=20000 main.c -o needs");
	bytes = read_whole(path_of("needs"), &n);
	assert_in_range(need_again(bytes), 20000, 20100);
	assert_int_equal(sym_open_bytes(bytes, n, "needs", &m, &err), 0);
	assert_in_range(m->needed.n, 1, 4096);
	sym_close(m);
	free(bytes);
}

/* Signatures that share a DIE of many children: reading each by itself is little work, and all of
 * them more than a file may take. */
static void shared_children(void **state)
{
	static const char *const files[] = { "types", "copies" };
	struct sym_signatures signatures;
	struct sym_module *m;
	struct err err;

	copy_fixture("children.s");
	run("gcc -Wa,--defsym,TYPE=1 children.s -o types && gcc children.s -o copies");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		m = open_module(files[i]);
		assert_int_equal(sym_signatures_read(m, &signatures, &err), 0);
		assert_non_null(signatures.left_out);
		assert_non_null(strstr(signatures.left_out, "it would take unreasonably long"));
		sym_signatures_free(&signatures);
		sym_close(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals), cmocka_unit_test(shortened), cmocka_unit_test(shortened_while_read),
		cmocka_unit_test(sparse), cmocka_unit_test(parts), cmocka_unit_test(truncations), cmocka_unit_test(flips),
		cmocka_unit_test(damaged_dwarf), cmocka_unit_test(shared_children), cmocka_unit_test(needs_many), cmocka_unit_test(sections_that_overlap), cmocka_unit_test(names_that_overlap), cmocka_unit_test(rules_that_repeat),
	};

	return cmocka_run_group_tests(tests, tools_setup, tools_teardown);
}
