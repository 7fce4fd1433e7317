/* SPDX-License-Identifier: MIT */
/* Owns nothing that is shared but kernel_hz, which a thread of its own writes and clock_end()'s
 * join makes visible, and the pairs of clocks that another thread measures, under a lock. All else
 * runs on the caller's thread: the session's, as it begins and ends. Nothing here fails: a
 * frequency that nobody tells is measured. */
#include "collect/clock.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/page.h"
#include "arch/stamp.h"
#include "shared/messages.h"
#include "trace/clock_pairs.h"

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
 * unevenly, or differently on two processors. In the first seconds after a boot, until it has
 * calibrated the TSC, the name is "tsc-early". */
static bool is_steady(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
	bool listed = false, any = false;
	char name[64];

	while (f && fscanf(f, "%63s", name) == 1) {
		any = true;
		listed |= !strcmp(name, "tsc") || !strcmp(name, "tsc-early");
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

/* --- pairs of clocks -------------------------------------------------------------------- */

/* The first hundred rounds are quick, for short runs. */
#define ROUND_NS 100000000u
#define ROUNDS_QUICK 100u

struct clock_pairing {
	cpu_set_t cpus;                /* that brace may run on, from the beginning on */
	pthread_t thread;
	bool measures;                 /* there is the thread */
	pthread_mutex_t lock;          /* of all below */
	pthread_cond_t over;
	bool ends;
	VEC(struct trace_clock_pair) pairs; /* since clock_take_pairs() */
};

/* On that CPU. */
static void add_pair(struct clock_pairing *p, int cpu)
{
	struct trace_clock_pair pair = { .cpu = (uint16_t)cpu };
	uint64_t window;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return; /* the CPU is off */
	window = same_instant(CLOCK_MONOTONIC_RAW, &pair.tsc, &pair.ns);
	pair.window = window < UINT32_MAX ? (uint32_t)window : UINT32_MAX;
	pthread_mutex_lock(&p->lock);
	if (p->pairs.n < TRACE_CLOCK_PAIRS_MAX)
		*vec_add(&p->pairs) = pair;
	pthread_mutex_unlock(&p->lock);
}

static void add_pairs(struct clock_pairing *p)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &p->cpus))
			add_pair(p, cpu);
}

/* Waits for the next round. False: there is none. */
static bool wait_for_round(struct clock_pairing *p, uint64_t ns)
{
	struct timespec until;
	bool ends;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / NS);
	until.tv_nsec = (long)(ns % NS);
	pthread_mutex_lock(&p->lock);
	while (!p->ends && pthread_cond_timedwait(&p->over, &p->lock, &until) == 0)
		;
	ends = p->ends;
	pthread_mutex_unlock(&p->lock);
	return !ends;
}

static void *measure_pairs(void *pairing)
{
	struct clock_pairing *p = pairing;
	unsigned round = 0;

	do
		add_pairs(p);
	while (wait_for_round(p, round++ < ROUNDS_QUICK ? ROUND_NS : 10 * ROUND_NS));
	return NULL;
}

/* A round on the caller's thread: before the program's first record and after its last one, since
 * what lies outside of the pairs is placed by the rate alone. */
static void add_pairs_here(struct clock_pairing *p)
{
	cpu_set_t own;

	if (sched_getaffinity(0, sizeof(own), &own) < 0)
		return;
	add_pairs(p);
	sched_setaffinity(0, sizeof(own), &own);
}

static void begin_pairs(struct clock *c)
{
	struct clock_pairing *p = mem_zalloc(sizeof(*p));
	pthread_condattr_t attr;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->over, &attr);
	pthread_condattr_destroy(&attr);
	if (sched_getaffinity(0, sizeof(p->cpus), &p->cpus) == 0)
		add_pairs_here(p);
	p->measures = pthread_create(&p->thread, NULL, measure_pairs, p) == 0;
	c->pairing = p;
	c->live = live_clock_new();
}

static void end_pairs(struct clock_pairing *p)
{
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	pthread_cond_signal(&p->over);
	pthread_mutex_unlock(&p->lock);
	if (p->measures)
		pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->over);
	pthread_mutex_destroy(&p->lock);
	vec_free(&p->pairs);
	free(p);
}

void clock_take_pairs(struct clock *c, struct trace_info *info)
{
	struct clock_pairing *p = c->pairing;
	const size_t before = info->clock_pairs.n;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->pairs.n && info->clock_pairs.n < TRACE_CLOCK_PAIRS_MAX; i++)
		*vec_add(&info->clock_pairs) = p->pairs.at[i];
	p->pairs.n = 0;
	pthread_mutex_unlock(&p->lock);
	if (info->clock_pairs.n > before)
		live_clock_add(c->live, info, now_ns(CLOCK_MONOTONIC_RAW));
}

uint64_t clock_shown(const struct clock *c, uint64_t tsc, uint64_t ns)
{
	if (!c->live || !live_clock_pairs(c->live))
		return tsc;
	return live_clock_at(c->live, ns - live_clock_error(c->live));
}

uint64_t clock_latest(const struct clock *c, uint64_t tsc, uint64_t ns)
{
	if (!c->live || !live_clock_pairs(c->live))
		return tsc;
	return live_clock_at(c->live, ns + live_clock_error(c->live));
}

uint64_t clock_present(const struct clock *c)
{
	return clock_shown(c, clock_tsc(), now_ns(CLOCK_MONOTONIC_RAW));
}

void clock_place(const struct clock *c, struct event *e)
{
	const uint64_t stamp = e->tsc;

	if (!c->live)
		return;
	e->tsc = live_clock_tsc(c->live, e->cpu, stamp);
	if (e->kind == EVENT_SPAN)
		e->begin = live_clock_tsc(c->live, e->cpu, e->begin);
	else if (e->kind == EVENT_SLEPT) /* on which CPU it began, no record tells */
		e->begin += e->tsc - stamp;
}

/* The error is that of the times that were shown. */
static void say_printed(const struct live_clock *live, struct trace_message *m)
{
	m->count = (uint32_t)live_clock_pairs(live);
	snprintf(m->name, sizeof(m->name), "%s %" PRIu64, MESSAGE_CLOCK_PRINTED,
		 live_clock_error(live));
}

struct trace_message clock_message(const struct clock *c, const struct trace_info *info,
				   bool placed)
{
	struct trace_message m = { .kind = MESSAGE_CLOCK, .count = 1, .number = c->apart_ns };
	struct clock_pairs *pairs = placed ? clock_pairs_new(info) : NULL;

	if (!placed)
		snprintf(m.name, sizeof(m.name), "%s", MESSAGE_CLOCK_PRINTED);
	if (!placed && c->printed && c->live)
		say_printed(c->live, &m);
	if (!pairs)
		return m;
	m.count = (uint32_t)info->clock_pairs.n;
	snprintf(m.name, sizeof(m.name), "%" PRIu64, clock_pairs_error(pairs));
	clock_pairs_free(pairs);
	return m;
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
	if (!c->steady)
		begin_pairs(c);
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

static void join_asking(struct clock *c)
{
	if (c->asking)
		pthread_join(c->thread, NULL);
	c->asking = false;
}

void clock_refine(struct clock *c, struct trace_clock *clock)
{
	join_asking(c);
	if (c->pairing)
		add_pairs_here(c->pairing);
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
	join_asking(c);
	if (c->pairing)
		end_pairs(c->pairing);
	live_clock_free(c->live);
	c->pairing = NULL;
	c->live = NULL;
}
