/* Probes' arguments: what they become is run over registers and memory of this process, and must be
 * what the compiler's own code finds there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "event/fetch.h"
#include "event/usdt.h"

static struct { uint64_t a; int32_t b; int16_t c; int8_t d; const char *text; } thing = { 0x1122334455667788, -5, -3, -1, "some text" };
static void *to_thing = &thing;
static uint8_t record[FETCH_RECORD_MAX];
static uint64_t regs[FETCH_REGS];

static uint32_t read_memory(void *context, uint64_t address, void *to, uint32_t n)
{
	struct iovec l = { to, n }, r = { (void *)(uintptr_t)address, n };
	ssize_t got = process_vm_readv(getpid(), &l, 1, &r, 1, 0);

	return got > 0 ? (uint32_t)got : 0;
}

static void read_comm(void *context, char *to)
{
	memset(to, 0, FETCH_COMM_BYTES);
	strcpy(to, "a thread");
}

static unsigned by_registers; /* programs that fetch_registers() could run */

/* The short way of registers alone makes the same record, padded to whole words by zeros. */
static void compare_registers(const struct fetch_program *p, uint32_t bytes, uint32_t n)
{
	static const uint8_t zeros[8];
	uint8_t own[FETCH_RECORD_MAX];
	uint32_t whole;

	memset(own, 0xee, sizeof(own));
	whole = fetch_registers(p, bytes, regs, 0x1234, own);
	if (!whole)
		return;
	by_registers++;
	assert_int_equal(whole, (n + 7) / 8 * 8);
	assert_memory_equal(own + 8, record + 8, n - 8);
	assert_memory_equal(own + n, zeros, whole - n);
}

static uint32_t run(const struct fetch_build *b)
{
	const struct fetch_context c = { regs, NULL, 0x1234, 0x1000, read_memory, read_comm, NULL };
	uint32_t bytes, n;
	struct fetch_program *p = fetch_finish(b, &bytes);

	assert_non_null(p);
	assert_true(fetch_verify(p, bytes));
	memset(record, 0xee, sizeof(record));
	n = fetch_run(p, bytes, &c, record, sizeof(record));
	compare_registers(p, bytes, n);
	free(p);
	return n;
}

/* A return's program finds what the entry's one kept. */
static void arguments_at_a_return(void **state)
{
	uint64_t kept[FETCH_RECORD_MAX / 8], stack[4] = { 0, 70, 80, 90 };
	const struct fetch_context at_entry = { regs, NULL, 0x1234, 0x1000, read_memory, read_comm, NULL };
	const struct fetch_context at_return = { regs, NULL, 0x1234, 0x1000, read_memory, read_comm, NULL, NULL, kept + 1 };
	static const char *const arguments[] = { "$arg2", "h=$arg8:s32", "again=$arg2:u8", "s=+0($arg1):string" };
	struct fetch_build b;
	struct err err;
	uint64_t second;
	int32_t eighth;
	uint16_t text_at;
	uint32_t bytes;
	struct fetch_program *entry, *program;

	fetch_begin_return(&b);
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		assert_int_equal(fetch_add(&b, arguments[i], strlen(arguments[i]), &err), 0);
	entry = fetch_finish_entry(&b, &bytes);
	assert_true(fetch_verify(entry, bytes));
	assert_int_equal(b.n_kept, 3);
	regs[7] = (uintptr_t)"a text";
	regs[6] = 0x1122334455667788;
	regs[4] = (uintptr_t)stack;
	assert_int_equal(fetch_run(entry, bytes, &at_entry, (uint8_t *)kept, sizeof(kept)), 8 + 3 * 8);
	memset(regs, 0, sizeof(regs));
	memset(stack, 0, sizeof(stack));
	program = fetch_finish(&b, &bytes);
	assert_true(fetch_verify(program, bytes));
	fetch_run(program, bytes, &at_return, record, sizeof(record));
	memcpy(&second, record + b.fields.at[2].at, sizeof(second));
	assert_int_equal(second, 0x1122334455667788);
	memcpy(&eighth, record + b.fields.at[3].at, sizeof(eighth));
	assert_int_equal(eighth, 80);
	assert_int_equal(record[b.fields.at[4].at], 0x88);
	memcpy(&text_at, record + b.fields.at[5].at, sizeof(text_at));
	assert_string_equal((char *)record + text_at, "a text");
	for (unsigned i = 3; i <= 7; i++) {
		char text[8];

		snprintf(text, sizeof(text), "$arg%u", i);
		assert_int_equal(fetch_add(&b, text, strlen(text), &err), i < 7 ? 0 : -EINVAL);
	}
	free(entry);
	free(program);
	fetch_free(&b);
}

