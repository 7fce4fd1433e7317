/* SPDX-License-Identifier: MIT */
/* The interpreter of fetch programs (fetch.h). It runs in the probed thread (agent/probe.c), with
 * no lock, no libc, no recursion and no vector register; tests run it in the tracer, too. The
 * program lies in shared memory and is not trusted: a bad one ends with 0 (no record), unreadable
 * memory of the traced program gives 0 or "". */
#include "shared/fetch.h"

struct fetch_run_state {
	const struct fetch_context *c;
	uint8_t *record;
	uint32_t fixed, used, room; /* bytes: fixed fields, all so far, at most */
	uint64_t number, kept;
	uint32_t text;            /* offset of the text that TEXT may continue; 0: none */
	uint16_t text_at;         /* the field whose text that is */
	bool fault, comm, kept_fault;
	/* Strings of bounded length that are not read yet: all of them are read at once. */
	unsigned waiting;
	uint32_t waiting_bytes;
	struct fetch_range ranges[FETCH_RANGES_MAX];
	struct { uint16_t at; bool null; } wait[FETCH_RANGES_MAX];
};

static bool size_good(uint8_t size)
{
	/* Bit n of 0x116 is set for the sizes 1, 2, 4 and 8. */
	return size <= 8 && 0x116 >> size & 1;
}

/* Cuts the number to `size` bytes, as FETCH_SIGNED says. */
static uint64_t narrow_number(uint64_t number, const struct fetch_insn *i)
{
	unsigned unused = 64 - 8u * i->size;

	/* Up to the top and down again: the second shift extends by the sign or by zeros. */
	number <<= unused;
	return i->flags & FETCH_SIGNED ? (uint64_t)((int64_t)number >> unused) : number >> unused;
}

static void put_number(struct fetch_run_state *r, uint32_t at, uint64_t number, unsigned size)
{
	uint8_t *to = r->record + at;

	/* Sizes are spelled out so that the compiler emits moves and no call of memcpy, which the
	 * agent does not have. */
	switch (size) {
	case 1: *to = (uint8_t)number; break;
	case 2: __builtin_memcpy(to, &number, 2); break;
	case 4: __builtin_memcpy(to, &number, 4); break;
	default: __builtin_memcpy(to, &number, 8); break;
	}
}

/* The fields are zeroed first: those that no instruction stores stay 0. */
static void zero_record(uint8_t *record, uint32_t from, uint32_t to)
{
	for (; from + 8 <= to; from += 8)
		/* Volatile, else the compiler makes this loop a call of memset. */
		*(volatile uint64_t *)&record[from] = 0;
	for (; from < to; from++)
		*(volatile uint8_t *)&record[from] = 0;
}

/* After a fault the number stays 0 until the next field begins: a chain of pointers ends at the
 * first bad one. */
static void load_number(struct fetch_run_state *r, const struct fetch_insn *i)
{
	uint64_t there = 0;

	r->fault = r->fault || r->c->read(r->c->context, r->number + (uint64_t)i->value, &there,
					  i->size) != i->size;
	r->number = r->fault ? 0 : narrow_number(there, i);
}

/* Ends the n bytes behind the record as a string: at its first NUL, or by one that replaces the
 * last byte if there is no room for another. Returns the length with the NUL. */
static uint32_t end_string(const struct fetch_run_state *r, uint32_t n, uint32_t room)
{
	uint8_t *text = r->record + r->used;
	uint32_t length = 0;

	while (length < n && text[length])
		length++;
	if (length == n && n == room)
		length--;
	text[length] = 0;
	return length + 1;
}

/* Where the string of n bytes stands: behind the record, if it is there. Where the length is
 * bounded, a pointer that is 0 is told from one that leads nowhere. */
static uint32_t string_offset(const struct fetch_run_state *r, const struct fetch_insn *i,
			      uint32_t n)
{
	return !n && i->count && !r->number && !r->fault ? 0 : r->used;
}

