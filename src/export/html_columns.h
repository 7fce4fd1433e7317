/* SPDX-License-Identifier: MIT */
/* The calls, events, losses and states of a trace as the columns of a page (docs/html.md has their
 * form). Private to src/export. */
#pragma once
#include "export/parts.h"
#include "export/walk.h"

/* Columns of a lane. The page finds them by this order. */
enum html_column {
	HTML_LOW,    /* the lowest byte of each step's time */
	HTML_HIGH,   /* the rest of it */
	HTML_WHAT,   /* enum html_what of each step */
	HTML_MARKS,  /* of ends that are not plain */
	HTML_NOTES,  /* arguments and returned values */
	HTML_EVENTS,
	HTML_STATES, /* when the thread did not run, or was in a system call */
	HTML_COLUMNS
};

enum html_what { HTML_END, HTML_END_MARKED, HTML_END_UNFOLLOWED, HTML_LOST, HTML_BEGIN };

enum html_mark {  /* bits of a mark */
	HTML_MARK_UNWOUND = 1, HTML_MARK_UNFINISHED = 2,
	HTML_MARK_TIMES = 4, /* its own time and self time follow, in ticks */
};

enum html_state { HTML_WAITS, HTML_PREEMPTED, HTML_SYSCALL };

struct html_lane {
	uint64_t last;       /* TSC of the latest step, event, state */
	uint64_t last_event, last_state;
	uint64_t last_note;
	uint64_t calls, losses, lost, events, states;
	/* TSC since which the thread is off its CPU, or in a system call; 0: it is not */
	uint64_t off, entered;
	uint32_t off_state, syscall;
	VEC(uint64_t) shown; /* TSC at which each open call begins on the page */
};

struct html_columns {
	const struct walk *walk;
	struct parts parts;  /* part number: lane * HTML_COLUMNS + column */
	VEC(struct html_lane) lanes;
	uint64_t begin;      /* TSC of the first step; times count from it */
	bool begun;
	struct err *err;
	/* private: */
	struct event_texts *texts;
	struct html_sched *sched;
};

/* The walk, from which steps will come, and *err, for later failures, outlive *c.
 * html_columns_free() frees what it has. */
void html_columns_init(struct html_columns *c, const struct walk *w, struct err *err);
void html_columns_free(struct html_columns *c);
/* A walk_take: adds a step. 0, or -errno and *err: there is no room. */
int html_columns_take(void *columns, const struct walk_step *step);
/* Adds a time in which the thread of a lane did not run (EVENT_SLEPT). */
int html_columns_slept(struct html_columns *c, uint32_t lane, uint64_t from, uint64_t ticks);
/* Closes states that are open at the end. */
int html_columns_end(struct html_columns *c);
