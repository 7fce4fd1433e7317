/* SPDX-License-Identifier: MIT */
/* Adds a record to a histogram's entry: sums, variables, and the actions that follow. Called for
 * every record that has a key, under the lock of whoever looks at records. Strings come from
 * programs: the longest that a synthetic event's record has room for are kept. Nothing fails: an
 * action whose variables are not set is not carried out. */
#include <string.h>

#include "event/catalogue.h"
#include "event/synthetic.h"
#include "hist/internal.h"
#include "shared/record.h"

#define PAYLOAD_BYTES (8 * RECORD_PAYLOAD_MAX)

/* Returns slot i of the entry. Slots are made, unset, when they are first used: an entry costs no
 * more than what its records set. */
static struct hist_slot *slot_at(struct hist_entry *e, size_t i)
{
	while (e->slots.n <= i)
		memset(vec_add(&e->slots), 0, sizeof(e->slots.at[0]));
	return &e->slots.at[i];
}

/* --- references ------------------------------------------------------------------------- */

/* The entry that a reference reads; NULL: there is none. */
static struct hist_entry *entry_of(const struct hist_command *c, const struct hist_reference *ref,
				   const struct hist_key *k)
{
	size_t n = ref->n_keys < c->n_keys ? k->ends[ref->n_keys - 1] : k->n;

	return hist_table_find(&ref->shared->table, k->words, n);
}

/* Returns the slot of the other histogram's entry; NULL: there is none. A histogram with fewer keys
 * is asked for the first ones of these, as in the kernel. */
static struct hist_slot *find_referred(const struct hist_command *c,
				       const struct hist_reference *ref, const struct hist_key *k)
{
	struct hist_entry *e = entry_of(c, ref, k);
	size_t i = ref->variable;

	if (!e)
		return NULL;
	/* A variable that no record of the other event has set yet has no slot. */
	if (!ref->hidden)
		return i < e->slots.n ? &e->slots.at[i] : NULL;
	for (i = 0; i < ref->shared->extras.n; i++) {
		const struct hist_extra *x = &ref->shared->extras.at[i];

		if (x->event == ref->event && x->field.field == ref->field.field &&
		    x->field.source == ref->field.source)
			return i < e->extras.n ? &e->extras.at[i] : NULL;
	}
	return NULL;
}

/* Reads all references for the key. False: one of them is not set; those before it are read, and
 * taken away if they are to be read once, as in the kernel. */
static bool resolve(const struct hist_command *c, const struct hist_key *k,
		    struct hist_slot *values)
{
	for (size_t i = 0; i < c->references.n; i++) {
		struct hist_slot *slot = find_referred(c, &c->references.at[i], k);

		if (!slot || !slot->set)
			return false;
		values[i] = *slot;
		if (c->references.at[i].once)
			slot->set = false;
	}
	return true;
}

/* A nested record that has been matched gives way to the one around it. Done last: what was read of
 * it is lent. */
static void end_nested(const struct hist_command *c, const struct hist_key *k)
{
	for (size_t i = 0; i < c->references.n; i++) {
		struct hist_entry *e;
		bool ended = !c->references.at[i].nested || !c->references.at[i].once;

		/* Several variables of one histogram end together. */
		for (size_t j = 0; j < i && !ended; j++)
			ended = c->references.at[j].shared == c->references.at[i].shared &&
				c->references.at[j].once;
		e = ended ? NULL : entry_of(c, &c->references.at[i], k);
		if (e)
			hist_entry_pop(e);
	}
}

/* --- actions ---------------------------------------------------------------------------- */

/* A synthetic event's record as it is filled. at: from common_type on; end: of what is filled. */
struct hist_filling {
	uint8_t *at;
	uint32_t end;
};

/* Returns the value of an action's param. The slots of variables and references are lent; a field
 * of the record is read into *own, which the caller frees. */
static struct hist_slot read_param(const struct hist_reading *g, struct hist_entry *e,
				   const struct hist_field *f, struct hist_slot *own)
{
	if (f->source == HIST_VARIABLE)
		return *slot_at(e, f->reference);
	if (f->source == HIST_REFERENCE)
		return g->values[f->reference];
	hist_read_slot(g, f, own);
	return *own;
}