/* A string without a NUL of its own. An empty one is there wherever it stands. */
static void bounded_string(struct fetch_run_state *r, const struct fetch_insn *i, uint32_t room)
{
	uint64_t from = r->number + (uint64_t)i->value;
	uint32_t want = r->kept < room - 1 ? (uint32_t)r->kept : room - 1, n = 0;

	if (want)
		n = r->c->read(r->c->context, from, r->record + r->used, want);
	if (n > want || (want && !n)) {
		put_number(r, i->at, string_offset(r, i, 0), 4);
		return;
	}
	r->record[r->used + n] = 0;
	n = end_string(r, n + 1, room);
	put_number(r, i->at, n << 16 | r->used, 4);
	r->used += n;
}

/* Reads the strings that wait, each behind the record with all the bytes that it may have, and
 * moves them to where they stand one behind the other. */
__attribute__((noinline)) static void read_waiting(struct fetch_run_state *r)
{
	unsigned waiting = r->waiting;

	r->waiting = r->waiting_bytes = 0;
	r->c->read_ranges(r->c->context, r->ranges, waiting);
	for (unsigned k = 0; k < waiting; k++) {
		const struct fetch_range *p = &r->ranges[k];
		volatile uint8_t *to = r->record + r->used;
		uint32_t n = p->got <= p->n ? p->got : 0;

		for (uint32_t b = 0; b < n && to != p->to; b++)
			to[b] = p->to[b];
		n = n ? end_string(r, n, p->n) : 0;
		put_number(r, r->wait[k].at, n << 16 | (!n && r->wait[k].null ? 0 : r->used), 4);
		r->used += n;
	}
}

/* Lets the string wait for others. False: it has no bound of its own, or there is no room for all
 * that might come. */
static bool let_wait(struct fetch_run_state *r, const struct fetch_insn *i)
{
	uint32_t at = r->used + r->waiting_bytes;

	if (!r->c->read_ranges || r->comm || r->fault || !i->count || i->flags & FETCH_BOUNDED ||
	    r->waiting == FETCH_RANGES_MAX || r->room - at < i->count)
		return false;
	r->ranges[r->waiting] = (struct fetch_range){ r->number + (uint64_t)i->value,
						      r->record + at, i->count, 0 };
	r->wait[r->waiting].at = i->at;
	r->wait[r->waiting].null = !r->number;
	r->waiting++;
	r->waiting_bytes += i->count;
	return true;
}

/* Out of line, so that programs without strings pay neither for its registers nor for comm[]. */
__attribute__((noinline)) static void string(struct fetch_run_state *r, const struct fetch_insn *i)
{
	char comm[FETCH_COMM_BYTES];
	uint32_t n = 0, room;

	if (let_wait(r, i))
		return;
	if (r->waiting)
		read_waiting(r);
	room = r->room - r->used;
	if (i->count && i->count < room)
		room = i->count;
	if (i->flags & FETCH_BOUNDED && !r->comm && !r->fault && !r->kept_fault && room) {
		bounded_string(r, i, room);
		return;
	}
	if (r->comm && r->c->comm) {
		r->c->comm(r->c->context, comm);
		for (; n < FETCH_COMM_BYTES && n < room; n++)
			r->record[r->used + n] = (uint8_t)comm[n];
	} else if (!r->comm && !r->fault && room) {
		n = r->c->read(r->c->context, r->number + (uint64_t)i->value, r->record + r->used,
			       room);
	}
	/* A read that returned more than its room is not believed; the field is then empty, and
	 * points where the next string begins. */
	n = n && n <= room ? end_string(r, n, room) : 0;
	put_number(r, i->at, n << 16 | string_offset(r, i, n), 4);
	r->used += n;
}

/* Begins a field: a fault of the one before is over. */
static void begin_field(struct fetch_run_state *r, uint64_t number)
{
	r->number = number;
	r->fault = r->comm = false;
}