static uint64_t field(const struct fetch_build *b, size_t i)
{
	const struct fetch_field *f = &b->fields.at[i];
	uint64_t v = 0;

	memcpy(&v, record + f->at, f->type->size);
	if (f->type->is_signed && f->type->size < 8)
		v = (uint64_t)((int64_t)(v << (64 - 8 * f->type->size)) >> (64 - 8 * f->type->size));
	return v;
}

static const char *string_of(const struct fetch_build *b, size_t i)
{
	uint32_t at = (uint32_t)field(b, i);

	return at >> 16 ? (const char *)record + (at & 0xffff) : "(none)";
}

/* --- the kernel's arguments ----------------------------------------------------------------- */

static void test_numbers(void **state)
{
	char offset[16][64];
	const struct { const char *text; uint64_t is; } all[] = {
		{ "%di", (uintptr_t)&thing }, { "%ax:u8", 0xf0 }, { "%ax:s8", (uint64_t)-16 }, { "%ip", 0x1234 },
		{ "+0(%di):x64", thing.a }, { offset[0], (uint64_t)thing.b }, { offset[1], (uint64_t)thing.c },
		{ offset[2], (uint64_t)thing.d }, { offset[3], (uint8_t)thing.d }, { "+0(+0(%si)):u64", thing.a },
		{ "+u0(+u0(%si)):u16", thing.a & 0xffff }, { "$stack", (uintptr_t)&thing }, { "$stack0", thing.a },
		{ "\\-7:s32", (uint64_t)-7 }, { "\\0x20", 32 }, { offset[4], thing.a }, { "+0(%dx)", 0 }, { "-8(+8(%dx)):s8", 0 },
		{ "&+8(%di)", (uintptr_t)&thing + 8 }, { "&-1(%ax):u8", 0xef }, { "&+0x10(+0(%si)):u64", (uintptr_t)&thing + 16 },
		{ "&@0x1000", 0x1000 }, { "&+8(+0(%dx))", 0 },
	};
	struct fetch_build b;
	struct err err;

	snprintf(offset[0], 64, "x=+%zu(%%di):s32", offsetof(__typeof__(thing), b));
	snprintf(offset[1], 64, "y=+%zu(%%di):s16", offsetof(__typeof__(thing), c));
	snprintf(offset[2], 64, "z=+0x%zx(%%di):s8", offsetof(__typeof__(thing), d));
	snprintf(offset[3], 64, "w=+%zu(%%di):u8", offsetof(__typeof__(thing), d));
	snprintf(offset[4], 64, "v=@%#lx:u64", (unsigned long)(uintptr_t)&thing);
	regs[0] = 0xf0;
	regs[2] = 0x10; /* nothing is there */
	regs[4] = regs[7] = (uintptr_t)&thing;
	regs[6] = (uintptr_t)&to_thing;
	fetch_begin(&b);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (fetch_add(&b, all[i].text, strlen(all[i].text), &err) < 0)
			fail_msg("%s: %s", all[i].text, err.text);
	assert_int_equal(run(&b), b.fixed);
	assert_int_equal(field(&b, 0), 0x1234);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (field(&b, i + 1) != all[i].is)
			fail_msg("%s is %#llx, not %#llx", all[i].text, (unsigned long long)field(&b, i + 1), (unsigned long long)all[i].is);
	fetch_free(&b);
}

