/* SPDX-License-Identifier: MIT */
/* The TSC in real units. Its frequency comes from CPUID, else from the kernel's own calibration
 * (perf's user page). Where neither agrees with a measurement against CLOCK_MONOTONIC_RAW, the
 * measured one counts. Also reads one instant on several clocks. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "trace/live_clock.h"

struct clock {
	uint64_t first_tsc, first_ns; /* one instant on the TSC and CLOCK_MONOTONIC_RAW */
	uint64_t told_hz, kernel_hz; /* 0 = does not say */
	pthread_t thread;
	struct clock_pairing *pairing; /* NULL: the TSC is steady */
	/* by which records are put right as they come; NULL: the TSC is steady */
	struct live_clock *live;
	bool printed; /* set by those who show them so: clock_message() says it */
	bool asking, measured;
	/* else the TSC's rate changes, or processors' counts differ: times are not to be relied
	 * on */
	bool steady;
	/* where it is not: the most that two processors' counts were found to be apart, with the
	 * error of that, in ns; 0: not measured */
	uint32_t apart_ns;
};

/* Notes the first instant, and starts a thread that asks the kernel where CPUID names no
 * frequency; and, where the TSC is not steady, one that compares it with the kernel's clock on each
 * CPU, ten times a second, later once. */
void clock_begin(struct clock *c);
/* The first result, and c->apart_ns, for which the calling thread changes processors. Returns at
 * least 2 ms after clock_begin. A second call does nothing. */
void clock_measure_end(struct clock *c, struct trace_clock *out);
/* Improves *clock at the end of a session: the told frequency, if the measurement over all the time
 * since clock_begin confirms it to a hundredth, else the measured one; and
 * c->apart_ns. Waits for the thread that asks the kernel. The calling thread changes processors. */
void clock_refine(struct clock *c, struct trace_clock *clock);
/* Moves the pairs of clocks that were measured since the last call to info, and leads c->live on by
 * them. For c->live the first call comes after clock_measure_end() and before the first record. */
void clock_take_pairs(struct clock *c, struct trace_info *info);
/* Makes the message about a TSC that is not steady (MESSAGE_CLOCK). placed: the records go to a
 * file, whose readers put times right by info's pairs. */
struct trace_message clock_message(const struct clock *c, const struct trace_info *info,
				   bool placed);
void clock_end(struct clock *c); /* joins the threads; required before c goes away */
uint64_t clock_tsc(void);
/* The present for stamps of all CPUs as c->live puts them right, less their error; where the TSC is
 * steady, clock_tsc(). */
uint64_t clock_present(const struct clock *c);
/* clock_present() for an instant that clock_instant() told. */
uint64_t clock_shown(const struct clock *c, uint64_t tsc, uint64_t ns);
/* clock_shown() with the error added: records from before that instant have no later times. */
uint64_t clock_latest(const struct clock *c, uint64_t tsc, uint64_t ns);
/* Puts an event right that was not seen before, by c->live, if the TSC is not steady. */
void clock_place(const struct clock *c, struct event *e);
/* Returns the step in which the TSC counts, in ticks: 1, or on AMD's processors those of 10 ns.
 * There a second reading within one step is a tick more than the first. */
uint64_t clock_step(void);
/* One instant on the TSC and CLOCK_MONOTONIC_RAW, as closely as two clocks can be read. */
void clock_instant(uint64_t *tsc, uint64_t *ns);
/* clock_instant() with the time of CLOCK_MONOTONIC. */
void clock_instant_mono(uint64_t *tsc, uint64_t *ns);
