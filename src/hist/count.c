/* SPDX-License-Identifier: MIT */
/* From a record to its key and values. Called for every record of an event with a histogram, under
 * the lock of whoever looks at records. Records are the program's bytes: a field that does not lie
 * in the record is 0 or empty. */
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

static uint64_t read_time(const struct hist_command *c, const struct hist_record *r)
{
	return r->time ? r->time(r->context, c->clock) : 0;
}

/* The smallest n with 2^n >= value. */
static uint64_t log2_above(uint64_t value)
{
	return value < 2 ? 0 : 64 - (uint64_t)__builtin_clzll(value - 1);
}

static uint64_t plain_word(const struct hist_command *c, const struct hist_field *f,
			   const struct hist_record *r)
{
	if (f->source == HIST_CPU)
		return (uint64_t)(int64_t)r->cpu;
	if (f->source == HIST_TIMESTAMP)
		return read_time(c, r);
	return f->source == HIST_NUMBER ? read_number(r, f->field) : 0;
}

/* The word that a field counts under, or that is summed. */
static uint64_t read_word(const struct hist_command *c, const struct hist_field *f,
			  const struct hist_record *r)
{
	uint64_t value = plain_word(c, f, r);

	switch (f->modifier) {
	case HIST_LOG2:
		return log2_above(value);
	case HIST_BUCKETS:
		return value - value % f->buckets;
	case HIST_USECS:
		return f->source == HIST_TIMESTAMP ? value / 1000 : value;
	case HIST_SYM:
	case HIST_SYM_OFFSET:
		/* So that one function is one row in all processes. */
		return r->place ? r->place(r->context, value) : value;
	default:
		return value;
	}
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

static struct hist_string find_string(const struct hist_record *r, const struct hist_field *f)
{
	if (f->kind == EVENT_COMM)
		return (struct hist_string){ (const uint8_t *)r->comm, strlen(r->comm) };
	if (f->kind == EVENT_STRING)
		return find_fixed(r, f->field);
	return find_dynamic(r, f->field, f->kind == EVENT_RELATIVE);
}

/* Up to its NUL, and as much as a key takes. */
static void add_string(struct hist_key *k, struct hist_string s)
{
	size_t n = 0;

	while (n < s.n && n < HIST_STRING_MAX - 1 && s.at[n])
		n++;
	k->words[k->n++] = n;
	if (n)
		k->words[k->n + hist_string_words(n) - 1] = 0; /* what is behind the string */
	memcpy(&k->words[k->n], s.at ? (const void *)s.at : "", n);
	k->n += hist_string_words(n);
}

/* Frames are one in all processes that map the file, as functions are. */
static void add_stack(struct hist_key *k, const struct hist_record *r)
{
	uint64_t *frames = &k->words[k->n + 1];
	size_t n = r->stack ? r->stack(r->context, frames, HIST_FRAMES) : 0;

	for (size_t i = 0; i < n && r->place; i++)
		frames[i] = r->place(r->context, frames[i]);
	k->words[k->n] = n;
	k->n += 1 + n;
}

void hist_read_record(const struct hist_command *c, const struct hist_record *r,
		      struct hist_key *k, uint64_t *values)
{
	k->n = 0;
	for (size_t i = 0; i < c->n_keys; i++) {
		const struct hist_field *f = &c->keys[i];

		if (f->source == HIST_STRING)
			add_string(k, find_string(r, f));
		else if (f->source == HIST_STACK)
			add_stack(k, r);
		else
			k->words[k->n++] = read_word(c, f, r);
	}
	for (size_t i = 0; i < c->n_values; i++)
		values[i] = read_word(c, &c->values[i], r);
}