static unsigned read_at_once;

static void read_ranges(void *context, struct fetch_range *ranges, unsigned n)
{
	assert_in_range(n, 1, FETCH_RANGES_MAX);
	read_at_once += n > 1;
	for (unsigned i = 0; i < n; i++)
		ranges[i].got = read_memory(context, ranges[i].address, ranges[i].to, ranges[i].n);
}

/* Strings of bounded length that are read at once are those that are read one by one, wherever
 * their pointers lead, and with numbers and texts between them. */
static void test_strings_at_once(void **state)
{
	static const struct { struct fetch_program p; struct fetch_insn code[15]; } all = {
		{ .n = 15, .fixed = 8 + 7 * 4 + 8 },
		{ { .op = FETCH_REG, .reg = 0 }, { .op = FETCH_STRING, .at = 8, .count = 65 },
		  { .op = FETCH_REG, .reg = 1 }, { .op = FETCH_STRING, .at = 12, .count = 9 },
		  { .op = FETCH_REG, .reg = 5 }, { .op = FETCH_STORE, .size = 8, .at = 36 },
		  { .op = FETCH_REG, .reg = 2 }, { .op = FETCH_STRING, .at = 16, .count = 65 },
		  { .op = FETCH_TEXT, .size = 3, .at = 20, .value = 0x636261 },
		  { .op = FETCH_REG, .reg = 3 }, { .op = FETCH_STRING, .at = 24, .count = 200 },
		  { .op = FETCH_REG, .reg = 3 }, { .op = FETCH_STRING, .at = 28, .count = 200 },
		  { .op = FETCH_REG, .reg = 0 }, { .op = FETCH_STRING, .at = 32, .count = 65 } },
	};
	static const char long_text[] = "a text that is longer than the eight bytes which the second string has";
	const uint64_t places[] = { (uintptr_t)"a text", (uintptr_t)long_text, 0, 0x10, (uintptr_t)"" };
	const unsigned n_places = sizeof(places) / sizeof(*places);
	struct fetch_context c = { regs, NULL, 0, 0, read_memory, read_comm, NULL };
	uint8_t one_by_one[FETCH_RECORD_MAX];

	assert_true(fetch_verify(&all.p, sizeof(all)));
	read_at_once = 0;
	for (unsigned i = 0; i < n_places * n_places * n_places * n_places; i++) {
		uint32_t n;

		for (unsigned k = 0, rest = i; k < 4; k++, rest /= n_places)
			regs[k] = places[rest % n_places];
		c.read_ranges = NULL;
		n = fetch_run(&all.p, sizeof(all), &c, one_by_one, sizeof(one_by_one));
		assert_true(n >= all.p.fixed);
		c.read_ranges = read_ranges;
		assert_int_equal(fetch_run(&all.p, sizeof(all), &c, record, sizeof(record)), n);
		assert_memory_equal(record + 8, one_by_one + 8, n - 8);
	}
	assert_true(read_at_once >= n_places * n_places * n_places * n_places);
}

/* Numbers in registers of both sizes take the short way, those of others do not; an odd size is
 * padded. */
static void test_registers(void **state)
{
	static const struct { const char *arguments[4]; bool is_short; } all[] = {
		{ { "%di:s32", "%si", "%dx:u32" }, true }, { { "%ax:u64", "%ip", "%cx:s32" }, true },
		{ { NULL }, true }, { { "%ax:u8", "%di" }, false }, { { "%ax", "+0(%di):u64" }, false },
		{ { "%ax", "\\7" }, false }, { { "$stack:u32" }, true },
	};

	for (unsigned i = 0; i < FETCH_REGS; i++)
		regs[i] = 0x1122334455667700 + i;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned before = by_registers;
		struct fetch_build b;
		struct err err;

		fetch_begin(&b);
		for (unsigned k = 0; all[i].arguments[k]; k++)
			if (fetch_add(&b, all[i].arguments[k], strlen(all[i].arguments[k]), &err) < 0)
				fail_msg("%s: %s", all[i].arguments[k], err.text);
		assert_int_equal(run(&b), b.fixed);
		if ((by_registers > before) != all[i].is_short)
			fail_msg("program %zu took the wrong way", i);
		fetch_free(&b);
	}
}

