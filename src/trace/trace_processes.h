/* SPDX-License-Identifier: MIT */
/* The processes of a trace, numbered. Threads of one pid and image are one process; an exec begins
 * another one. What the kernel recorded of its tasks is one process (trace_info_process()). */
#pragma once
#include "base/number_map.h"
#include "trace/trace_info.h"

/* An address space from one exec to the next. */
struct trace_process {
	uint32_t pid, image;
	uint64_t tsc; /* when its first thread was seen */
};

struct trace_processes {
	VEC(struct trace_process) rows; /* in the order of their first threads */
	VEC(uint32_t) of_thread;        /* a row's number, by thread */
	struct number_map by_key;       /* image << 32 | pid, + 1 -> row */
};

/* Finds the processes of info's threads, as they are now. */
void trace_processes_find(struct trace_processes *p, const struct trace_info *info);
/* When the process began: with its exec, or, if it inherited what its parent execed, with its first
 * thread. */
uint64_t trace_process_tsc(const struct trace_process *p, const struct trace_info *info);
/* Frees what *p holds and leaves it empty. */
void trace_processes_free(struct trace_processes *p);
