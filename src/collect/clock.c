/* SPDX-License-Identifier: MIT */
#include "collect/clock.h"

#include <cpuid.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define NS UINT64_C(1000000000)

uint64_t clock_tsc(void)
{
	return __rdtsc();
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

/* Leaf 0x15: TSC = crystal * ebx / eax. */
static uint64_t hz_cpuid(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid_count(0x15, 0, &a, &b, &c, &d) || !a || !b || !c)
		return 0;
	return (uint64_t)c * b / a;
}

/* ns = ticks * time_mult >> time_shift, as the kernel computes its own clock. */
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
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		if (page->cap_user_time && page->time_mult)
			hz = (uint64_t)(((unsigned __int128)NS << page->time_shift) / page->time_mult);
		munmap(page, 4096);
	}
	close(fd);
	return hz;
}

/* The tightest of a few brackets: two clocks cannot be read at once. */
static void same_instant(clockid_t clock, uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*tsc = *ns = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t a = __rdtsc(), now = now_ns(clock), b = __rdtsc();

		if (b - a >= best)
			continue;
		best = b - a;
		*tsc = a + (b - a) / 2;
		*ns = now;
	}
}

void clock_instant(uint64_t *tsc, uint64_t *ns)
{
	same_instant(CLOCK_MONOTONIC_RAW, tsc, ns);
}

/* A rate over so short a base is good to some 10^-5; clock_refine makes it better. */
#define QUICK_NS 2000000

static uint64_t hz_since(const struct clock *c)
{
	uint64_t tsc, ns;

	do {
		same_instant(CLOCK_MONOTONIC_RAW, &tsc, &ns);
	} while (ns - c->first_ns < QUICK_NS);
	return (uint64_t)((unsigned __int128)(tsc - c->first_tsc) * NS / (ns - c->first_ns));
}

/* Opening a perf event may take the kernel 10 ms: what it says serves clock_refine. */
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
	c->cpuid_hz = hz_cpuid();
	if (!c->cpuid_hz)
		c->asking = pthread_create(&c->thread, NULL, ask_kernel, c) == 0;
}

static void say(struct trace_clock *out, uint64_t hz, const char *from)
{
	out->hz = hz;
	snprintf(out->from, sizeof(out->from), "%s", from);
}

void clock_settle(struct clock *c, struct trace_clock *out)
{
	if (c->settled)
		return;
	c->settled = true;
	if (c->cpuid_hz)
		say(out, c->cpuid_hz, "cpuid");
	else
		say(out, hz_since(c), "measured");
	same_instant(CLOCK_MONOTONIC, &out->tsc, &out->mono_ns);
	out->real_ns = out->mono_ns - now_ns(CLOCK_MONOTONIC) + now_ns(CLOCK_REALTIME);
}

void clock_refine(struct clock *c, struct trace_clock *clock)
{
	clock_end(c);
	if (!c->settled || c->cpuid_hz)
		return;
	if (c->kernel_hz)
		say(clock, c->kernel_hz, "kernel");
	else
		say(clock, hz_since(c), "measured");
}

void clock_end(struct clock *c)
{
	if (c->asking)
		pthread_join(c->thread, NULL);
	c->asking = false;
}
