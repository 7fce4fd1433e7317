/* SPDX-License-Identifier: MIT */
/* Sources of records that a command opens beside programs, and closes after the session: each kind
 * is a row of beside.c, which has its options, too. On the main thread. */
#pragma once
#include "collect/slots.h"
#include "session/session.h"
#include "ui/invocation.h"

#define BESIDE_KINDS_MAX (PRODUCERS_MAX - PRODUCERS_OWN)

/* The sources of one run. */
struct beside {
	struct session_beside at[BESIDE_KINDS_MAX]; /* for the session */
	void *own[BESIDE_KINDS_MAX];                /* the kind's; NULL: not asked for */
};

/* A table of commands.c, which ends with a row without a setter. */
extern const struct option beside_options[];

/* Opens the sources that the options ask for. 0, or the exit status (said): nothing is left
 * open. */
int beside_begin(struct invocation *inv, struct beside *out);
/* The list of sources for run_start(); NULL: none was opened. Valid as long as *b. */
const struct session_beside *beside_first(const struct beside *b);
/* After the session is freed: closes the sources, the last one first. Returns status, or brace's
 * own if one of them could not be closed (said). */
int beside_end(struct beside *b, const struct invocation *inv, int status);