/* Bytes without a length of their own stand behind the fixed fields. */
static void put_dynamic(struct hist_filling *to, const struct event_field *f,
			const struct hist_slot *v)
{
	uint32_t room = EVENT_COMMON_BYTES + PAYLOAD_BYTES - to->end, n = v->n, data_loc;

	if (synthetic_is_string(f))
		/* The length counts the NUL, as in the kernel's __data_loc. */
		n++;
	/* Strings are cut to the room that is left, stacks to whole addresses in it. */
	if (n > room)
		n = synthetic_is_string(f) ? room : room / 8 * 8;
	data_loc = n << 16 | to->end;
	memcpy(to->at + f->offset, &data_loc, sizeof(data_loc));
	if (v->n)
		memcpy(to->at + to->end, v->bytes, n < v->n ? n : v->n);
	/* A string that was cut ends with a NUL all the same. */
	if (n && synthetic_is_string(f))
		to->at[to->end + n - 1] = 0;
	to->end += n;
}

/* Writes a value to its field. The record was zeroed: a string that is shorter than its field is
 * padded. Numbers keep their low bytes. */
static void put_field(struct hist_filling *to, const struct event_field *f,
		      const struct hist_slot *v)
{
	if (synthetic_is_dynamic(f)) {
		put_dynamic(to, f, v);
	} else if (synthetic_is_string(f)) {
		uint32_t n = v->n < f->size ? v->n : f->size - 1u;

		if (v->bytes)
			memcpy(to->at + f->offset, v->bytes, n);
	} else {
		memcpy(to->at + f->offset, &v->number, f->size);
	}
}

/* Makes a record of the synthetic event: fixed fields at the places of its format, dynamic ones
 * behind them. The first word stands for the common fields, which offsets of formats count and
 * payloads do not have. An event that is not made, since too many are in a chain, is counted. */
static void act_trace(const struct hist *h, const struct hist_action *a, struct hist_entry *e,
		      const struct hist_reading *g)
{
	uint64_t record[1 + RECORD_PAYLOAD_MAX] = { 0 };
	const struct event_format *format = a->synthetic->format;
	struct hist_filling to = { (uint8_t *)record, (event_record_bytes(format) + 7) / 8 * 8 };

	for (size_t i = 0; i < format->n && i < a->fields.n; i++) {
		struct hist_slot own = { 0 },
				 v = read_param(g, e, &a->fields.at[i], &own);

		put_field(&to, &format->fields[i], &v);
		hist_slot_free(&own);
	}
	if (g->r->make && !g->r->make(g->r->context, a->synthetic, record + 1,
				      (to.end - EVENT_COMMON_BYTES + 7) / 8))
		h->shared->table.unsent++;
}

/* Keeps fields of this record with the entry: the record that brought the new maximum or value. */
static void act_save(const struct hist_action *a, struct hist_entry *e,
		     const struct hist_reading *g)
{
	for (size_t i = 0; i < a->fields.n; i++)
		hist_read_slot(g, &a->fields.at[i], slot_at(e, a->saved + i));
}

/* Notes the key and the value that led to the snapshot, for the `hist` file; an earlier note is
 * overwritten. The instance takes the snapshot itself. */
static void act_snapshot(const struct hist *h, const struct hist_action *a,
			 const struct hist_entry *e, const struct hist_reading *g)
{
	struct hist_table *t = &h->shared->table;

	t->snapshot_key = mem_realloc(t->snapshot_key, e->n + 1, sizeof(e->key[0]));
	memcpy(t->snapshot_key, e->key, e->n * sizeof(e->key[0]));
	t->snapshot_n = e->n;
	t->snapshot_value = e->slots.at[a->track].number;
	memcpy(t->snapshot_comm, e->comm, sizeof(e->comm));
	if (g->r->snapshot)
		g->r->snapshot(g->r->context);
}

/* Whether the tracked variable is a new maximum, or another value than before. */
static bool is_new_value(const struct hist_action *a, struct hist_entry *e)
{
	uint64_t value = slot_at(e, a->variable)->number;
	struct hist_slot *track = slot_at(e, a->track);

	if (a->handler == HIST_ONMAX ? value <= track->number : value == track->number)
		return false;
	track->number = value;
	track->set = true;
	return true;
}

