/* SPDX-License-Identifier: MIT */
/* Pieces of ftrace's text that both tracers' output is made of. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

/* Columns of comm-pid in function_graph output, where comm is cut to 7 bytes. */
#define FORMAT_PROC_WIDTH 14
#define FORMAT_PROC_COMM 7

/* What stands in header lines but is not in trace_info. */
struct trace_header {
	uint64_t entries, written; /* records shown / made */
	uint32_t cpu;              /* latency-format: where tracing began */
	const char *preempt;       /* latency-format: the kernel's preemption model; NULL: "preempt" */
	bool overrun;              /* newer records took the place of older ones */
	bool empty;                /* of a buffer in which there is nothing: latency-format has no more to say then */
};

/* '$' over 1 s, '@' over 100 ms, '*' over 10 ms, '#' over 1 ms, '!' over 100 us, '+' over
 * 10 us, else ' '. */
char format_mark(uint64_t ns);

/* "12.345 us   ": microseconds with as many decimals as fit in 7 digits, padded to 12. */
void format_duration(struct out *o, uint64_t ns);

/* "# tracer: NAME" and "#". */
void format_tracer_line(struct out *o, const char *tracer);
/* The block that latency-format puts under it. */
void format_latency_header(struct out *o, const char *tracer, const struct trace_info *info,
			   const struct trace_header *h);
/* A thread's name (trace_thread_name): its length (at most 15). */
size_t format_comm(const struct trace_thread *t);
/* "CPU:0 [LOST 123 EVENTS]". */
void format_lost(struct out *o, uint16_t cpu, uint64_t count);