static const struct { uint16_t numbers[4]; const char *names[3]; uint32_t bits; } many = {
	{ 1, 2, 0xffff, 4 }, { "one", "", "three" }, 0xdeadbeef
};

/* Arrays, bits of numbers, texts of the definition's own; at the end of memory elements stay 0. */
static void test_shapes(void **state)
{
	static const char *const all[] = { "+0(%di):u16[4]", "+0(%di):s16[4]", "+8(%di):string[3]", "+32(%di):b8@4/32",
					   "+32(%di):b4@4/8[4]", "%ax:b3@1/8", "\\\"short\"", "\\\"exactly8\"", "\\\"some more than 8\"",
					   "\\\"\"", "+0(%dx):u32[2]", "+0(%dx):string[2]" };
	struct fetch_build b;
	struct err err;
	const uint8_t *a;

	regs[0] = 0xb;
	regs[2] = 0x10; /* nothing is there */
	regs[7] = (uintptr_t)&many;
	fetch_begin(&b);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (fetch_add(&b, all[i], strlen(all[i]), &err) < 0)
			fail_msg("%s: %s", all[i], err.text);
	assert_true(run(&b) > b.fixed);
	assert_memory_equal(record + b.fields.at[1].at, many.numbers, 8);
	assert_memory_equal(record + b.fields.at[2].at, many.numbers, 8);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t at;

		memcpy(&at, record + b.fields.at[3].at + 4 * i, 4);
		assert_string_equal((const char *)record + (at & 0xffff), many.names[i]);
		assert_int_equal(at >> 16, strlen(many.names[i]) + 1);
	}
	assert_int_equal(field(&b, 4), many.bits >> 4 & 0xff);
	a = record + b.fields.at[5].at;
	assert_true(a[0] == 0xe && a[1] == 0xb && a[2] == 0xa && a[3] == 0xd);
	assert_int_equal(field(&b, 6), 5);
	assert_string_equal(string_of(&b, 7), "short");
	assert_string_equal(string_of(&b, 8), "exactly8");
	assert_string_equal(string_of(&b, 9), "some more than 8");
	assert_string_equal(string_of(&b, 10), "");
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(record[b.fields.at[11].at + i], 0);
	assert_string_equal(string_of(&b, 12), "(none)");
	fetch_free(&b);
}

static void test_strings(void **state)
{
	static char big[2000];
	char text[64];
	struct fetch_build b;
	struct err err;

	memset(big, 'x', sizeof(big) - 1);
	regs[3] = (uintptr_t)big;
	regs[5] = (uintptr_t)"";
	fetch_begin(&b);
	snprintf(text, sizeof(text), "t=+0(+%zu(%%di)):ustring", offsetof(__typeof__(thing), text));
	assert_int_equal(fetch_add(&b, text, strlen(text), &err), 0);
	assert_int_equal(fetch_add(&b, "$comm", 5, &err), 0);
	assert_int_equal(fetch_add(&b, "+0(%bp):string", 14, &err), 0);
	assert_int_equal(fetch_add(&b, "+0(%dx):string", 14, &err), 0);
	assert_int_equal(fetch_add(&b, "+0(%bx):string", 14, &err), 0);
	assert_int_equal(run(&b), FETCH_RECORD_MAX);
	assert_string_equal(string_of(&b, 1), "some text");
	assert_string_equal(string_of(&b, 2), "a thread");
	assert_string_equal(string_of(&b, 3), "");
	assert_string_equal(string_of(&b, 4), "(none)");
	assert_int_equal(strlen(string_of(&b, 5)), FETCH_RECORD_MAX - b.fixed - 10 - 9 - 1 - 1);
	fetch_free(&b);
}

