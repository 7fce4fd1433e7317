/* Processes to be held: forks of the test that run one function and report in shared memory. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "tracee/tracee.h"

struct report {
	_Atomic uint32_t ready;       /* how many threads are where they are to be */
	_Atomic uint32_t stop;        /* set by the test: come to an end */
	_Atomic uint32_t bad;         /* what must not be: errors seen */
	_Atomic int32_t first_bad;    /* which call, and what errno */
	_Atomic int32_t first_errno;
	_Atomic uint64_t rounds;
	_Atomic uint64_t counts[64];
};

struct child {
	pid_t pid;
	struct report *report;
};

/* Starts it and waits until `threads` are ready. */
struct child child_start(void (*body)(struct report *), unsigned threads);
void child_wait_ready(const struct child *c, unsigned threads);
/* Sets stop, waits for the end; the exit status as waitpid gives it. */
int child_end(struct child *c);
/* SIGKILL. */
void child_kill(struct child *c);
/* Holds and releases. The pause in ns. */
uint64_t hold_once(pid_t pid);
/* Waits (at most 10 s) until the condition is true. */
#define wait_until(condition)                                  \
	do {                                                   \
		for (int turn_ = 0; !(condition); turn_++) {   \
			assert_true(turn_ < 10000);            \
			usleep(1000);                          \
		}                                              \
	} while (0)