static void act_all(const struct hist *h, struct hist_entry *e, const struct hist_reading *g)
{
	for (size_t i = 0; i < h->command->n_actions; i++) {
		const struct hist_action *a = &h->command->actions[i];

		/* onmatch has no condition of its own: records without all references do not come
		 * here. */
		if (a->handler != HIST_ONMATCH && !is_new_value(a, e))
			continue;
		if (a->act == HIST_TRACE)
			act_trace(h, a, e, g);
		else if (a->act == HIST_SAVE)
			act_save(a, e, g);
		else
			act_snapshot(h, a, e, g);
	}
}

/* --- a record --------------------------------------------------------------------------- */

/* Reads the fields that other histograms ask for. A shared table counts several events; a record
 * sets only the extras of its own event. */
static void set_extras(const struct hist *h, struct hist_entry *e, const struct hist_reading *g)
{
	for (size_t i = 0; i < h->shared->extras.n; i++) {
		while (e->extras.n <= i)
			memset(vec_add(&e->extras), 0, sizeof(e->extras.at[0]));
		if (h->shared->extras.at[i].event == h->event)
			hist_read_slot(g, &h->shared->extras.at[i].field, &e->extras.at[i]);
	}
}

/* Several values of one field have one sketch, which counts for the first of them. */
static void count_value(const struct hist *h, struct hist_entry *e, size_t i, uint64_t value)
{
	const struct hist_command *c = h->command;

	if (!hist_field_is_sketched(&c->values[i]))
		e->sums[i] += value;
	else if (c->values[i].is_first)
		hist_table_sketch(&h->shared->table, e, c, &c->values[i], value);
}

/* Actions come last, as in the kernel: they see the variables that this record has set. */
static void count_entry(const struct hist *h, struct hist_entry *e, const struct hist_reading *g)
{
	const struct hist_command *c = h->command;

	for (size_t i = 0; i < c->n_values; i++)
		count_value(h, e, i, hist_read_number(g, &c->values[i]));
	if (c->nested && e->slots.n)
		hist_entry_push(e);
	for (size_t i = 0; i < c->n_variables; i++)
		hist_read_slot(g, &c->variables[i].field, slot_at(e, i));
	set_extras(h, e, g);
	act_all(h, e, g);
}

void hist_count(struct event_trigger *t, const struct hist_record *r)
{
	struct hist *h = t->own;
	const struct hist_command *c = h->command;
	struct hist_slot *values = NULL;
	struct hist_reading g = { c, r, NULL };
	struct hist_entry *e;
	struct hist_key k;

	/* Relaxed: the pump's thread, which runs this, also stores it. */
	if (atomic_load_explicit(&h->state->paused, memory_order_relaxed))
		return;
	hist_read_key(&g, &k);
	/* Most lines read no other histogram: a record of theirs allocates nothing. */
	if (c->references.n)
		g.values = values = mem_zalloc(c->references.n * sizeof(*values));
	/* The kernel passes over such a record. brace counts it, so that hits can be explained. */
	if (!resolve(c, &k, values)) {
		h->shared->table.unmatched++;
	} else {
		e = hist_table_hit(&h->shared->table, &k, r->comm);
		if (e)
			count_entry(h, e, &g);
		end_nested(c, &k);
	}
	free(values);
}

/* --- extras ----------------------------------------------------------------------------- */

/* Whether an earlier line asks for the field already: all readers share one extra. */
static bool has_extra(const struct hist_reference *ref)
{
	for (size_t i = 0; i < ref->shared->extras.n; i++) {
		const struct hist_extra *x = &ref->shared->extras.at[i];

		if (x->event == ref->event && x->field.field == ref->field.field &&
		    x->field.source == ref->field.source)
			return true;
	}
	return false;
}

/* Variables are kept by their own histogram; a field is kept only because it is asked for, and
 * once, however many lines ask. */
void hist_ask_extras(const struct hist_command *c)
{
	for (size_t i = 0; i < c->references.n; i++) {
		const struct hist_reference *ref = &c->references.at[i];

		if (ref->hidden && !has_extra(ref))
			*vec_add(&ref->shared->extras) =
				(struct hist_extra){ ref->event, ref->field };
	}
}
