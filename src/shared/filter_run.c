/* SPDX-License-Identifier: MIT */
/* Running a filter's program over one record. Nothing in the program is believed: an instruction is loaded
 * once, into registers, and each use of a place in it is checked against what is really there. */
#include "shared/filter.h"

struct span {
	const uint8_t *at;
	uint32_t n;
};

struct run {
	const uint8_t *program;
	uint32_t bytes;
	const struct filter_record *r;
};

/* The compiler may not read it twice: what was checked must be what is used. */
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

/* An instruction's first word, to be taken apart in a register: most instructions compare a number, and need no
 * more than this and the value. */
struct head {
	uint8_t test, compare, flags, size;
	uint16_t offset, target;
};

static struct head head_load(const struct filter_insn *from)
{
	union { uint64_t word; struct head head; } copy = { word_load(from, 0) };

	_Static_assert(__builtin_offsetof(struct filter_insn, target) == __builtin_offsetof(struct head, target),
		       "the head is an instruction's first word");
	return copy.head;
}

#define LOADED(type, at) ({ type v_; __builtin_memcpy(&v_, at, sizeof(v_)); v_; })

/* size bytes of the record at offset as a number without a sign. */
static bool load(const struct filter_record *r, uint32_t offset, uint32_t size, uint64_t *v)
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

/* Which outcomes of a comparison make it true: byte enum filter_compare, bit (a < b) + 2 (a == b) + 4 (a & b). Looking
 * it up takes no branch that depends on the filter or on the record. */
static const uint64_t outcomes = 0x0070551166223344ull;

static bool compare(unsigned how, uint64_t a, uint64_t b, uint64_t half)
{
	unsigned outcome = ((a ^ half) < (b ^ half)) + 2u * (a == b) + 4u * !!(a & b);

	return outcomes >> ((how & 7) * 8 + outcome) & 1;
}

/* A field's number as wide as 64 bits. Eight bytes are loaded if the record has them, and the field cut out: one way
 * for all sizes. */
static inline bool load_number(const struct filter_record *r, struct head i, uint64_t *v)
{
	unsigned unused = (64 - 8u * i.size) & 63;

	if (i.offset + 8u <= r->size)
		*v = LOADED(uint64_t, r->bytes + i.offset);
	else if (!load(r, i.offset, i.size, v))
		return false;
	*v <<= unused;
	*v = i.flags & FILTER_SIGNED ? (uint64_t)((int64_t)*v >> unused) : *v >> unused;
	return true;
}

static inline bool number(const struct filter_record *r, struct head i, uint64_t value)
{
	uint64_t v;

	return load_number(r, i, &v) && compare(i.compare, v, value, i.flags & FILTER_SIGNED ? 1ull << 63 : 0);
}

static bool function(const struct filter_record *r, const struct filter_insn *i)
{
	uint64_t v;

	if (!r->place || !load(r, i->offset, 8, &v))
		return false;
	return (r->place(r->context, v) - i->value < i->data) == (i->compare == FILTER_EQ);
}

static uint32_t text_length(const uint8_t *at, uint32_t limit)
{
	uint32_t n = 0;

	while (n < limit && at[n])
		n++;
	return n;
}

/* The bytes a __data_loc or __rel_loc field points at, as far as they are in the record. */
static bool dynamic(const struct filter_record *r, const struct filter_insn *i, struct span *s)
{
	uint64_t item;
	uint32_t place, n;

	if (!load(r, i->offset, 4, &item))
		return false;
	place = (uint32_t)(item & 0xffff) + (i->test == FILTER_RELATIVE ? i->offset + 4u : 0);
	if (place > r->size)
		return false;
	n = (uint32_t)(item >> 16);
	*s = (struct span){ r->bytes + place, n < r->size - place ? n : r->size - place };
	return true;
}

static bool fixed(const struct filter_record *r, const struct filter_insn *i, struct span *s)
{
	uint32_t rest;

	if (i->offset > r->size)
		return false;
	rest = r->size - i->offset;
	*s = (struct span){ r->bytes + i->offset, i->room && i->room < rest ? i->room : rest };
	return true;
}

static bool fetched(const struct filter_record *r, const struct filter_insn *i, struct span *s)
{
	uint64_t address;
	int n;

	if (!r->fetch || !load(r, i->offset, 8, &address))
		return false;
	n = r->fetch(r->context, address, r->scratch, r->scratch_bytes);
	if (n < 0)
		return false;
	*s = (struct span){ (const uint8_t *)r->scratch, (uint32_t)n < r->scratch_bytes ? (uint32_t)n : r->scratch_bytes };
	return true;
}

static bool characters(const struct filter_record *r, const struct filter_insn *i, struct span *s)
{
	switch (i->test) {
	case FILTER_STRING: return fixed(r, i, s);
	case FILTER_POINTER: return fetched(r, i, s);
	case FILTER_COMM:
		*s = (struct span){ (const uint8_t *)r->comm, FILTER_COMM_BYTES };
		return r->comm;
	default: return dynamic(r, i, s);
	}
}

