#include "session/clock.h"

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

static uint64_t hz_measured(void)
{
	uint64_t ns0 = now_ns(CLOCK_MONOTONIC_RAW), tsc0 = __rdtsc(), ns, tsc;

	do {
		tsc = __rdtsc();
		ns = now_ns(CLOCK_MONOTONIC_RAW);
	} while (ns - ns0 < 20000000);
	return (uint64_t)((unsigned __int128)(tsc - tsc0) * NS / (ns - ns0));
}

/* The tightest of a few brackets: the three clocks cannot be read at once. */
static void same_instant(struct trace_clock *out)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t a = __rdtsc(), mono = now_ns(CLOCK_MONOTONIC), b = __rdtsc();

		if (b - a >= best)
			continue;
		best = b - a;
		out->tsc = a + (b - a) / 2;
		out->mono_ns = mono;
		out->real_ns = now_ns(CLOCK_REALTIME);
	}
}

void clock_calibrate(struct trace_clock *out)
{
	static const struct { const char *from; uint64_t (*hz)(void); } ways[] = {
		{ "cpuid", hz_cpuid }, { "kernel", hz_kernel }, { "measured", hz_measured },
	};

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !out->hz; i++) {
		out->hz = ways[i].hz();
		snprintf(out->from, sizeof(out->from), "%s", ways[i].from);
	}
	same_instant(out);
}
