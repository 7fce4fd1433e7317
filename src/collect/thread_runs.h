/* SPDX-License-Identifier: MIT */
/* Records that a source reads by CPU (producer.h), made into runs of threads. The source adds
 * records in the order of time: it holds back what is later than the beginning of a reading, since
 * rings are read one after the other while threads move between CPUs. Nothing here fails.
 *
 * A struct thread_runs needs its owner's lock; the runs that were taken out need none. */
#pragma once
#include "collect/drain.h"

/* A record to be added. */
struct cpu_record {
	uint64_t tsc;
	uint32_t thread;               /* number within the source */
	uint32_t type;                 /* enum record_event; of an event TRACE + its index */
	uint16_t cpu;
	const uint64_t *payload;       /* n words, at most 63 */
	size_t n;
};

/* A thread, between its runs. */
struct run_thread {
	uint64_t first_tsc, tsc;       /* its first and last records; 0: it has none */
	uint64_t position;             /* records in runs that were taken out, kept and lost */
	uint64_t lost;                 /* records missing before its next one */
	uint16_t cpu;                  /* of the last record */
	uint32_t run;                  /* 1 + place of its newest run in `at`; 0: none waits */
};

struct thread_run {
	struct drain_run run;          /* words and n are set when it is taken out */
	uint32_t thread;
	VEC(uint64_t) words;
};
typedef VEC(struct thread_run) thread_run_list;

struct thread_runs {
	thread_run_list at;            /* to be taken out, in the order in which they began */
	VEC(struct run_thread) threads;
	uint64_t lost;                 /* records of any thread, which no run bears yet */
};

/* A thread's times never go back: an older record gets the time of the last one. */
void thread_runs_add(struct thread_runs *r, const struct cpu_record *record);
/* n records were lost before this thread's next record; they may have been other threads'. The
 * thread's next run begins there, and counts them in `lost`. */
void thread_runs_lose(struct thread_runs *r, uint32_t thread, uint64_t n);
/* The time of the thread's first record; 0: it has none. */
uint64_t thread_runs_first(const struct thread_runs *r, uint32_t thread);
/* Moves all runs to *out, which is empty. The first one bears losses whose place is not known;
 * without a run they are kept for the next call. first_slot: the number of thread 0 in the
 * session. */
void thread_runs_take(struct thread_runs *r, uint32_t first_slot, thread_run_list *out);
/* Losses that no run bears become a run without records, of thread 0, which must be a thread of the
 * source. tsc: the time of the end. */
void thread_runs_take_losses(struct thread_runs *r, uint32_t first_slot, uint64_t tsc,
			     thread_run_list *out);
/* Gives what was taken out to the sink, and frees it. 0, or the sink's -errno. */
int thread_runs_give(thread_run_list *runs, drain_sink *sink, void *context, struct err *err);
void thread_runs_free(struct thread_runs *r);
