/* SPDX-License-Identifier: MIT */
/* The interpreter of filter programs (filter.h) over one record. agent/event.c and others run it in
 * the traced thread before a record is written, the tracer on records that it has; no state, no
 * lock, no libc. The program is not trusted: each instruction is loaded once, and each offset in it
 * is checked against the bytes that are there. A bad one lets no record pass. */
#include "shared/filter.h"

/* Bytes of the record or of the program. */
struct string_span {
	const uint8_t *at;
	uint32_t n;
};

struct filter_run_state {
	const uint8_t *program;
	uint32_t bytes;
	const struct filter_record *r;
};

/* Volatile: a second read by the compiler could see other bytes than those that were checked. */
static uint64_t word_load(const struct filter_insn *from, unsigned i)
{
	return ((const volatile uint64_t *)from)[i];
}

static struct filter_insn insn_load(const struct filter_insn *from)
{
	union { uint64_t words[3]; struct filter_insn insn; } copy;

	_Static_assert(sizeof(struct filter_insn) == 24, "an instruction is three words");
	for (unsigned i = 0; i < 3; i++)
		copy.words[i] = word_load(from, i);
	return copy.insn;
}

/* The first word of an instruction, taken apart in a register: a comparison of numbers, as most
 * tests are, needs only this word and the value. */
struct head {
	uint8_t test, compare, flags, size;
	uint16_t offset, target;
};

static struct head head_load(const struct filter_insn *from)
{
	union { uint64_t word; struct head head; } copy = { word_load(from, 0) };

	_Static_assert(__builtin_offsetof(struct filter_insn, target) ==
			       __builtin_offsetof(struct head, target),
		       "the head is an instruction's first word");
	return copy.head;
}

#define LOADED(type, at) ({ type v_; __builtin_memcpy(&v_, at, sizeof(v_)); v_; })

/* Loads `size` bytes at offset as an unsigned number; false if they are not in the record. */
static bool load_field(const struct filter_record *r, uint32_t offset, uint32_t size, uint64_t *v)
{
	const uint8_t *at = r->bytes + offset;

	if (offset + size > r->size)
		return false;
	switch (size) {
	case 1: *v = *at; return true;
	case 2: *v = LOADED(uint16_t, at); return true;
	case 4: *v = LOADED(uint32_t, at); return true;
	case 8: *v = LOADED(uint64_t, at); return true;
	default: return false;
	}
}

/* The outcomes for which each comparison is true: one byte for each enum filter_compare, in it the
 * bit (a < b) + 2 (a == b) + 4 (a & b). The look-up takes no branch that depends on the filter or
 * on the record. */
static const uint64_t outcomes = 0x0070551166223344ull;

/* `half` is 2^63 for signed numbers: with their sign bits flipped, unsigned comparison orders
 * them. */
static bool compare_numbers(unsigned how, uint64_t a, uint64_t b, uint64_t half)
{
	unsigned outcome = ((a ^ half) < (b ^ half)) + 2u * (a == b) + 4u * !!(a & b);

	return outcomes >> ((how & 7) * 8 + outcome) & 1;
}

/* Loads a field of any size as 64 bits. If eight bytes are in the record it loads them all and cuts
 * the field out: one path for all sizes. */
static inline bool load_number(const struct filter_record *r, struct head i, uint64_t *v)
{
	unsigned unused = (64 - 8u * i.size) & 63;

	if (i.offset + 8u <= r->size)
		*v = LOADED(uint64_t, r->bytes + i.offset);
	else if (!load_field(r, i.offset, i.size, v))
		return false;
	*v <<= unused;
	*v = i.flags & FILTER_SIGNED ? (uint64_t)((int64_t)*v >> unused) : *v >> unused;
	return true;
}

/* The test of most filters: a number of the record against the instruction's value. */
static inline bool match_number(const struct filter_record *r, struct head i, uint64_t value)
{
	uint64_t v;

	return load_number(r, i, &v) &&
	       compare_numbers(i.compare, v, value, i.flags & FILTER_SIGNED ? 1ull << 63 : 0);
}