/* The first 8 bytes are the common fields, which the agent fills itself. */
static bool is_within(const struct fetch_run_state *r, const struct fetch_insn *i, unsigned size)
{
	return i->at >= 8 && i->at + size <= r->fixed;
}

/* Writes a text of the program's own, up to 8 bytes at a time: the NUL moves on with each. Without
 * room it is cut. */
static bool put_text(struct fetch_run_state *r, const struct fetch_insn *i)
{
	uint32_t at = r->used;

	if (i->size > 8 || !is_within(r, i, 4))
		return false;
	if (r->text && r->text_at == i->at)
		at--; /* onto the NUL */
	else
		r->text = at;
	r->text_at = i->at;
	for (unsigned n = 0; n < i->size && at + 1 < r->room; n++)
		r->record[at++] = (uint8_t)((uint64_t)i->value >> 8 * n);
	if (at < r->room)
		r->record[at++] = 0;
	put_number(r, i->at, (uint64_t)(at - r->text) << 16 | r->text, 4);
	if (at == r->text)
		r->text = 0; /* no room even for the NUL */
	r->used = at;
	return true;
}

static bool array_good(const struct fetch_run_state *r, const struct fetch_insn *i)
{
	return size_good(i->size) && i->count && i->count <= FETCH_COUNT_MAX &&
	       is_within(r, i, (unsigned)i->size * i->count);
}

/* Elements behind unreadable memory stay 0. */
static void load_array(struct fetch_run_state *r, const struct fetch_insn *i)
{
	if (!r->fault)
		r->c->read(r->c->context, r->number + (uint64_t)i->value, r->record + i->at,
			   (uint32_t)i->size * i->count);
}

/* Cuts bits out of each element that was stored. */
static void cut_bits(struct fetch_run_state *r, const struct fetch_insn *i)
{
	unsigned shift = (uint64_t)i->value & 63, bits = (uint64_t)i->value >> 8 & 127;
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	for (unsigned n = 0; n < i->count; n++) {
		uint32_t at = i->at + n * i->size;
		uint64_t number = 0;

		for (unsigned k = i->size; k--;)
			number = number << 8 | r->record[at + k];
		put_number(r, at, number >> shift & mask, i->size);
	}
}

/* Stores the number; false: the program is malformed. */
static bool store_number(struct fetch_run_state *r, const struct fetch_insn *i)
{
	if (!size_good(i->size) || !is_within(r, i, i->size))
		return false;
	put_number(r, i->at, r->number, i->size);
	return true;
}

/* Copies a range of memory whole, or not at all. */
static bool load_block(struct fetch_run_state *r, const struct fetch_insn *i)
{
	if (!i->count || i->count > FETCH_BLOCK_MAX || !is_within(r, i, i->count + 1u))
		return false;
	if (!r->fault && r->c->read(r->c->context, r->number + (uint64_t)i->value,
				    r->record + i->at, i->count) == i->count)
		r->record[i->at + i->count] = 1;
	else
		zero_record(r->record, i->at, i->at + i->count);
	return true;
}

static bool recall_record(struct fetch_run_state *r, const struct fetch_insn *i)
{
	uint64_t number;

	if (!is_within(r, i, 8))
		return false;
	__builtin_memcpy(&number, r->record + i->at, 8);
	begin_field(r, number);
	return true;
}

/* Executes an instruction that writes several elements, or is rare. Out of line, as string(). */
__attribute__((noinline)) static bool run_long_step(struct fetch_run_state *r,
						    const struct fetch_insn *i)
{
	/* A text stands behind the strings, and a record's field may be one. */
	if (r->waiting)
		read_waiting(r);
	if (i->op == FETCH_TEXT)
		return put_text(r, i);
	if (i->op == FETCH_BLOCK)
		return load_block(r, i);
	if (i->op == FETCH_RECORD)
		return recall_record(r, i);
	if (i->op == FETCH_ENTRY) {
		begin_field(r, r->c->entry && i->at < FETCH_ENTRY_WORDS ? r->c->entry[i->at] : 0);
		return true;
	}
	if ((i->op != FETCH_ARRAY && i->op != FETCH_BITS) || !array_good(r, i))
		return false;
	if (i->op == FETCH_ARRAY)
		load_array(r, i);
	else
		cut_bits(r, i);
	return true;
}

