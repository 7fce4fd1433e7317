/* SPDX-License-Identifier: MIT */
/* When a thread did not run, until its next record comes by: then it is a record before that one (RECORD_EVENT_SLEPT). */
#pragma once
#include <stdbool.h>

#include "collect/drain.h"
#include "trace/sleeps.h"

struct pending_sleeps {
	uint64_t stopped;        /* TSC when it stopped running; 0: it runs, or that is not known */
	struct sleeps sleeps;
};

typedef VEC(uint64_t) record_words;

void pending_stop(struct pending_sleeps *p, uint64_t tsc);
void pending_go_on(struct pending_sleeps *p, uint64_t tsc);
/* The run's records, with what it slept between them and before, into *words, which is emptied; false: as the run is. */
bool pending_weave(struct pending_sleeps *p, const struct drain_run *run, record_words *words);
/* All records from before this time have come by: what it slept until then lies between two records, and is one. */
void pending_settle(struct pending_sleeps *p, uint64_t tsc);
void pending_free(struct pending_sleeps *p);