/* True if the address in the field lies (or does not lie) in the function [value, value + data). */
static bool match_function(const struct filter_record *r, const struct filter_insn *i)
{
	uint64_t v;

	if (!r->resolve || !load_field(r, i->offset, 8, &v))
		return false;
	/* Unsigned difference: an address below `value` wraps, and is not less than `data`
	 * either. */
	return (r->resolve(r->context, v) - i->value < i->data) == (i->compare == FILTER_EQ);
}

/* Returns the length up to a NUL; there may be none. */
static uint32_t text_length(const uint8_t *at, uint32_t limit)
{
	uint32_t n = 0;

	while (n < limit && at[n])
		n++;
	return n;
}

/* Sets *s to the bytes a __data_loc or __rel_loc field points at, as far as they are in the
 * record. */
static bool dynamic_string(const struct filter_record *r, const struct filter_insn *i,
			   struct string_span *s)
{
	uint64_t item;
	uint32_t offset, n;

	if (!load_field(r, i->offset, 4, &item))
		return false;
	offset = (uint32_t)(item & 0xffff) + (i->test == FILTER_RELATIVE ? i->offset + 4u : 0);
	if (offset > r->size)
		return false;
	n = (uint32_t)(item >> 16);
	*s = (struct string_span){ r->bytes + offset, n < r->size - offset ? n : r->size - offset };
	return true;
}

/* Sets *s to an array's characters, as far as they are in the record. */
static bool fixed_string(const struct filter_record *r, const struct filter_insn *i,
			 struct string_span *s)
{
	uint32_t rest;

	if (i->offset > r->size)
		return false;
	rest = r->size - i->offset;
	*s = (struct string_span){ r->bytes + i->offset,
				   i->room && i->room < rest ? i->room : rest };
	return true;
}

/* Sets *s to a copy of the string that the field points to, in the context's scratch memory. A
 * failed fetch fails the test. */
static bool fetched_string(const struct filter_record *r, const struct filter_insn *i,
			   struct string_span *s)
{
	uint64_t address;
	int n;

	if (!r->fetch || !load_field(r, i->offset, 8, &address))
		return false;
	n = r->fetch(r->context, address, r->scratch, r->scratch_bytes);
	if (n < 0)
		return false;
	/* A fetch function that claims more than its room is not believed. */
	*s = (struct string_span){ (const uint8_t *)r->scratch, (uint32_t)n < r->scratch_bytes
									? (uint32_t)n
									: r->scratch_bytes };
	return true;
}

