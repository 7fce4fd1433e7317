/* SPDX-License-Identifier: MIT */
/* A record of a perf ring, of events that tracepoints.c opens: a sample of a tracepoint, and what
 * the kernel tells beside them. The bytes may be anything (a fuzz target reads them). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields of samples; the other records have them behind their own, without the data. */
#define KERNEL_PERF_SAMPLE \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW)

enum kernel_perf_kind {
	KERNEL_PERF_OTHER,      /* nothing of interest, or damaged */
	KERNEL_PERF_SAMPLE_OF,  /* data: the tracepoint's record, as ftrace's rings have it */
	KERNEL_PERF_LOST,       /* lost: records that found no room before the next one */
	KERNEL_PERF_COMM,       /* the thread has a name now */
	KERNEL_PERF_FORK,       /* the thread was made by `parent` */
	KERNEL_PERF_RUNS,       /* the thread goes on, on this CPU */
};

struct kernel_perf_record {
	enum kernel_perf_kind kind;
	uint64_t time;          /* of perf's clock */
	uint32_t tid, parent;
	uint64_t lost;
	const uint8_t *data;    /* n bytes of the record's */
	uint32_t n;
	char comm[16];          /* ends with a NUL */
};

/* Reads a record of n bytes, its header included. False: *out is of the kind OTHER. */
bool kernel_perf_record_read(const void *bytes, size_t n, struct kernel_perf_record *out);