/* Executes one instruction; false: the program is malformed. Register numbers wrap, so none leads
 * out of the array. */
static bool run_step(struct fetch_run_state *r, const struct fetch_insn *i)
{
	const uint64_t value = (uint64_t)i->value;

	switch (i->op) {
	case FETCH_IMM: begin_field(r, value); return true;
	case FETCH_REG: begin_field(r, r->c->regs[i->reg % FETCH_REGS] + value); return true;
	case FETCH_FLOAT:
		begin_field(r, r->c->floats ? r->c->floats[2 * (i->reg % FETCH_FLOATS) +
							   (i->flags & FETCH_UPPER)] : 0);
		return true;
	case FETCH_IP: begin_field(r, r->c->ip + value); return true;
	case FETCH_COMM: begin_field(r, 0); r->comm = true; return true;
	case FETCH_CALLER:
		begin_field(r, r->c->caller ? r->c->caller(r->c->context) : 0);
		return true;
	case FETCH_KEEP:
		r->kept = r->number + value;
		r->kept_fault = r->fault;
		return true;
	case FETCH_RECALL:
		begin_field(r, r->kept_fault ? 0 : r->kept);
		r->fault = r->kept_fault;
		return true;
	case FETCH_ADD_REG:
		r->number += r->c->regs[i->reg % FETCH_REGS] << (i->size & 3);
		return true;
	case FETCH_BASE: r->number += r->c->base; return true;
	case FETCH_SHIFT: r->number >>= value & 63; return true;
	case FETCH_LOAD:
		if (size_good(i->size))
			load_number(r, i);
		return size_good(i->size);
	case FETCH_NARROW:
		r->number = size_good(i->size) ? narrow_number(r->number, i) : 0;
		return size_good(i->size);
	case FETCH_STORE: return store_number(r, i);
	case FETCH_STRING:
		if (!is_within(r, i, 4))
			return false;
		string(r, i);
		r->text = 0;
		return true;
	default:
		return run_long_step(r, i);
	}
}

/* Loads an instruction once, as two words, so that the one that was checked is the one that is
 * executed. */
static struct fetch_insn insn_load(const struct fetch_insn *from)
{
	const volatile uint64_t *words = (const volatile uint64_t *)from;
	uint64_t a = words[0], b = words[1];

	return (struct fetch_insn){ (uint8_t)a,		(uint8_t)(a >> 8),   (uint8_t)(a >> 16),
				    (uint8_t)(a >> 24), (uint16_t)(a >> 32), (uint16_t)(a >> 48),
				    (int64_t)b };
}

/* Sizes that are read of a program once, and checked before they are used. */
struct fetch_size { uint32_t insns, fixed; };

/* False: the program is malformed, or the record has no room for its fixed fields. */
static inline bool read_size(struct fetch_size *s, const struct fetch_program *p, uint32_t bytes,
			     uint32_t room)
{
	if (bytes < sizeof(*p))
		return false;
	s->insns = *(const volatile uint16_t *)&p->n;
	s->fixed = *(const volatile uint16_t *)&p->fixed;
	return s->insns * (uint32_t)sizeof(p->code[0]) <= bytes - sizeof(*p) && s->fixed >= 8 &&
	       s->fixed <= room;
}

/* The low bytes of a STORE of so many bytes: op, size. */
#define STORE_OF(size) (FETCH_STORE | (size) << 8)