static void test_refused(void **state)
{
	static const struct { const char *text; size_t column; } all[] = {
		{ "%zz", 0 }, { "a=%zz", 2 }, { "%di:u7", 4 }, { "+x(%di)", 0 }, { "+8(%di", 6 }, { "+8(+8(%dq))", 6 },
		{ "$stac", 0 }, { "$stack9999999999999999999", 0 }, { "%di:string", 4 }, { "$comm:u8", 6 }, { "@symbol", 0 }, { "", 0 },
		{ "a=", 2 }, { "=%di", 0 }, { "1=%di", 0 }, { "\\", 1 }, { "+8()", 3 }, { "__probe_ip=%di", 0 },
	};
	struct fetch_build b;

	fetch_begin(&b);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct err err = { 0 };
		size_t fields = b.fields.n;
		int r = fetch_add(&b, all[i].text, strlen(all[i].text), &err);

		if (r >= 0 || !err.text[0] || (err.input[0] && err.column != all[i].column))
			fail_msg("%s: %d, \"%s\", column %zu", all[i].text, r, err.text, err.column);
		assert_true(b.fields.n <= fields + 1);
		fetch_free(&b);
		fetch_begin(&b);
	}
	fetch_free(&b);
}

/* As Linux 6.12 shows `p:kprobes/str do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring`
 * (../shared/golden). */
static void test_format(void **state)
{
	static const char expected[] =
		"name: str\nID: 0\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:s32 dfd;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:1;\n\n"
		"print fmt: \"(%lx) dfd=%d name=\\\"%s\\\"\", REC->__probe_ip, REC->dfd, __get_str(name)\n";
	struct event_format *e;
	struct fetch_build b;
	struct err err;
	char *text;

	fetch_begin(&b);
	assert_int_equal(fetch_add(&b, "dfd=%di:s32", 11, &err), 0);
	assert_int_equal(fetch_add(&b, "name=+0(%si):ustring", 20, &err), 0);
	text = fetch_format(&b, "str");
	assert_string_equal(text, expected);
	e = event_format_parse(text, strlen(text), "kprobes", &err);
	assert_non_null(e);
	assert_int_equal(event_record_bytes(e), b.fixed);
	event_format_free(e);
	free(text);
	fetch_free(&b);
}

/* --- markers' arguments --------------------------------------------------------------------- */

static bool find_name(void *module, const char *name, size_t n, uint64_t *vaddr)
{
	*vaddr = (uintptr_t)&thing - 0x1000; /* the module was moved by 0x1000 */
	return n == 5 && !memcmp(name, "thing", 5);
}

