/* SPDX-License-Identifier: MIT */
/* Shared by trigger.c (triggers and their tables), count.c (records to keys) and print.c. */
#pragma once
#include <stdatomic.h>

#include "hist/hist.h"
#include "hist/table.h"

/* A table, shared by the triggers of a name and by those that writes made of one histogram. */
struct hist_shared {
	atomic_uint users;
	atomic_uint wishes;        /* to clear it, so far */
	atomic_uint clears;        /* the latest of them that came true */
	struct hist_table table;   /* (records) */
};

/* The state of a histogram of one event, shared by the triggers that writes made of it. */
struct hist_state {
	atomic_uint users;
	atomic_uint wishes;        /* to pause or to continue it, so far */
	atomic_uint turns;         /* the latest of them that came true */
	atomic_bool paused;
};

/* The `own` of a trigger of the kind `hist`. Constant once the write is done, but for what
 * the pointers lead to. */
struct hist {
	struct hist_command *command;
	struct hist_shared *shared;
	struct hist_state *state;
	unsigned clears, turns;    /* numbers of this trigger's wishes */
	bool paused;               /* what it wishes */
};

/* Whether it is paused, now or, if a write wished so that is not in force yet, then. */
bool hist_is_paused(const struct hist *h);
/* Fills the key and the values of a record. */
void hist_read_record(const struct hist_command *c, const struct hist_record *r,
		      struct hist_key *k, uint64_t *values);