/* The most frequent pair of instructions in one step, which takes a fifth of the time of two: a
 * register or the instruction's address, and where it is stored; with a context also what a return
 * leads to, and what its call's entry has kept. False: the next two are no such pair, or it is
 * malformed; then run_step() looks at them anew. Few instructions matter here: each number of each
 * probe's hit takes this way. */
static inline __attribute__((always_inline)) bool
store_register(uint8_t *record, uint32_t fixed, const uint64_t *regs, uint64_t ip,
	       const struct fetch_context *c, const struct fetch_insn *from, uint64_t *number)
{
	const volatile uint64_t *words = (const volatile uint64_t *)from;
	uint64_t load = words[0], store = words[2], value;
	uint32_t at = (uint16_t)(store >> 32), reg = (uint8_t)(load >> 16);
	uint32_t kept = (uint16_t)(load >> 32);

	if (__builtin_expect((uint8_t)load == FETCH_REG && reg < FETCH_REGS, 1))
		value = regs[reg] + words[1];
	else if ((uint8_t)load == FETCH_IP)
		value = ip + words[1];
	else if (c && (uint8_t)load == FETCH_CALLER && c->caller)
		value = c->caller(c->context);
	else if (c && (uint8_t)load == FETCH_ENTRY && c->entry && kept < FETCH_ENTRY_WORDS)
		value = c->entry[kept];
	else
		return false;
	*number = value;
	if (at < 8)
		return false;
	if ((uint16_t)store == STORE_OF(8) && at + 8 <= fixed)
		__builtin_memcpy(record + at, &value, 8);
	else if ((uint16_t)store == STORE_OF(4) && at + 4 <= fixed)
		__builtin_memcpy(record + at, &value, 4);
	else
		return false;
	return true;
}

uint32_t fetch_registers(const struct fetch_program *p, uint32_t bytes, const uint64_t *regs,
			 uint64_t ip, uint8_t *record)
{
	const struct fetch_insn *i = p->code, *end;
	struct fetch_size s;
	uint64_t number;
	uint32_t whole;

	if (!read_size(&s, p, bytes, FETCH_RECORD_MAX) || s.insns % 2)
		return 0;
	whole = (s.fixed + 7) & ~7u;
	zero_record(record, 8, whole);
	for (end = i + s.insns; i != end; i += 2)
		if (!store_register(record, s.fixed, regs, ip, 0, i, &number))
			return 0;
	return whole;
}

/* Assigned one by one: gcc makes `rep stos` of an initializer's zeros, which alone takes longer
 * than two fields. */
static inline void begin_run(struct fetch_run_state *r, const struct fetch_context *c,
			     uint8_t *record, uint32_t fixed)
{
	r->c = c;
	r->record = record;
	r->fixed = r->used = fixed;
	r->number = r->kept = 0;
	r->text = r->text_at = 0;
	r->fault = r->comm = r->kept_fault = false;
	r->waiting = r->waiting_bytes = 0;
}

uint32_t fetch_run(const struct fetch_program *p, uint32_t bytes, const struct fetch_context *c,
		   uint8_t *record, uint32_t room)
{
	struct fetch_run_state r;
	struct fetch_size s;
	uint64_t number;

	r.room = room < FETCH_RECORD_MAX ? room : FETCH_RECORD_MAX;
	if (!read_size(&s, p, bytes, r.room))
		return 0;
	begin_run(&r, c, record, s.fixed);
	zero_record(record, 8, s.fixed);
	for (uint32_t i = 0; i < s.insns; i++) {
		struct fetch_insn insn;

		if (i + 1 < s.insns &&
		    store_register(record, s.fixed, c->regs, c->ip, c, &p->code[i], &number)) {
			begin_field(&r, number);
			i++;
			continue;
		}
		insn = insn_load(&p->code[i]);
		if (!run_step(&r, &insn))
			return 0;
	}
	if (r.waiting)
		read_waiting(&r);
	return r.used;
}
