/* SPDX-License-Identifier: MIT */
/* Pieces of ftrace's text that both tracers' output consists of. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

/* Columns of comm-pid in function_graph output, where comm is cut to 7 bytes. */
#define FORMAT_PROC_WIDTH 14
#define FORMAT_PROC_COMM 7

/* The wait that a latency tracer has kept. */
struct trace_latency {
	uint64_t us;
	uint64_t start_tsc;        /* times are shown from here */
	uint32_t cpu;              /* where the thread ran at last */
	uint32_t tid, uid;
	char comm[TRACE_COMM];     /* may lack its NUL */
	int nice, policy, rt_prio;
};

/* Header lines have these, and trace_info does not. */
struct trace_header {
	uint64_t entries, written; /* records shown, and records made */
	uint32_t cpu;              /* latency-format: where tracing began */
	/* latency-format: the kernel's preemption model; NULL: "preempt" */
	const char *preempt;
	const struct trace_latency *latency; /* latency-format; NULL: none was kept */
	bool overrun;              /* newer records replaced older ones */
	bool empty;                /* the buffer is empty: latency-format prints no more then */
};

/* '$' over 1 s, '@' over 100 ms, '*' over 10 ms, '#' over 1 ms, '!' over 100 us, '+' over
 * 10 us, else ' '. */
char format_mark(uint64_t ns);

/* "12.345 us   ": microseconds with as many decimals as fit in 7 digits, padded to 12. */
void format_duration(struct out *o, uint64_t ns);

/* "# tracer: NAME" and "#". */
void format_tracer_line(struct out *o, const char *tracer);
/* The block that latency-format prints below the tracer line. */
void format_latency_header(struct out *o, const char *tracer, const struct trace_info *info,
			   const struct trace_header *h);
/* Length of a thread's name, which may lack its NUL: at most 15. */
size_t format_comm(const char *comm);
/* "CPU:0 [LOST 123 EVENTS]". */
void format_lost(struct out *o, uint16_t cpu, uint64_t count);
