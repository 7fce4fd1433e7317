/* SPDX-License-Identifier: MIT */
/* Owns nothing that is shared but kernel_hz, which a thread of its own writes and clock_end()'s
 * join makes visible. All else runs on the caller's thread: the session's, as it begins and ends.
 * Nothing here fails: a frequency that nobody tells is measured. */
#include "collect/clock.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/page.h"
#include "arch/stamp.h"

#define NS UINT64_C(1000000000)

uint64_t clock_tsc(void)
{
	return stamp_read();
}

#define READINGS 1000
/* Two readings are further apart than this, by the instruction's own time, unless one step has
 * both. */
#define AT_ONCE 2

uint64_t clock_step(void)
{
	uint64_t stamps[READINGS], step = UINT64_MAX;
	bool within_one = false;

	for (size_t i = 0; i < READINGS; i++)
		stamps[i] = stamp_read();
	for (size_t i = 1; i < READINGS; i++) {
		uint64_t apart = stamps[i] - stamps[i - 1];

		if (apart <= AT_ONCE)
			within_one = true;
		else if (apart < step)
			step = apart;
	}
	return within_one ? step + 1 : 1;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

/* The kernel has the last word: it removes "tsc" from this list when it finds that the TSC runs
 * unevenly, or differently on two processors. */
static bool is_steady(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
	bool listed = false, any = false;
	char name[64];

	while (f && fscanf(f, "%63s", name) == 1) {
		any = true;
		listed |= strcmp(name, "tsc") == 0;
	}
	if (f)
		fclose(f);
	return any ? listed : stamp_is_steady();
}

/* perf's user page gives the conversion of the kernel's own clock: ns = ticks * time_mult >>
 * time_shift. */
static uint64_t hz_kernel(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct perf_event_mmap_page *page;
	uint64_t hz = 0;

	if (fd < 0)
		return 0;
	page = mmap(NULL, ARCH_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		/* A page without these fields leaves the result at 0. */
		if (page->cap_user_time && page->time_mult)
			hz = (uint64_t)(((unsigned __int128)NS << page->time_shift) /
					page->time_mult);
		munmap(page, ARCH_PAGE);
	}
	close(fd);
	return hz;
}

/* Two clocks cannot be read at once: of 20 attempts the one with the least time between its TSC
 * readings counts. */
/* Returns how many ticks lay between those two. */
static uint64_t same_instant(clockid_t clock, uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*tsc = *ns = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t a = stamp_read(), now = now_ns(clock), b = stamp_read();

		if (b - a >= best)
			continue;
		best = b - a;
		*tsc = a + (b - a) / 2;
		*ns = now;
	}
	return best;
}

void clock_instant(uint64_t *tsc, uint64_t *ns)
{
	same_instant(CLOCK_MONOTONIC_RAW, tsc, ns);
}

void clock_instant_mono(uint64_t *tsc, uint64_t *ns)
{
	same_instant(CLOCK_MONOTONIC, tsc, ns);
}

/* A rate over so short a base is good to some 10^-5; clock_refine() improves it. */
#define QUICK_NS 2000000

/* The rate since clock_begin(), after QUICK_NS at the earliest. */
static uint64_t hz_since(const struct clock *c)
{
	uint64_t tsc, ns;

	do {
		same_instant(CLOCK_MONOTONIC_RAW, &tsc, &ns);
	} while (ns - c->first_ns < QUICK_NS);
	return (uint64_t)((unsigned __int128)(tsc - c->first_tsc) * NS / (ns - c->first_ns));
}

/* --- processors that differ ------------------------------------------------------------- */

static int64_t ns_of(int64_t ticks, uint64_t hz)
{
	return (int64_t)((__int128)ticks * (int64_t)NS / (int64_t)hz);
}

