/* SPDX-License-Identifier: MIT */
/* A program under trace, as record and graph run one. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "session/session.h"
#include "ui/invocation.h"

/* While the program runs, a thread looks after what cannot wait for the next record: the
 * user's interrupts, and output that would otherwise stay in the buffer. */
struct attendant {
	pthread_t thread;
	pthread_mutex_t lock; /* the caller holds it while it uses what `idle` uses */
	pthread_cond_t ended;
	bool end;
	void (*idle)(void *arg); /* called, locked, ten times a second; may be NULL */
	void *arg;
	struct session *session;
	bool attached;        /* the first interrupt is for us: the program does not get it */
	uint64_t end_ns;      /* CLOCK_MONOTONIC: when --duration is over; 0 = never */
	bool stopped;
};

/* Settings and checks. 0, or the exit status for what went wrong (said). */
int traced_check(struct invocation *inv);
/* The same, and start. 0, or the exit status for what went wrong (said). `trace_file`
 * NULL: none is written. */
int traced_start(struct invocation *inv, const char *trace_file, struct session **out);

/* From here until attendant_end: Ctrl-C goes to a launched program (the terminal sends it there too),
 * a second one stops the recording; the first one if it is attached to. */
void attendant_begin(struct attendant *a, const struct invocation *inv, struct session *s, void (*idle)(void *),
		     void *arg);
void attendant_end(struct attendant *a);

/* The exit status that stands for the program's; does not return if a signal ended it, but
 * ends brace the same way. */
int traced_exit(int wait_status);
