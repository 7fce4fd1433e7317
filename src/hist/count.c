/* SPDX-License-Identifier: MIT */
/* From a record to its key, values and variables. act.c calls it for every record of an event with
 * a histogram, under the lock of whoever looks at records. Records are the program's bytes: a field
 * that does not lie in the record counts as 0 or as an empty string; nothing fails. */
#include <string.h>

#include "hist/internal.h"

/* Bytes of fixed fields, sign-extended as in the kernel. */
static uint64_t read_number(const struct hist_record *r, const struct event_field *f)
{
	uint64_t value = 0;
	unsigned unused = 64 - 8 * f->size;

	if ((uint32_t)f->offset + f->size > r->size)
		return 0;
	memcpy(&value, r->bytes + f->offset, f->size);
	return f->is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* A reader of records that knows no time gives no function for it: then all times are 0. */
static uint64_t read_time(const struct hist_command *c, const struct hist_record *r)
{
	return r->time ? r->time(r->context, c->clock) : 0;
}

/* References are resolved after the key is known: in a key's expression they are 0. */
static uint64_t read_reference(const struct hist_reading *g, const struct hist_field *f)
{
	return g->values ? g->values[f->reference].number : 0;
}

/* The operators with one operand here; those with two compute as constants do. */
static uint64_t read_expression(const struct hist_reading *g, const struct hist_field *f)
{
	uint64_t a = hist_read_number(g, f->operands[0]),
		 b = f->operands[1] ? hist_read_number(g, f->operands[1]) : 0;

	if (f->operator == '(')
		return a;
	return f->operator == 'n' ? 0 - a : hist_operate(f->operator, a, b);
}

/* Returns the value without its modifier. The hit count is 1, because each record counts once. Sums
 * and products wrap around, as in the kernel. */
static uint64_t plain_word(const struct hist_reading *g, const struct hist_field *f)
{
	switch (f->source) {
	case HIST_CPU:
		return (uint64_t)(int64_t)g->r->cpu;
	case HIST_TIMESTAMP:
		return read_time(g->c, g->r);
	case HIST_NUMBER:
		return read_number(g->r, f->field);
	case HIST_CONSTANT:
		return f->constant;
	case HIST_HITCOUNT:
		return 1;
	case HIST_EXPRESSION:
		return read_expression(g, f);
	case HIST_REFERENCE:
		return read_reference(g, f);
	default:
		return 0;
	}
}

/* Ranges are rounded here, when the key is made, so that one entry of the table is one row. */
uint64_t hist_read_number(const struct hist_reading *g, const struct hist_field *f)
{
	const struct hist_modifier_row *row = hist_modifier_row(f->modifier);
	const struct hist_record *r = g->r;
	uint64_t value = plain_word(g, f);

	/* Processes map a file at different addresses: a function is one row in all of them. */
	if ((f->modifier == HIST_SYM || f->modifier == HIST_SYM_OFFSET) && r->resolve)
		return r->resolve(r->context, value);
	return row->key ? row->key(f, value) : value;
}

/* --- strings ---------------------------------------------------------------------------- */

/* Where a string lies: at NULL, it does not. */
struct hist_string {
	const uint8_t *at;
	size_t n;
};

/* A __data_loc or __rel_loc: 4 bytes, length << 16 | place. */
static struct hist_string find_dynamic(const struct hist_record *r, const struct event_field *f,
				 bool relative)
{
	uint32_t word, place, length;

	if ((uint32_t)f->offset + sizeof(word) > r->size)
		return (struct hist_string){ NULL, 0 };
	memcpy(&word, r->bytes + f->offset, sizeof(word));
	place = (word & 0xffff) + (relative ? f->offset + (uint32_t)sizeof(word) : 0);
	length = word >> 16;
	if (place > r->size || length > r->size - place)
		return (struct hist_string){ NULL, 0 };
	return (struct hist_string){ r->bytes + place, length };
}

/* size 0: to the record's end. */
static struct hist_string find_fixed(const struct hist_record *r, const struct event_field *f)
{
	size_t n;

	if (f->offset > r->size)
		return (struct hist_string){ NULL, 0 };
	n = r->size - f->offset;
	return (struct hist_string){ r->bytes + f->offset, f->size && f->size < n ? f->size : n };
}

/* The thread's name comes from the tracer's list of threads, not from the record's bytes. */
static struct hist_string find_string(const struct hist_record *r, const struct hist_field *f)
{
	if (f->kind == EVENT_COMM || f->modifier == HIST_EXECNAME)
		return (struct hist_string){ (const uint8_t *)r->comm, strlen(r->comm) };
	if (f->kind == EVENT_STRING)
		return find_fixed(r, f->field);
	return find_dynamic(r, f->field, f->kind == EVENT_RELATIVE);
}

/* Bytes up to the NUL, and as many as a key takes. */
static size_t string_length(struct hist_string s)
{
	size_t n = 0;

	while (n < s.n && n < HIST_STRING_MAX - 1 && s.at[n])
		n++;
	return n;
}

/* Appends the length and the bytes, padded with zeros: equal strings are equal words. There is
 * room, since HIST_KEY_WORDS counts a string of full length for each key. */
static void add_string(struct hist_key *k, struct hist_string s)
{
	size_t n = string_length(s);

	k->words[k->n++] = n;
	if (n)
		k->words[k->n + hist_string_words(n) - 1] = 0; /* what is behind the string */
	memcpy(&k->words[k->n], s.at ? (const void *)s.at : "", n);
	k->n += hist_string_words(n);
}

/* The stack that a field of the record holds; its frames were translated when it was made. */
static size_t read_kept_stack(const struct hist_record *r, const struct hist_field *f,
			      uint64_t *frames)
{
	struct hist_string s = find_dynamic(r, f->field, false);
	size_t n = s.at ? s.n / sizeof(*frames) : 0;

	if (n > HIST_FRAMES)
		n = HIST_FRAMES;
	if (n)
		memcpy(frames, s.at, n * sizeof(*frames));
	return n;
}

/* Frames are one in all processes that map the file, as functions are. */
static size_t read_stack(const struct hist_record *r, const struct hist_field *f, uint64_t *frames)
{
	size_t n;

	if (hist_field_is_kept_stack(f))
		return read_kept_stack(r, f, frames);
	n = r->stack ? r->stack(r->context, frames, HIST_FRAMES) : 0;
	for (size_t i = 0; i < n && r->resolve; i++)
		frames[i] = r->resolve(r->context, frames[i]);
	return n;
}

/* Appends the number of frames and the frames, which are read in place. */
static void add_stack(struct hist_key *k, const struct hist_record *r, const struct hist_field *f)
{
	size_t n = read_stack(r, f, &k->words[k->n + 1]);

	k->words[k->n] = n;
	k->n += 1 + n;
}

/* ends[] says where each key's words end: strings and stacks have as many as they need. */
void hist_read_key(const struct hist_reading *g, struct hist_key *k)
{
	k->n = 0;
	for (size_t i = 0; i < g->c->n_keys; i++) {
		const struct hist_field *f = &g->c->keys[i];

		if (f->shape == HIST_IS_STRING)
			add_string(k, find_string(g->r, f));
		else if (f->shape == HIST_IS_STACK)
			add_stack(k, g->r, f);
		else
			k->words[k->n++] = hist_read_number(g, f);
		k->ends[i] = k->n;
	}
}

/* --- variables -------------------------------------------------------------------------- */

void hist_read_slot(const struct hist_reading *g, const struct hist_field *f,
		    struct hist_slot *slot)
{
	uint64_t frames[HIST_FRAMES];
	struct hist_string s;

	if (hist_field_is_number(f)) {
		slot->number = hist_read_number(g, f);
		slot->set = true;
	} else if (f->source == HIST_REFERENCE) {
		const struct hist_slot *from = &g->values[f->reference];

		hist_slot_set(slot, from->bytes, from->n);
	} else if (f->shape == HIST_IS_STACK) {
		hist_slot_set(slot, frames, read_stack(g->r, f, frames) * sizeof(*frames));
	} else {
		/* The bytes are the record's: the slot gets a copy, which outlives it. */
		s = find_string(g->r, f);
		hist_slot_set(slot, s.at, string_length(s));
	}
}