/* A pair of both clocks on each processor that this thread may run on. Each pair is off by half of
 * its window at most, so that of two together a whole one counts. An error of the rate lets
 * processors seem further apart, the more the longer this takes: milliseconds, unless the machine
 * is busy. 0: there are more processors than a set holds. */
static uint64_t measure_apart(uint64_t hz)
{
	uint64_t first_tsc, first_ns, tsc, ns, window, widest;
	int64_t least = 0, most = 0;
	cpu_set_t all, one;

	if (!hz || sched_getaffinity(0, sizeof(all), &all) < 0)
		return 0;
	widest = same_instant(CLOCK_MONOTONIC_RAW, &first_tsc, &first_ns);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int64_t apart;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		/* A processor that is off is left out. */
		if (!CPU_ISSET(cpu, &all) || sched_setaffinity(0, sizeof(one), &one) < 0)
			continue;
		window = same_instant(CLOCK_MONOTONIC_RAW, &tsc, &ns);
		apart = ns_of((int64_t)(tsc - first_tsc), hz) - (int64_t)(ns - first_ns);
		least = apart < least ? apart : least;
		most = apart > most ? apart : most;
		widest = window > widest ? window : widest;
	}
	sched_setaffinity(0, sizeof(all), &all);
	return (uint64_t)(most - least) + (uint64_t)ns_of((int64_t)widest, hz);
}

/* At the beginning and at the end of a session: where rates differ, the end is further apart. */
static void note_apart(struct clock *c, uint64_t hz)
{
	const uint64_t apart = c->steady ? 0 : measure_apart(hz);

	if (apart > c->apart_ns)
		c->apart_ns = apart < UINT32_MAX ? (uint32_t)apart : UINT32_MAX;
}

/* --- the rate --------------------------------------------------------------------------- */

/* Opening a perf event can take the kernel 10 ms, so a thread does it, and only clock_refine() uses
 * the answer. */
static void *ask_kernel(void *context)
{
	struct clock *c = context;

	c->kernel_hz = hz_kernel();
	return NULL;
}

void clock_begin(struct clock *c)
{
	memset(c, 0, sizeof(*c));
	same_instant(CLOCK_MONOTONIC_RAW, &c->first_tsc, &c->first_ns);
	c->steady = is_steady();
	c->told_hz = stamp_hz();
	if (!c->told_hz)
		c->asking = pthread_create(&c->thread, NULL, ask_kernel, c) == 0;
}

/* A figure from the processor or the kernel is finer than a measured one; but a hypervisor may pass
 * on another machine's, so it has to agree with the measurement to 1 %. */
static void decide_rate(const struct clock *c, uint64_t told, const char *by,
			struct trace_clock *out)
{
	uint64_t measured = hz_since(c);
	bool believed = told > measured - measured / 100 && told < measured + measured / 100;

	out->hz = believed ? told : measured;
	snprintf(out->from, sizeof(out->from), "%s", believed ? by : "measured");
}

void clock_measure_end(struct clock *c, struct trace_clock *out)
{
	if (c->measured)
		return;
	c->measured = true;
	decide_rate(c, c->told_hz, STAMP_TOLD_BY, out);
	note_apart(c, out->hz);
	same_instant(CLOCK_MONOTONIC, &out->tsc, &out->mono_ns);
	/* The first of the two readings is a little older than the second: an error of
	 * nanoseconds. */
	out->real_ns = out->mono_ns - now_ns(CLOCK_MONOTONIC) + now_ns(CLOCK_REALTIME);
}

void clock_refine(struct clock *c, struct trace_clock *clock)
{
	clock_end(c);
	if (!c->measured)
		return;
	if (c->told_hz)
		decide_rate(c, c->told_hz, STAMP_TOLD_BY, clock);
	else
		decide_rate(c, c->kernel_hz, "kernel", clock);
	note_apart(c, clock->hz);
}

void clock_end(struct clock *c)
{
	if (c->asking)
		pthread_join(c->thread, NULL);
	c->asking = false;
}
