/* SPDX-License-Identifier: MIT */
/* A program under trace, as brace record and graph run one. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "session/session.h"
#include "ui/invocation.h"

/* Says which names of -e no event has that the programs have now: one may still come. */
void run_tell_unmet(const struct invocation *inv);

/* While the program runs, a thread cares for what cannot wait for the next record: the user's
 * interrupts, --duration, and output that would otherwise stay in a buffer. */
struct run_monitor {
	pthread_t thread;
	pthread_mutex_t lock; /* the caller holds it while it uses anything that `idle` uses */
	pthread_cond_t ended;
	bool end;
	void (*idle)(void *arg); /* called, locked, ten times a second; may be NULL */
	void *arg;
	struct session *session;
	bool ends_at_first;   /* the first interrupt stops brace: the program does not get it */
	uint64_t end_ns;      /* CLOCK_MONOTONIC time at which --duration is over; 0 = never */
	bool stopped;
};

/* From here on an interrupt does not end brace, but run_start() fails. */
void run_heed_interrupts(const struct invocation *inv);
/* Makes the settings and checks them. 0, or the exit status (said). */
int run_check(struct invocation *inv);
/* Says why nothing was started. The exit status: 128 and the signal after an interrupt. */
int run_failed(const struct err *err);
/* Works like run_check, and starts. `trace_file` NULL: none is written, and the file of -o is the
 * caller's to open with screen_open_begun(), or to drop with screen_file_drop(). The caller frees
 * *out. beside: NULL, or more sources of records. */
int run_start(struct invocation *inv, const char *trace_file, const struct session_beside *beside,
	      struct session **out);

/* Until here, an interrupt ends brace, and the program that it was about to launch. From here to
 * run_monitor_end, Ctrl-C goes to a launched program (its terminal sends it there, too), and a
 * second one stops the recording. With attached processes the first one does, and so does one that
 * comes when the program has ended and children of it run on. */
void run_monitor_begin(struct run_monitor *a, const struct invocation *inv, struct session *s,
		       void (*idle)(void *), void *arg);
void run_monitor_end(struct run_monitor *a);
/* Stops the recording as an interrupt does, without a word; the program goes on. Any thread, with
 * a->lock; a second call does nothing. run_monitor_end() is still to be called. */
void run_monitor_stop(struct run_monitor *a);

/* The exit status that stands for the program's. If a signal ended the program, ends brace by the
 * same signal, and does not return. */
int run_exit(int wait_status);
