/* SPDX-License-Identifier: MIT */
/* Names of threads, as the records of perf's rings tell them. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/trace_info.h"

struct kernel_perf_comm { char text[TRACE_COMM]; };

/* All zeros: no names. kernel_perf_names_free() frees what it has. */
struct kernel_perf_names {
	VEC(uint32_t) by_tid;   /* 1 + index in comms; 0: not known */
	VEC(struct kernel_perf_comm) comms;
	VEC(char) fresh;        /* "TID NAME" lines of the last reading; fresh.n = 0 begins another */
};

/* The thread has this name from now on, of which 15 characters are kept. */
void kernel_perf_names_note(struct kernel_perf_names *names, uint32_t tid, const char *name);
/* The name that a thread has had last. False: it is not known. */
bool kernel_perf_names_find(const struct kernel_perf_names *names, uint32_t tid,
			    char comm[TRACE_COMM]);
/* The lines of the last reading's names; valid until the next note. */
const char *kernel_perf_names_fresh(const struct kernel_perf_names *names);
void kernel_perf_names_free(struct kernel_perf_names *names);
