/* SPDX-License-Identifier: MIT */
/* Shared by trigger.c (triggers and their tables), count.c (records to keys) and print.c. */
#pragma once
#include <stdatomic.h>

#include "hist/hist.h"
#include "hist/table.h"

/* A field that other histograms want to know of an event's latest record of a key. */
struct hist_extra {
	const struct event_format *event;
	struct hist_field field;
};

/* A table, shared by the triggers of a name and by those that writes made of one histogram, and
 * kept by those that read its variables. */
struct hist_shared {
	atomic_uint users;
	atomic_uint requests;      /* to clear it, so far */
	atomic_uint clears;        /* the latest of them that came true */
	struct hist_table table;   /* (records) */
	VEC(struct hist_extra) extras; /* (records) */
	uint32_t number;           /* of all tables of this process; never 0 */
};

/* Adds a user; returns s. Any thread that keeps it already. */
struct hist_shared *hist_shared_get(struct hist_shared *s);
/* Takes a user away; the last one frees the table. NULL: does nothing. Any thread. */
void hist_shared_put(struct hist_shared *s);

/* The state of a histogram of one event, shared by the triggers that writes made of it. */
struct hist_state {
	atomic_uint users;
	atomic_uint requests;      /* to pause or to continue it, so far */
	atomic_uint turns;         /* the latest of them that came true */
	atomic_bool paused;
};

/* The `own` of a trigger of the kind `hist`. Constant once the write is done, but for what
 * the pointers lead to. */
struct hist {
	const struct event_format *event;
	struct hist_command *command;
	struct hist_shared *shared;
	struct hist_state *state;
	unsigned clears, turns;    /* numbers of this trigger's requests */
	bool paused;               /* what it asks for */
};

/* Whether it is paused, now or, if a write that is not in force yet asked for it, then. */
bool hist_is_paused(const struct hist *h);
/* A record that is being counted. values: those of the references that are known so far. */
struct hist_reading {
	const struct hist_command *c;
	const struct hist_record *r;
	const struct hist_slot *values;
};

/* Fills the key of a record. */
void hist_read_key(const struct hist_reading *g, struct hist_key *k);
/* Returns the number that a field has. */
uint64_t hist_read_number(const struct hist_reading *g, const struct hist_field *f);
/* Fills the slot with the field's value, and marks it as set. */
void hist_read_slot(const struct hist_reading *g, const struct hist_field *f,
		    struct hist_slot *slot);
struct event_set;

/* A list of triggers whose histograms are being printed. */
struct hist_listing {
	const struct hist_symbols *symbols;
	struct out *out;
	/* the settings that the list is of; NULL: what other events ask for is not shown */
	const struct event_set *set;
	/* asked: the histogram is one that the kernel would have for this field, which another
	 * event's histogram asks for; else NULL */
	void (*print)(const struct hist_listing *l, const struct event_trigger *trigger,
		      const struct hist_field *asked);
	bool more;                 /* a histogram has been printed */
};

/* (records) Calls print() for each histogram of the list, the newest first, those for fields that
 * others ask for before it; two empty lines part them. */
void hist_list(const struct trigger_list *l, struct hist_listing *p);
/* (records) The command's fields of other events are read from here on. */
void hist_ask_extras(const struct hist_command *c);
/* Fills `text`, n bytes, with the function's name, as the kernel's %ps and %pS do. ahead: the
 * address is `ahead` bytes behind what is looked for, a call whose return address it is. */
void hist_name_address(const struct hist_symbols *symbols, uint64_t address, unsigned ahead,
		       bool with_offset, char *text, size_t n);
