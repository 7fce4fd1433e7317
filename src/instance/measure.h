/* SPDX-License-Identifier: MIT */
/* brace's own threads that measure the machine, one a processor, for the tracers osnoise, timerlat
 * and hwlat: they look at themselves, so that neither root nor the kernel's tracers are needed.
 *
 * osnoise reads the TSC again and again: a gap over the threshold is noise. It runs in the class
 * SCHED_IDLE, so that it takes no time that another thread wants. A gap in which the thread was
 * switched away is a thread's; which of the others was an interrupt, and which the hardware or a
 * hypervisor, is known by the processor's counters for the whole sample only. A soft interrupt is
 * part of the interrupt that ran it.
 *
 * timerlat sleeps until a time, and looks how late it is. What the kernel counts as the thread's
 * wait for the processor is the thread's part, the rest the timer's ("irq"): up to and including
 * the wake-up.
 *
 * hwlat reads the TSC as osnoise does, in pairs: a gap within a pair is `inner`, one between two
 * `outer`. Those in which the thread was switched away are left out. The kernel's tracer turns
 * interrupts off, which nobody else can: here they are among the gaps. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/settings.h"

/* Records of ftrace:osnoise, timerlat and hwlat, from offset 8 on (event/builtin.c). */
struct measure_osnoise {
	uint64_t noise, runtime, max_sample;      /* in us */
	uint32_t hw, nmi, irq, softirq, thread, pad;
};
struct measure_hwlat {
	uint64_t inner, outer;                    /* in us */
	uint64_t nmi_total;
	int64_t seconds, ns;                      /* of the first gap, CLOCK_REALTIME */
	uint32_t nmis, seq, count, pad;
};
enum { MEASURE_IRQ, MEASURE_THREAD };
struct measure_timerlat { uint32_t seq; int32_t context; uint64_t latency_ns; };

struct measure_request {
	const struct tracer *tracer; /* NULL: nothing is measured */
	struct osnoise_settings settings;
	uint64_t thresh_ns;   /* tracing_thresh; 0: the tracer's own */
	uint64_t hz;          /* of the TSC */
};

/* Fills in *r by the files that the tracer's threads heed; hz is the caller's. All bytes of *r are
 * set, so that requests can be compared by memcmp(). t: a tracer that measures, or NULL. */
void measure_request_make(const struct tracer *t, const struct settings *top,
			  struct measure_request *r);

/* The functions by which the threads ask and tell; any of them, several at once. */
struct measure_use {
	/* Called as a thread begins. Returns the `who` that the functions below get of it. */
	uint32_t (*begin)(void *arg, pid_t tid);
	/* Whether anybody takes records now: without, the threads sleep. */
	bool (*wanted)(void *arg);
	/* Takes a record of the request's tracer, made at tsc. */
	void (*record)(void *arg, const struct tracer *t, uint32_t who, unsigned cpu, uint64_t tsc,
		       const void *payload, size_t bytes);
	/* osnoise: a gap that began at start_ns (CLOCK_MONOTONIC); switched: the thread was
	 * switched away. */
	void (*gap)(void *arg, uint32_t who, unsigned cpu, uint64_t start_ns, uint64_t ns,
		    bool switched);
	/* stop_tracing_us or stop_tracing_total_us was exceeded. */
	void (*stop)(void *arg);
	void *arg;
};

struct measure;
/* Starts the threads. NULL and *err: one could not be started, or measure.c has no row of the
 * tracer. */
struct measure *measure_start(const struct measure_request *r, const struct measure_use *use,
			      struct err *err);
/* Ends them, and waits for it: a tenth of a second at most but for a loaded machine. NULL is
 * fine. */
void measure_stop(struct measure *m);
