/* SPDX-License-Identifier: MIT */
/* `brace noise`: what takes time from a program's own threads. Two sources, added up apart:
 *   the kernel's account of each thread (base/thread_account.h), looked at now and then: how long
 *   it waited for a CPU, its switches, its page faults;
 *   the events sched:sched_switch of the stream: how long it was off the CPU, and whether it was
 *   preempted or waited, for the thread and for the innermost recorded function.
 * A thread that ends between two looks keeps what the last look saw. Not locked. */
#pragma once
#include "base/out.h"
#include "base/thread_account.h"
#include "export/walk.h"

struct noise_times {
	uint64_t preempted_ns, preempted; /* it could have gone on: another thread ran */
	uint64_t waited_ns, waited;       /* for something else than a CPU */
};

struct noise_thread {
	uint32_t pid, tid;
	char comm[TRACE_COMM];            /* may lack its NUL */
	bool counted;                     /* it was looked at: `began` and `latest` are known */
	bool gone;                        /* and was not there at the last look */
	struct thread_account began, latest;
	struct noise_times times;
	enum { NOISE_ON, NOISE_PREEMPTED, NOISE_WAITS } off;
	uint64_t off_ns;                  /* since when */
	uint32_t lane;                    /* of its latest call */
	uint32_t function;                /* in which it went off; FN_NONE: in none */
};

struct noise_function { uint32_t function; struct noise_times times; };

struct noise {
	const struct walk *walk;
	/* choices: */
	bool by_function;                 /* functions are recorded */
	const char *no_switches;          /* why the kernel does not tell them; NULL: it does */
	/* results: */
	VEC(struct noise_thread) threads; /* in the order in which they were met */
	VEC(struct noise_function) functions; /* FN_NONE: where none was open */
	struct machine_account machine_began, machine_latest;
	bool machine;
	/* private: */
	VEC(uint32_t) rows;               /* by thread of the trace, 1 + its row; 0: not met */
	struct number_map newest;         /* by process and thread: its newest row */
	VEC(uint32_t) function_rows;      /* by function of the walk */
	VEC(uint32_t) pids;               /* of processes to look at */
	int64_t event;                    /* number of sched_switch, -1: not met */
};

/* walk outlives *n. */
void noise_init(struct noise *n, const struct walk *walk);
void noise_free(struct noise *n);
/* Looks at this process from now on. `running`: it ran before the recording, and what it has
 * counted until now is left out. */
void noise_add_process(struct noise *n, uint32_t pid, bool running);
/* Takes a step of the walk, in the order of time. */
void noise_take(struct noise *n, const struct walk_step *s);
/* Reads the kernel's accounts of all threads of the known processes. */
void noise_look(struct noise *n);
/* Sorts: the thread, or function, that lost most time first. */
void noise_sort(struct noise *n);
/* Prints at most `most` threads and functions (0: all), sorted. */
void noise_print(const struct noise *n, uint64_t most, struct out *o);
/* noise_print() as JSON, an object a line; what is not known is null. */
void noise_print_json(const struct noise *n, uint64_t most, struct out *o);
