/* A filter's machine code says what its program says: programs with every comparison, width, sign
 * and jump, over records and with values at the edges of all widths. filter_run is the truth
 * (filter_test.c has that of filter_run). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/filter_code.h"
#include "base/mem.h"
#include "event/filter_compile.h"

#define RECORD_BYTES 64u
#define PAGE 4096u

static uint64_t seed = 0x2545f4914f6cdd1d;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A number near the edge of some width. */
static uint64_t edge(void)
{
	static const uint8_t shifts[] = { 0, 7, 8, 15, 16, 31, 32, 63 };
	uint64_t v = (1ull << shifts[rnd() % 8]) + rnd() % 3 - 1;

	return rnd() % 4 ? v : rnd() % 2 ? -v : rnd();
}

/* --- machine code that can be executed; right behind it there is nothing ---------------------- */

static uint8_t *pages;

static filter_code *placed(const uint8_t *code, size_t n)
{
	uint8_t *at = pages + PAGE - n;

	assert_int_equal(mprotect(pages, PAGE, PROT_READ | PROT_WRITE), 0);
	memcpy(at, code, n);
	assert_int_equal(mprotect(pages, PAGE, PROT_READ | PROT_EXEC), 0);
	return (filter_code *)(uintptr_t)at;
}

static bool says(const struct filter_program *p, const uint8_t *bytes)
{
	const struct filter_record r = { .bytes = bytes, .size = RECORD_BYTES };

	return filter_run(p, p->bytes, &r);
}

/* --- programs --------------------------------------------------------------------------------- */

static struct filter_insn any_insn(unsigned at, unsigned n)
{
	uint8_t size = (uint8_t)(1u << rnd() % 4);
	uint64_t value = edge();
	uint8_t flags = (uint8_t)(rnd() % 2 * FILTER_SIGNED | rnd() % 2 * FILTER_BRANCH);
	unsigned unused = 64 - 8u * size;

	value <<= unused; /* mostly one that the field may have */
	value = flags & FILTER_SIGNED ? (uint64_t)((int64_t)value >> unused) : value >> unused;
	return (struct filter_insn){
		.test = FILTER_NUMBER, .compare = (uint8_t)(rnd() % FILTER_COMPARES), .flags = flags, .size = size,
		.offset = (uint16_t)(8 + rnd() % (RECORD_BYTES - 8 - size + 1)), .value = rnd() % 8 ? value : edge(),
		.target = (uint16_t)(rnd() % 2 ? n + rnd() % 2 : at + 1 + rnd() % (n + 1 - at)),
	};
}

static struct filter_program *any_program(unsigned n)
{
	uint32_t bytes = (uint32_t)(sizeof(struct filter_program) + n * sizeof(struct filter_insn));
	struct filter_program *p = mem_zalloc(bytes);

	*p = (struct filter_program){ .magic = FILTER_MAGIC, .bytes = bytes, .n = (uint16_t)n };
	for (unsigned i = 0; i < n; i++) {
		p->at[i] = any_insn(i, n);
		p->at[i].target += p->at[i].target <= i;
	}
	assert_true(filter_verify(p, bytes, RECORD_BYTES));
	return p;
}

static void any_record(const struct filter_program *p, uint8_t *bytes)
{
	for (unsigned i = 0; i < RECORD_BYTES / 8; i++)
		memcpy(bytes + 8 * i, &(uint64_t){ edge() }, 8);
	for (unsigned i = 0; i < p->n; i++) /* equal, or next to it */
		if (rnd() % 3 == 0)
			memcpy(bytes + p->at[i].offset, &(uint64_t){ p->at[i].value + rnd() % 3 - 1 }, p->at[i].size);
}

static void any(void **state)
{
	unsigned passed = 0, of = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct filter_program *p = any_program(1 + (unsigned)(rnd() % (i % 16 ? 4 : FILTER_CODE_INSNS)));
		uint8_t code[FILTER_CODE_MAX], bytes[RECORD_BYTES];
		uint16_t needs;
		uint32_t n = filter_code_emit(p, code, &needs);
		filter_code *f;

		assert_in_range(n, 10, FILTER_CODE_MAX);
		assert_in_range(needs, 9, RECORD_BYTES);
		f = placed(code, n);
		for (unsigned k = 0; k < 20; k++, of++) {
			any_record(p, bytes);
			if (f(bytes) != says(p, bytes))
				fail_msg("program %u, record %u: the code says %d", i, k, f(bytes));
			passed += says(p, bytes);
		}
		free(p);
	}
	assert_in_range(passed, of / 4, of - of / 4);
}

/* Compiled code has this property, if only numbers are compared. */
static void compiled(void **state)
{
	static const struct event_field fields[] = { { "int", "a", 8, 4, true }, { "u64", "b", 16, 8, false }, { "char[8]", "s", 24, 8, false } };
	static const struct event_format event = { "test", "test", 7, fields, 3, "\"\"" };
	static const struct { const char *text; bool has; uint16_t needs; } cases[] = {
		{ "a < 3", true, 12 }, { "a == -1 && (b > 0x8000000000000000 || !(a & 4))", true, 24 }, { "s == \"x\"", false, 0 },
		{ "a < 3 && s == \"x\"", false, 0 }, { "common_pid == 4", false, 0 }, { "CPU == 1", false, 0 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct filter_program *p;
		struct filter_fault fault;

		assert_int_equal(filter_compile(&event, cases[i].text, strlen(cases[i].text), &(struct filter_context){ 4 }, &p, &fault), 0);
		assert_true(filter_verify(p, p->bytes, 32));
		assert_int_equal(p->code != 0, cases[i].has);
		assert_int_equal(p->code_needs, cases[i].needs);
		if (p->code) {
			uint8_t code[FILTER_CODE_MAX];
			uint16_t needs;
			uint32_t n = filter_code_emit(p, code, &needs);

			assert_true(8u * p->code + n <= p->bytes);
			assert_memory_equal((uint8_t *)p + 8u * p->code, code, n);
		}
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(any), cmocka_unit_test(compiled) };

	pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