static void test_markers(void **state)
{
	static const struct { const char *text; uint64_t is; unsigned size; } all[] = {
		{ "8@%rdi", 0x80000001, 8 }, { "-4@%edi", (uint64_t)(int32_t)0x80000001, 4 }, { "4@%edi", 0x80000001, 4 },
		{ "1@%dil", 1, 1 }, { "-1@%ah", (uint64_t)-2, 1 }, { "1@%al", 0x55, 1 }, { "2@%r8w", 0x8888, 2 }, { "1@%r8b", 0x88, 1 },
		{ "-4@%r8d", (uint64_t)(int32_t)0x88888888, 4 }, { "-4@$-5", (uint64_t)-5, 4 }, { "4@$5", 5, 4 }, { "1@$0x41", 65, 1 },
		{ "8@(%rbx)", 0x1122334455667788, 8 }, { "2@0(%rbx)", 0x7788, 2 }, { "-4@8(%rbx)", (uint64_t)-5, 4 },
		{ "-4@-8(%rbp)", (uint64_t)-5, 4 }, { "-4@(%rbx,%rcx,4)", (uint64_t)-5, 4 }, { "-4@4(%rbx,%rsi)", (uint64_t)-5, 4 },
		{ "8@thing(%rip)", 0x1122334455667788, 8 }, { "-4@8+thing(%rip)", (uint64_t)-5, 4 }, { "-4@thing+8(%rip)", (uint64_t)-5, 4 },
		{ "-2@4+8+thing(%rip)", (uint64_t)-3, 2 }, { "8@nothing(%rip)", 0, 8 }, { "8f@%xmm0", 0, 8 }, { "8@%fs:8", 0, 8 }, { "%rdi", 0x80000001, 8 },
		{ "8@$thing", 0, 8 }, { "4@(%rdx)", 0, 4 }, { "8@-4", 0, 8 },
	};
	const struct operand_names names = { find_name, NULL };
	struct usdt_fields f = { 0 };
	struct fetch_build b;
	struct err err;
	char text[1024] = "";

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", all[i].text);
	usdt_fields_meet(&f, text);
	assert_int_equal(f.n, sizeof(all) / sizeof(all[0]));
	regs[7] = 0x80000001;
	regs[0] = 0xfe55;
	regs[8] = 0x8888888888888888;
	regs[3] = (uintptr_t)&thing;
	regs[5] = (uintptr_t)&thing + 16;
	regs[1] = 2;
	regs[6] = 4;
	regs[2] = 0x10;
	assert_int_equal(usdt_build(&b, &f, text, &names, &err), 0);
	assert_true(run(&b) > 0);
	for (size_t i = 0; i < f.n; i++) {
		uint64_t is = strcmp(all[i].text, "8@$thing") ? all[i].is : (uintptr_t)&thing;

		assert_int_equal(b.fields.at[i + 1].type->size, all[i].size);
		if (field(&b, i + 1) != is)
			fail_msg("%s is %#llx, not %#llx", all[i].text, (unsigned long long)field(&b, i + 1), (unsigned long long)is);
	}
	fetch_free(&b);
}

/* Two sites of one marker: a field is as wide as the wider one, and each site fills it. */
static void test_sites(void **state)
{
	static const char *const sites[] = { "-4@$-1 8@%rdi", "-8@$-2 4@%edi 1@$7", "" };
	static const uint64_t is[3][3] = { { (uint64_t)-1, 0x80000001ull << 4, 0 }, { (uint64_t)-2, 0x10, 7 }, { 0, 0, 0 } };
	struct usdt_fields f = { 0 };

	regs[7] = 0x80000001ull << 4;
	for (size_t i = 0; i < 3; i++)
		usdt_fields_meet(&f, sites[i]);
	for (size_t i = 0; i < 3; i++) {
		struct fetch_build b;
		struct err err;

		assert_int_equal(usdt_build(&b, &f, sites[i], NULL, &err), 0);
		assert_int_equal(run(&b), 8 + 8 + 8 + 8 + 1);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(field(&b, k + 1), is[i][k]);
		fetch_free(&b);
	}
}

/* --- any program ---------------------------------------------------------------------------- */

static void test_any_bytes(void **state)
{
	const struct fetch_context c = { regs, NULL, 0x1234, 0, read_memory, read_comm, NULL };
	uint64_t x = 88172645463325252, made = 0;

	for (unsigned round = 0; round < 200000; round++) {
		uint64_t words[40];
		uint8_t *exact = malloc(200);
		uint32_t n, room;
		struct fetch_program *p = (void *)words;

		for (size_t i = 0; i < 40; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			words[i] = i % 2 || !i ? x : (x & 0x3f00ffffffff) % (FETCH_OPS + 1) | (x & 0x3f0300000f00);
		}
		p->n = (uint16_t)(x % 20);
		p->fixed = (uint16_t)(8 + (x >> 8) % 100);
		room = (uint32_t)(x >> 16) % 200;
		n = fetch_run(p, (uint32_t)(x >> 32) % sizeof(words), &c, exact, room);
		assert_true(n <= room);
		made += n > 0;
		free(exact);
	}
	assert_true(made > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_at_a_return), cmocka_unit_test(test_numbers), cmocka_unit_test(test_strings), cmocka_unit_test(test_shapes), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_format), cmocka_unit_test(test_markers), cmocka_unit_test(test_sites),
		cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_registers), cmocka_unit_test(test_strings_at_once),
	};

	return cmocka_run_group_tests_name("event_fetch", tests, NULL, NULL);
}
