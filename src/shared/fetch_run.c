/* SPDX-License-Identifier: MIT */
/* Runs fetch programs: see fetch.h. Freestanding, and without recursion or vector registers. */
#include "shared/fetch.h"

struct run {
	const struct fetch_context *c;
	uint8_t *record;
	uint32_t fixed, used, room; /* bytes: fixed fields, all so far, at most */
	uint64_t number;
	bool fault, comm;
};

static bool size_good(uint8_t size)
{
	return size <= 8 && 0x116 >> size & 1;
}

static uint64_t narrow(uint64_t number, const struct fetch_insn *i)
{
	unsigned unused = 64 - 8u * i->size;

	number <<= unused;
	return i->flags & FETCH_SIGNED ? (uint64_t)((int64_t)number >> unused) : number >> unused;
}

static void put(struct run *r, uint32_t at, uint64_t number, unsigned size)
{
	uint8_t *to = r->record + at;

	switch (size) {
	case 1: *to = (uint8_t)number; break;
	case 2: __builtin_memcpy(to, &number, 2); break;
	case 4: __builtin_memcpy(to, &number, 4); break;
	default: __builtin_memcpy(to, &number, 8); break;
	}
}

static void zero(uint8_t *record, uint32_t from, uint32_t to)
{
	for (; from + 8 <= to; from += 8)
		*(volatile uint64_t *)&record[from] = 0; /* or the compiler calls memset */
	for (; from < to; from++)
		*(volatile uint8_t *)&record[from] = 0;
}

static void load(struct run *r, const struct fetch_insn *i)
{
	uint64_t there = 0;

	r->fault = r->fault || r->c->read(r->c->context, r->number + (uint64_t)i->value, &there, i->size) != i->size;
	r->number = r->fault ? 0 : narrow(there, i);
}

/* n bytes stand behind the record; cut at their NUL, which is put there if it is missing. */
static uint32_t end_string(const struct run *r, uint32_t n)
{
	uint8_t *text = r->record + r->used;
	uint32_t length = 0;

	while (length < n && text[length])
		length++;
	if (length == n && n == r->room - r->used)
		length--;
	text[length] = 0;
	return length + 1;
}

__attribute__((noinline)) static void string(struct run *r, const struct fetch_insn *i)
{
	char comm[FETCH_COMM_BYTES];
	uint32_t n = 0, room = r->room - r->used;

	if (r->comm && r->c->comm) {
		r->c->comm(r->c->context, comm);
		for (; n < FETCH_COMM_BYTES && n < room; n++)
			r->record[r->used + n] = (uint8_t)comm[n];
	} else if (!r->comm && !r->fault && room) {
		n = r->c->read(r->c->context, r->number + (uint64_t)i->value, r->record + r->used, room);
	}
	n = n && n <= room ? end_string(r, n) : 0;
	put(r, i->at, n << 16 | r->used, 4);
	r->used += n;
}

static void begin(struct run *r, uint64_t number)
{
	r->number = number;
	r->fault = r->comm = false;
}

static bool is_within(const struct run *r, const struct fetch_insn *i, unsigned size)
{
	return i->at >= 8 && i->at + size <= r->fixed;
}

static bool store(struct run *r, const struct fetch_insn *i)
{
	if (!size_good(i->size) || !is_within(r, i, i->size))
		return false;
	put(r, i->at, r->number, i->size);
	return true;
}

static bool step(struct run *r, const struct fetch_insn *i)
{
	const uint64_t value = (uint64_t)i->value;

	switch (i->op) {
	case FETCH_IMM: begin(r, value); return true;
	case FETCH_REG: begin(r, r->c->regs[i->reg % FETCH_REGS] + value); return true;
	case FETCH_IP: begin(r, r->c->ip + value); return true;
	case FETCH_COMM: begin(r, 0); r->comm = true; return true;
	case FETCH_ADD_REG: r->number += r->c->regs[i->reg % FETCH_REGS] << (i->size & 3); return true;
	case FETCH_BASE: r->number += r->c->base; return true;
	case FETCH_SHIFT: r->number >>= value & 63; return true;
	case FETCH_LOAD:
		if (size_good(i->size))
			load(r, i);
		return size_good(i->size);
	case FETCH_NARROW:
		r->number = size_good(i->size) ? narrow(r->number, i) : 0;
		return size_good(i->size);
	case FETCH_STORE: return store(r, i);
	case FETCH_STRING:
		if (!is_within(r, i, 4))
			return false;
		string(r, i);
		return true;
	default:
		return false;
	}
}

/* Once, so that it does not change under our eyes. */
static struct fetch_insn insn_load(const struct fetch_insn *from)
{
	const volatile uint64_t *words = (const volatile uint64_t *)from;
	uint64_t a = words[0], b = words[1];

	return (struct fetch_insn){ (uint8_t)a, (uint8_t)(a >> 8), (uint8_t)(a >> 16), (uint8_t)(a >> 24),
				    (uint16_t)(a >> 32), 0, (int64_t)b };
}

uint32_t fetch_run(const struct fetch_program *p, uint32_t bytes, const struct fetch_context *c, uint8_t *record, uint32_t room)
{
	struct run r = { .c = c, .record = record, .room = room < FETCH_RECORD_MAX ? room : FETCH_RECORD_MAX };
	uint32_t n;

	if (bytes < sizeof(*p))
		return 0;
	n = *(const volatile uint16_t *)&p->n;
	r.used = r.fixed = *(const volatile uint16_t *)&p->fixed;
	if (n * (uint32_t)sizeof(p->code[0]) > bytes - sizeof(*p) || r.fixed < 8 || r.fixed > r.room)
		return 0;
	zero(record, 8, r.fixed);
	for (uint32_t i = 0; i < n; i++) {
		struct fetch_insn insn = insn_load(&p->code[i]);

		if (!step(&r, &insn))
			return 0;
	}
	return r.used;
}