/* Sets *s to the characters that the test compares, wherever they are. */
static bool field_characters(const struct filter_record *r, const struct filter_insn *i,
			     struct string_span *s)
{
	switch (i->test) {
	case FILTER_STRING: return fixed_string(r, i, s);
	case FILTER_POINTER: return fetched_string(r, i, s);
	case FILTER_COMM:
		*s = (struct string_span){ (const uint8_t *)r->comm, FILTER_COMM_BYTES };
		return r->comm;
	default: return dynamic_string(r, i, s);
	}
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* True if s, up to its NUL, contains p. */
static bool span_contains(struct string_span s, struct string_span p)
{
	if (!p.n)
		return true;
	for (uint32_t i = 0; i + p.n <= s.n && s.at[i]; i++)
		if (s.at[i] == p.at[0] && same_bytes(s.at + i, p.at, p.n))
			return true;
	return false;
}

/* s may extend beyond the string's NUL. FULL and FRONT compare the pattern's bytes only; MIDDLE
 * stops at a NUL; END and GLOB need the length. */
static bool match_span(unsigned how, struct string_span p, struct string_span s)
{
	if (how == FILTER_FULL || how == FILTER_FRONT)
		return p.n <= s.n && same_bytes(s.at, p.at, p.n) &&
		       (how == FILTER_FRONT || p.n == s.n || !s.at[p.n]);
	if (how == FILTER_MIDDLE)
		return span_contains(s, p);
	s.n = text_length(s.at, s.n);
	if (how == FILTER_GLOB)
		return filter_glob(p.at, p.n, s.at, s.n);
	return how == FILTER_END && p.n <= s.n && same_bytes(s.at + s.n - p.n, p.at, p.n);
}

/* Sets *s to the pattern or mask, if it lies in the program. */
static bool string_operand(const struct filter_run_state *run, const struct filter_insn *i,
			   struct string_span *s)
{
	if (i->data > run->bytes || i->length > run->bytes - i->data)
		return false;
	*s = (struct string_span){ run->program + i->data, i->length };
	return true;
}

/* A fault makes the test false, with FILTER_NOT, too. */
static bool match_string(const struct filter_run_state *run, const struct filter_insn *i)
{
	struct string_span pattern, s;

	if (!string_operand(run, i, &pattern) || !field_characters(run->r, i, &s))
		return false;
	return match_span(i->compare, pattern, s) != !!(i->flags & FILTER_NOT);
}

/* Masks may be shorter than what they are compared with: the rest is zeros. */
static uint8_t byte_at(struct string_span s, uint32_t i)
{
	return i < s.n ? s.at[i] : 0;
}

/* One CPU against a mask. Equality cannot hold: the compiler turns a mask that names exactly one
 * CPU into a comparison of numbers. */
static bool cpu_in(const struct filter_run_state *run, const struct filter_insn *i, uint64_t cpu)
{
	struct string_span mask;

	if (!string_operand(run, i, &mask))
		return false;
	if (i->compare != FILTER_AND)
		return i->compare == FILTER_NE;
	return cpu < FILTER_CPUS_MAX && byte_at(mask, (uint32_t)cpu / 8) >> cpu % 8 & 1;
}

/* A number that is no CPU's fails the test, also with !=, as in the kernel. */
static bool number_in(const struct filter_run_state *run, const struct filter_insn *i)
{
	uint64_t cpu;

	return load_field(run->r, i->offset, i->size, &cpu) && cpu < i->value &&
	       cpu_in(run, i, cpu);
}

/* A mask in the record against the program's. */
static bool match_cpus(const struct filter_run_state *run, const struct filter_insn *i)
{
	struct string_span mask, field;
	bool common = false, equal = true;

	if (!string_operand(run, i, &mask) || !dynamic_string(run->r, i, &field))
		return false;
	for (uint32_t k = 0; k < mask.n || k < field.n; k++) {
		common |= byte_at(mask, k) & byte_at(field, k);
		equal &= byte_at(mask, k) == byte_at(field, k);
	}
	return i->compare == FILTER_AND ? common : equal == (i->compare == FILTER_EQ);
}

/* The kernel knows no & for the CPU itself. */
static bool current_cpu(const struct filter_record *r, const struct filter_insn *i)
{
	return i->compare != FILTER_AND &&
	       compare_numbers(i->compare, (uint64_t)(int64_t)r->cpu, i->value, 1ull << 63);
}

/* All tests but a number's. Out of line, so that a filter of numbers saves no registers for it. */
__attribute__((noinline)) static bool test(const struct filter_run_state *run,
					   const struct filter_insn *from)
{
	const struct filter_insn i = insn_load(from);

	switch (i.test) {
	case FILTER_FUNCTION: return match_function(run->r, &i);
	case FILTER_STRING:
	case FILTER_DYNAMIC:
	case FILTER_RELATIVE:
	case FILTER_POINTER:
	case FILTER_COMM: return match_string(run, &i);
	case FILTER_CPU: return current_cpu(run->r, &i);
	case FILTER_CPU_IN: return cpu_in(run, &i, (uint32_t)run->r->cpu);
	case FILTER_NUMBER_IN: return number_in(run, &i);
	case FILTER_CPUS: return match_cpus(run, &i);
	default: return false;
	}
}

/* A test that fails has no error to report: the record is left out. */
bool filter_run(const struct filter_program *p, uint32_t bytes, const struct filter_record *r)
{
	struct filter_run_state run = { (const uint8_t *)p, bytes, r };
	uint32_t n, at = 0;

	/* `n` is read once and checked, since the program may change meanwhile. */
	if (bytes < sizeof(*p))
		return false;
	n = *(const volatile uint16_t *)&p->n;
	if (n * (uint32_t)sizeof(p->at[0]) > bytes - sizeof(*p))
		return false;
	while (at < n) {
		const struct filter_insn *from = &p->at[at];
		struct head i = head_load(from);
		bool holds = __builtin_expect(i.test == FILTER_NUMBER, 1)
				     ? match_number(r, i, word_load(from, 2))
				     : test(&run, from);

		if (holds != !!(i.flags & FILTER_BRANCH))
			at++;
		/* Only forward, so that the program ends. */
		else if (i.target > at)
			at = i.target;
		else
			return false;
	}
	return at == n;
}
