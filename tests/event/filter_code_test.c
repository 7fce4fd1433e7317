/* A filter's machine code says what its program says, over records and, at the beginning of a
 * trampoline, over registers: programs with every comparison, width, sign and jump, with values at
 * the edges of all widths. filter_run is the truth (filter_test.c has that of filter_run). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/condition_code.h"
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

/* --- over registers --------------------------------------------------------------------------- */

#define REGISTERS 16u
#define RSP 4u
enum answer { REJECTED, PASSED, ASKED };

/* Two neighbouring pages: the code and its ends, and data. */
static uint8_t *code_page;
static volatile struct { uint32_t answer, fork_guard; } *data;
static __thread volatile uint64_t top_sp;

/* Registers in, and as the code leaves them. */
uint64_t in[REGISTERS], out[REGISTERS];
const void *code_at;
uint64_t kept_sp;
void enter_code(void);
__asm__(".text\nenter_code:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, kept_sp(%rip)\n"
	"lea in(%rip), %rax\n"
	"mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx; mov 40(%rax), %rbp\n"
	"mov 48(%rax), %rsi; mov 56(%rax), %rdi; mov 64(%rax), %r8; mov 72(%rax), %r9\n"
	"mov 80(%rax), %r10; mov 88(%rax), %r11; mov 96(%rax), %r12; mov 104(%rax), %r13\n"
	"mov 112(%rax), %r14; mov 120(%rax), %r15; mov (%rax), %rax\n"
	"call *code_at(%rip)\n"
	"mov %rax, out(%rip)\n"
	"lea out(%rip), %rax\n"
	"mov %rcx, 8(%rax); mov %rdx, 16(%rax); mov %rbx, 24(%rax); mov %rsp, 32(%rax)\n"
	"mov %rbp, 40(%rax); mov %rsi, 48(%rax); mov %rdi, 56(%rax); mov %r8, 64(%rax)\n"
	"mov %r9, 72(%rax); mov %r10, 80(%rax); mov %r11, 88(%rax); mov %r12, 96(%rax)\n"
	"mov %r13, 104(%rax); mov %r14, 112(%rax); mov %r15, 120(%rax)\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"ret\n");

/* movl $answer, data->answer(%rip); ret: returns its address. */
static uint64_t put_end(uint32_t at, enum answer answer)
{
	uint8_t *end = code_page + at, code[11] = { 0xc7, 0x05 };
	int32_t distance = (int32_t)((const uint8_t *)&data->answer - (end + 10));

	memcpy(code + 2, &distance, 4);
	memcpy(code + 6, &(uint32_t){ answer }, 4);
	code[10] = 0xc3;
	memcpy(end, code, sizeof(code));
	return (uint64_t)(uintptr_t)end;
}

/* Puts the filter and the code of its condition into the page. */
static void place_condition(struct condition_code *c)
{
	const uint32_t bytes = condition_code_bytes(c), filter_at = 2048;
	uint8_t *at = code_page + 64;

	assert_in_range(bytes, 20, CONDITION_CODE_MAX);
	assert_int_equal(mprotect(code_page, PAGE, PROT_READ | PROT_WRITE), 0);
	memset(code_page, 0xcc, PAGE);
	memcpy(code_page + filter_at, c->filter, c->filter->bytes);
	c->filter_at = (uint64_t)(uintptr_t)code_page + filter_at;
	const struct condition_ends ends = {
		.rejects = put_end(0, REJECTED), .passes = put_end(16, PASSED), .asks = put_end(32, ASKED),
		.fork_guard = (uint64_t)(uintptr_t)&data->fork_guard,
		.top = (int32_t)((uint8_t *)&top_sp - (uint8_t *)__builtin_thread_pointer()),
	};
	assert_int_equal(condition_code_emit(c, &ends, (uint64_t)(uintptr_t)at, at), 0);
	assert_int_equal(at[bytes], 0xcc); /* not a byte more */
	assert_int_equal(mprotect(code_page, PAGE, PROT_READ | PROT_EXEC), 0);
	code_at = at;
}

static enum answer answer_of(void)
{
	data->answer = 77;
	data->fork_guard = 1;
	enter_code();
	in[RSP] = kept_sp;
	for (unsigned i = 0; i < REGISTERS; i++)
		if (in[i] != out[i])
			fail_msg("register %u was %#lx and is %#lx", i, in[i], out[i]);
	return (enum answer)data->answer;
}

/* The field holds the value: narrower comparisons than filter_run's may be the agent's. */
static bool is_in_range(const struct filter_insn *i)
{
	unsigned unused = 64 - 8u * i->size;

	return i->flags & FILTER_SIGNED ? (int64_t)(i->value << unused) >> unused == (int64_t)i->value
					: i->value << unused >> unused == i->value;
}

/* Terms of the agent have their field where no register is. Returns whether the agent may be
 * asked. */
static bool choose_registers(struct filter_program *p, struct condition_code *c, bool all)
{
	bool may_ask = false;

	for (unsigned i = 0; i < p->n; i++) {
		uint8_t r = (uint8_t)(rnd() % REGISTERS);
		bool unknown = !all && rnd() % 4 == 0;

		r = r == RSP ? 7 : r;
		c->registers[i] = unknown ? CONDITION_NO_REGISTER : r;
		p->at[i].offset = (uint16_t)(8 + 8 * (unknown ? REGISTERS : r));
		may_ask |= unknown || !is_in_range(&p->at[i]);
	}
	return may_ask;
}

static void any_registers(const struct filter_program *p, uint8_t *bytes, unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		memcpy(bytes + 8 * i, &(uint64_t){ edge() }, 8);
	for (unsigned i = 0; i < p->n; i++)
		if (rnd() % 3 == 0)
			memcpy(bytes + p->at[i].offset, &(uint64_t){ p->at[i].value + rnd() % 3 - 1 }, p->at[i].size);
	memcpy(in, bytes + 8, sizeof(in));
}

/* The program decides which calls pass; the agent is asked only about terms that
 * are its own. */
static void registers(void **state)
{
	unsigned counts[3] = { 0 }, unasked = 0;

	(void)state;
	for (unsigned i = 0; i < 6000; i++) {
		bool all = i % 2;
		struct filter_program *p = any_program(1 + (unsigned)(rnd() % (i % 16 > 1 ? 4 : CONDITION_CODE_INSNS)));
		struct condition_code c = { .filter = p };
		uint8_t bytes[8 * (2 + REGISTERS)];
		bool may_ask = choose_registers(p, &c, all);

		if (condition_code_bytes(&c)) {
			place_condition(&c);
			for (unsigned k = 0; k < 20; k++) {
				any_registers(p, bytes, sizeof(bytes) / 8);
				enum answer is = answer_of(), truth = filter_run(p, p->bytes, &(struct filter_record){ .bytes = bytes, .size = sizeof(bytes) });

				if (is != truth && (is != ASKED || !may_ask))
					fail_msg("program %u, registers %u: %d for %d", i, k, is, truth);
				counts[is]++;
				unasked += may_ask && is != ASKED;
			}
		} else {
			assert_true(may_ask);
		}
		free(p);
	}
	assert_true(counts[REJECTED] > 10000 && counts[PASSED] > 10000 && unasked > 5000);
}

/* `s ~ "x*" && n > 3`, where the agent alone knows s: n rejects without it. */
static void number_behind_string(void **state)
{
	static const struct event_field fields[] = { { "char *", "s", 8, 8, false }, { "int", "n", 64, 4, true } };
	static const struct event_format event = { "test", "test", 7, fields, 2, "\"\"" };
	struct condition_code c = { .registers = { CONDITION_NO_REGISTER, 7 } };
	struct filter_program *p;
	struct filter_fault fault;

	(void)state;
	assert_int_equal(filter_compile(&event, "s ~ \"x*\" && n > 3", 17, &(struct filter_context){ 4 }, &p, &fault), 0);
	assert_int_equal(p->n, 2);
	c.filter = p;
	place_condition(&c);
	in[7] = 3 | 7ull << 32;
	assert_int_equal(answer_of(), REJECTED);
	in[7] = 4;
	assert_int_equal(answer_of(), ASKED);
	free(p);
	assert_int_equal(filter_compile(&event, "s ~ \"x*\" || n > 3", 17, &(struct filter_context){ 4 }, &p, &fault), 0);
	c.filter = p;
	place_condition(&c);
	in[7] = 3;
	assert_int_equal(answer_of(), ASKED);
	free(p);
}

/* A call that may be a handler's, or inside of a graph, is not rejected. */
static void asked_for(void **state)
{
	static const struct event_field fields[] = { { "int", "n", 64, 4, true } };
	static const struct event_format event = { "test", "test", 7, fields, 1, "\"\"" };
	struct condition_code c = { .registers = { 7 } };
	struct filter_fault fault;
	struct filter_program *p;

	(void)state;
	assert_int_equal(filter_compile(&event, "n > 3", 5, &(struct filter_context){ 4 }, &p, &fault), 0);
	c.filter = p;
	place_condition(&c);
	in[7] = 0;
	assert_int_equal(answer_of(), REJECTED);
	in[2] = kept_sp; /* what stands above the return address */
	assert_int_equal(answer_of(), ASKED);
	in[2]++;
	assert_int_equal(answer_of(), REJECTED);
	top_sp = 1;
	assert_int_equal(answer_of(), REJECTED);
	c.begins = true;
	place_condition(&c);
	assert_int_equal(answer_of(), ASKED);
	top_sp = 0;
	assert_int_equal(answer_of(), REJECTED);
	data->answer = 77;
	data->fork_guard = 0;
	enter_code();
	assert_int_equal(data->answer, ASKED);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any), cmocka_unit_test(compiled), cmocka_unit_test(registers),
		cmocka_unit_test(number_behind_string), cmocka_unit_test(asked_for),
	};

	pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code_page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || code_page == MAP_FAILED)
		return 1;
	data = (void *)(code_page + PAGE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