static bool same(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool contains(struct span s, struct span p)
{
	if (!p.n)
		return true;
	for (uint32_t i = 0; i + p.n <= s.n && s.at[i]; i++)
		if (s.at[i] == p.at[0] && same(s.at + i, p.at, p.n))
			return true;
	return false;
}

/* s may go on behind the end of the string, its NUL. Only what needs the end looks for it. */
static bool match(unsigned how, struct span p, struct span s)
{
	if (how == FILTER_FULL || how == FILTER_FRONT)
		return p.n <= s.n && same(s.at, p.at, p.n) && (how == FILTER_FRONT || p.n == s.n || !s.at[p.n]);
	if (how == FILTER_MIDDLE)
		return contains(s, p);
	s.n = text_length(s.at, s.n);
	if (how == FILTER_GLOB)
		return filter_glob(p.at, p.n, s.at, s.n);
	return how == FILTER_END && p.n <= s.n && same(s.at + s.n - p.n, p.at, p.n);
}

static bool operand(const struct run *run, const struct filter_insn *i, struct span *s)
{
	if (i->data > run->bytes || i->length > run->bytes - i->data)
		return false;
	*s = (struct span){ run->program + i->data, i->length };
	return true;
}

static bool string(const struct run *run, const struct filter_insn *i)
{
	struct span pattern, s;

	if (!operand(run, i, &pattern) || !characters(run->r, i, &s))
		return false;
	return match(i->compare, pattern, s) != !!(i->flags & FILTER_NOT);
}

static uint8_t byte_at(struct span s, uint32_t i)
{
	return i < s.n ? s.at[i] : 0;
}

/* One CPU against a mask that does not name exactly one: never equal. */
static bool cpu_in(const struct run *run, const struct filter_insn *i, uint64_t cpu)
{
	struct span mask;

	if (!operand(run, i, &mask))
		return false;
	if (i->compare != FILTER_AND)
		return i->compare == FILTER_NE;
	return cpu < FILTER_CPUS_MAX && byte_at(mask, (uint32_t)cpu / 8) >> cpu % 8 & 1;
}

static bool number_in(const struct run *run, const struct filter_insn *i)
{
	uint64_t cpu;

	return load(run->r, i->offset, i->size, &cpu) && cpu < i->value && cpu_in(run, i, cpu);
}

static bool cpus(const struct run *run, const struct filter_insn *i)
{
	struct span mask, field;
	bool common = false, equal = true;

	if (!operand(run, i, &mask) || !dynamic(run->r, i, &field))
		return false;
	for (uint32_t k = 0; k < mask.n || k < field.n; k++) {
		common |= byte_at(mask, k) & byte_at(field, k);
		equal &= byte_at(mask, k) == byte_at(field, k);
	}
	return i->compare == FILTER_AND ? common : equal == (i->compare == FILTER_EQ);
}

static bool cpu(const struct filter_record *r, const struct filter_insn *i)
{
	return i->compare != FILTER_AND && compare(i->compare, (uint64_t)(int64_t)r->cpu, i->value, 1ull << 63);
}

/* Every test but a number's. Kept apart, so that a filter of numbers does not save registers for it. */
__attribute__((noinline)) static bool test(const struct run *run, const struct filter_insn *from)
{
	const struct filter_insn i = insn_load(from);

	switch (i.test) {
	case FILTER_FUNCTION: return function(run->r, &i);
	case FILTER_STRING:
	case FILTER_DYNAMIC:
	case FILTER_RELATIVE:
	case FILTER_POINTER:
	case FILTER_COMM: return string(run, &i);
	case FILTER_CPU: return cpu(run->r, &i);
	case FILTER_CPU_IN: return cpu_in(run, &i, (uint32_t)run->r->cpu);
	case FILTER_NUMBER_IN: return number_in(run, &i);
	case FILTER_CPUS: return cpus(run, &i);
	default: return false;
	}
}

bool filter_run(const struct filter_program *p, uint32_t bytes, const struct filter_record *r)
{
	struct run run = { (const uint8_t *)p, bytes, r };
	uint32_t n, at = 0;

	if (bytes < sizeof(*p))
		return false;
	n = *(const volatile uint16_t *)&p->n;
	if (n * (uint32_t)sizeof(p->at[0]) > bytes - sizeof(*p))
		return false;
	while (at < n) {
		const struct filter_insn *from = &p->at[at];
		struct head i = head_load(from);
		bool holds = __builtin_expect(i.test == FILTER_NUMBER, 1) ? number(r, i, word_load(from, 2)) : test(&run, from);

		if (holds != !!(i.flags & FILTER_BRANCH))
			at++;
		else if (i.target > at)
			at = i.target;
		else
			return false;
	}
	return at == n;
}
