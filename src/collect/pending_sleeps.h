/* SPDX-License-Identifier: MIT */
/* When a thread did not run, kept until the thread's next record comes by: the sleep becomes a
 * record before that one (RECORD_EVENT_SLEPT). */
#pragma once
#include <stdbool.h>

#include "collect/drain.h"
#include "trace/sleeps.h"

struct pending_sleeps {
	/* TSC when the thread stopped running; 0: it runs, or that is not known */
	uint64_t stopped;
	struct sleeps sleeps;
};

typedef VEC(uint64_t) record_words;

/* The thread stopped, or goes on, at that time. Like all of these: under the lock of struct
 * switches. */
void pending_stop(struct pending_sleeps *p, uint64_t tsc);
void pending_go_on(struct pending_sleeps *p, uint64_t tsc);
/* Copies the run's records into *words, which is emptied first, with the sleeps before and between
 * them as records. False: there are none, use the run as it is. */
bool pending_merge(struct pending_sleeps *p, const struct drain_run *run, record_words *words);
/* All records before this time have come by: sleeps up to then lie between two records, and become
 * one. */
void pending_forget_before(struct pending_sleeps *p, uint64_t tsc);
void pending_free(struct pending_sleeps *p);
