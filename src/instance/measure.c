/* SPDX-License-Identifier: MIT */
/* Threads of brace's own, begun and joined by instance/measuring.c. Each has its struct
 * measure_thread for itself; `over` is the only word that others write. A thread that may not run
 * on its processor (it is offline, or a cpuset forbids it) ends without a record. */
#include "instance/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu_interrupts.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/monotonic.h"
#include "base/thread_account.h"
#include "base/vec.h"
#include "collect/clock.h"

/* A thread sees `over` after one nap at the latest: this bounds measure_stop(), and with it a write
 * to current_tracer. */
#define NAP_NS 50000000u       /* between two looks whether anybody wants to know */
#define STACK_BYTES 262144u

struct measure_thread {
	struct measure *measure;
	pthread_t thread;
	unsigned cpu;
	uint32_t who;
};

/* A measurement: what the threads of a tracer do. */
struct measurement {
	const char *tracer;   /* its name in model/tracer.c */
	const char *threads;  /* theirs, the kernel's, which rtla looks for; /CPU comes behind it */
	/* Until measure.over, on the thread's processor. */
	void (*run)(const struct measure_thread *t);
	uint64_t thresh_ns;   /* of a gap that counts, where tracing_thresh is 0 */
	/* Whether one thread measures on all processors; NULL: no. */
	bool (*is_alone)(const struct osnoise_settings *s);
	/* osnoise/cpus and OSNOISE_WORKLOAD are its: else tracing_cpumask, and it always runs. */
	bool osnoise;
};

struct measure {
	const struct measurement *measurement;
	struct measure_request request;
	struct measure_use use;
	atomic_bool over;
	atomic_uint hwlat_records;
	VEC(struct measure_thread) threads;
};

/* 128 bits: ns * hz leaves 64 after some seconds. */
static uint64_t ticks_of(const struct measure *m, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * m->request.hz / 1000000000u);
}

static uint64_t us_of(const struct measure *m, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * 1000000u / m->request.hz);
}

/* The shortest gap that counts, in ticks. */
static uint64_t thresh_of(const struct measure *m)
{
	return ticks_of(m, m->request.thresh_ns ? m->request.thresh_ns
						: m->measurement->thresh_ns);
}

/* Sleeps until then (CLOCK_MONOTONIC), or until it is over. */
static void sleep_until(const struct measure *m, uint64_t ns)
{
	for (uint64_t now = monotonic_ns(); now < ns && !flag_is_set(&m->over);
	     now = monotonic_ns()) {
		uint64_t to = ns - now > NAP_NS ? now + NAP_NS : ns;
		struct timespec t = { (time_t)(to / 1000000000u), (long)(to % 1000000000u) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

static void put_record(const struct measure_thread *t, unsigned cpu, const void *record,
		       size_t bytes)
{
	const struct measure *m = t->measure;

	m->use.record(m->use.arg, m->request.tracer, t->who, cpu, clock_tsc(), record, bytes);
}

/* --- osnoise ---------------------------------------------------------------------------------- */

/* The number of times that the thread has been switched away. Both kinds: a busy thread yields at a
 * fault, too. */
static uint64_t switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? 0 : (uint64_t)(u.ru_nvcsw + u.ru_nivcsw);
}

/* A sample while it grows, in ticks. */
struct osnoise_sums { uint64_t noise, max, gaps, threads, switched; };

/* Adds a gap; to classify and tell it takes microseconds, which are not noise. */
static void add_gap(const struct measure_thread *t, struct osnoise_sums *s, uint64_t ticks)
{
	const struct measure *m = t->measure;
	uint64_t now = switches();
	uint64_t ns = (uint64_t)((unsigned __int128)ticks * 1000000000u / m->request.hz);

	s->noise += ticks;
	s->max = ticks > s->max ? ticks : s->max;
	s->gaps++;
	s->threads += now != s->switched;
	m->use.gap(m->use.arg, t->who, t->cpu, monotonic_ns() - ns, ns, now != s->switched);
	s->switched = now;
}

/* The limits of osnoise/stop_tracing_us and stop_tracing_total_us; 0 is none. */
static bool is_too_noisy(const struct measure *m, const struct osnoise_sums *s, uint64_t gap)
{
	const struct osnoise_settings *o = &m->request.settings;

	return (o->stop_us && us_of(m, gap) > o->stop_us) ||
	       (o->stop_total_us && us_of(m, s->noise) > o->stop_total_us);
}

/* Reads the TSC for the runtime of a sample. Returns how long that was, in ticks. A TSC that seems
 * to run backwards (the firmware wrote it) is a gap of 0, not of 2^64. `last` is read again behind
 * a gap, or the time that add_gap() takes would be the next one. */
static uint64_t watch_tsc(const struct measure_thread *t, struct osnoise_sums *s)
{
	const struct measure *m = t->measure;
	const uint64_t thresh = thresh_of(m);
	const uint64_t runtime = ticks_of(m, m->request.settings.runtime_us * 1000);
	const uint64_t began = clock_tsc();
	uint64_t last = began;

	while (last - began < runtime && !flag_is_set(&m->over)) {
		uint64_t now = clock_tsc(), gap = now > last ? now - last : 0;

		last = now;
		if (gap < thresh)
			continue;
		add_gap(t, s, gap);
		if (is_too_noisy(m, s, gap))
			m->use.stop(m->use.arg);
		last = clock_tsc();
	}
	return last - began;
}

/* Gaps that nothing of this system is known to have made are the hardware's, or a hypervisor's.
 * Softirqs run behind interrupts, within their gaps: they explain none of their own. */
static void count_causes(const struct osnoise_sums *s, const struct cpu_interrupts *before,
			 const struct cpu_interrupts *after, struct measure_osnoise *out)
{
	uint64_t others = s->gaps - s->threads;

	out->nmi = (uint32_t)(after->nmis - before->nmis);
	out->irq = (uint32_t)(after->interrupts - before->interrupts);
	out->softirq = (uint32_t)(after->softirqs - before->softirqs);
	out->thread = (uint32_t)s->threads;
	if (others > (uint64_t)out->nmi + out->irq)
		out->hw = (uint32_t)others - out->nmi - out->irq;
}

/* One sample of osnoise: watch for the runtime, then one record. A sample that the end cut short
 * would count as a quiet one, and is dropped. */
static void sample_noise(const struct measure_thread *t)
{
	const struct measure *m = t->measure;
	struct osnoise_sums s = { .switched = switches() };
	struct cpu_interrupts before, after;
	struct measure_osnoise record = { 0 };

	cpu_interrupts_read(t->cpu, &before);
	record.runtime = us_of(m, watch_tsc(t, &s));
	cpu_interrupts_read(t->cpu, &after);
	if (flag_is_set(&m->over))
		return;
	record.noise = us_of(m, s.noise);
	record.max_sample = us_of(m, s.max);
	count_causes(&s, &before, &after, &record);
	put_record(t, t->cpu, &record, sizeof(record));
}

/* SCHED_IDLE: whatever else wants the processor gets it, and shows as noise. So a busy loop does
 * no harm to the programs that are measured beside it. */
static void run_osnoise(const struct measure_thread *t)
{
	const struct osnoise_settings *s = &t->measure->request.settings;
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!flag_is_set(&t->measure->over)) {
		uint64_t next = monotonic_ns() + s->period_us * 1000;

		if (!t->measure->use.wanted(t->measure->use.arg)) {
			sleep_until(t->measure, monotonic_ns() + NAP_NS);
			continue;
		}
		sample_noise(t);
		sleep_until(t->measure, next);
	}
}

/* --- timerlat --------------------------------------------------------------------------------- */

/* For how long the thread has waited for a processor, in ns; 0: the kernel does not tell. */
static uint64_t run_delay(int schedstat)
{
	struct thread_account a = { 0 };
	char bytes[128];
	ssize_t n = pread(schedstat, bytes, sizeof(bytes), 0);

	return n > 0 && !thread_account_schedstat(bytes, (size_t)n, &a) ? a.delay_ns : 0;
}

/* most_us: the limit that ends the recording; 0: none. */
static void tell_latency(const struct measure_thread *t, uint32_t seq, int context, uint64_t ns,
			 uint64_t most_us)
{
	const struct measure *m = t->measure;
	const struct measure_timerlat record = { seq, context, ns };

	put_record(t, t->cpu, &record, sizeof(record));
	if (most_us && ns > most_us * 1000)
		m->use.stop(m->use.arg);
}

/* Both records are of one time: that of the timer, and that of the thread. The thread's run delay
 * is the part of the lateness in which it could have run and did not: the rest was the timer's. */
static void take_latency(const struct measure_thread *t, uint32_t seq, uint64_t late,
			 uint64_t delay)
{
	const struct osnoise_settings *s = &t->measure->request.settings;

	tell_latency(t, seq, MEASURE_IRQ, late > delay ? late - delay : 0, s->stop_us);
	tell_latency(t, seq, MEASURE_THREAD, late, s->stop_total_us);
}

/* The time slack is 1 ns: the kernel's default of 50 us would show as latency. */
static void run_timerlat(const struct measure_thread *t)
{
	const struct measure *m = t->measure;
	const uint64_t period = m->request.settings.timerlat_period_us * 1000;
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	uint64_t next = monotonic_ns();
	uint32_t seq = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	while (!flag_is_set(&m->over)) {
		uint64_t delay = run_delay(schedstat), now;

		if (!m->use.wanted(m->use.arg)) {
			sleep_until(m, next = monotonic_ns() + NAP_NS);
			continue;
		}
		/* Times that have passed meanwhile are left out, as in the kernel. */
		for (now = monotonic_ns(), next += period; next < now;)
			next += (now - next) / period * period + period;
		sleep_until(m, next);
		now = monotonic_ns();
		if (!flag_is_set(&m->over) && now >= next)
			take_latency(t, ++seq, now - next, run_delay(schedstat) - delay);
	}
	if (schedstat >= 0)
		close(schedstat);
}

/* --- hwlat ------------------------------------------------------------------------------------ */

static bool stay_on(unsigned cpu);

/* A window while it grows: gaps in ticks. */
struct hwlat_sums { uint64_t inner, outer, switched; uint32_t count; struct timespec first; };

/* A gap in which the thread was switched away is not the hardware's. */
static void add_latency(struct hwlat_sums *s, uint64_t inner, uint64_t outer)
{
	uint64_t now = switches();

	if (now != s->switched) {
		s->switched = now;
		return;
	}
	if (!s->count++)
		clock_gettime(CLOCK_REALTIME, &s->first);
	s->inner = inner > s->inner ? inner : s->inner;
	s->outer = outer > s->outer ? outer : s->outer;
}

/* Pairs of readings of the TSC, as in the kernel's hwlat: `inner` is a gap within a pair, `outer`
 * one between two pairs. */
static void watch_pairs(const struct measure *m, uint64_t thresh, struct hwlat_sums *s)
{
	const uint64_t width = ticks_of(m, m->request.settings.hwlat_width_us * 1000);
	const uint64_t began = clock_tsc();
	uint64_t last = 0, one, two = began;

	while (two - began < width && !flag_is_set(&m->over)) {
		uint64_t inner, outer;

		one = clock_tsc();
		two = clock_tsc();
		inner = two > one ? two - one : 0;
		outer = last && one > last ? one - last : 0;
		last = two;
		if (inner <= thresh && outer <= thresh)
			continue;
		add_latency(s, inner, outer);
		last = 0; /* the look took time itself */
	}
}

/* A record only if there was a latency: hwlat is silent otherwise, as in the kernel. */
static void watch_window(const struct measure_thread *t, unsigned cpu)
{
	struct measure *m = t->measure;
	struct hwlat_sums s = { .switched = switches() };
	struct cpu_interrupts before, after;
	struct measure_hwlat record = { 0 };

	cpu_interrupts_read(cpu, &before);
	watch_pairs(m, thresh_of(m), &s);
	cpu_interrupts_read(cpu, &after);
	if (flag_is_set(&m->over) || !s.count)
		return;
	record.inner = us_of(m, s.inner);
	record.outer = us_of(m, s.outer);
	record.seconds = s.first.tv_sec;
	record.ns = s.first.tv_nsec;
	record.nmis = (uint32_t)(after.nmis - before.nmis);
	/* Relaxed: threads count in it, and nothing is read by it. */
	record.seq = 1 + atomic_fetch_add_explicit(&m->hwlat_records, 1, memory_order_relaxed);
	record.count = s.count;
	put_record(t, cpu, &record, sizeof(record));
}

/* The next processor on which the thread may run, round the mask. */
static unsigned next_cpu(const struct measure *m, unsigned cpu)
{
	const struct cpumask *cpus = &m->request.settings.cpus;

	for (unsigned i = 1; i <= cpus->n; i++) {
		unsigned next = (cpu + i) % cpus->n;

		if (cpumask_has(cpus, next) && stay_on(next))
			return next;
	}
	return cpu;
}

/* The mode round-robin moves the one thread on after each window. */
static void run_hwlat(const struct measure_thread *t)
{
	const struct measure *m = t->measure;
	struct sched_param none = { 0 };
	unsigned cpu = t->cpu;

	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!flag_is_set(&m->over)) {
		uint64_t next = monotonic_ns() + m->request.settings.hwlat_window_us * 1000;

		if (!m->use.wanted(m->use.arg)) {
			sleep_until(m, monotonic_ns() + NAP_NS);
			continue;
		}
		watch_window(t, cpu);
		sleep_until(m, next);
		if (m->request.settings.hwlat_mode == HWLAT_ROUND_ROBIN)
			cpu = next_cpu(m, cpu);
	}
}

static bool hwlat_is_alone(const struct osnoise_settings *s)
{
	return s->hwlat_mode != HWLAT_PER_CPU;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* False: the processor is not for this thread (offline, or outside of its cpuset). */
static bool stay_on(unsigned cpu)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	int e;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	e = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return e == 0;
}

/* A tracer that measures is a row. */
static const struct measurement measurements[] = {
	{ "osnoise", "osnoise", run_osnoise, 1000, NULL, true },
	{ "timerlat", "timerlat", run_timerlat, 0, NULL, true },
	{ "hwlat", "hwlatd", run_hwlat, 10000, hwlat_is_alone, false },
};

/* NULL: none is of the tracer. */
static const struct measurement *measurement_of(const struct tracer *t)
{
	for (size_t i = 0; t && i < sizeof(measurements) / sizeof(*measurements); i++)
		if (!strcmp(measurements[i].tracer, t->name))
			return &measurements[i];
	return NULL;
}

static bool is_alone(const struct measure *m)
{
	return m->measurement->is_alone && m->measurement->is_alone(&m->request.settings);
}

static void *measure_thread(void *arg)
{
	struct measure_thread *t = arg;
	struct measure *m = t->measure;
	char name[16];

	if (is_alone(m))
		snprintf(name, sizeof(name), "%s", m->measurement->threads);
	else
		snprintf(name, sizeof(name), "%s/%u", m->measurement->threads, t->cpu);
	pthread_setname_np(pthread_self(), name);
	if (!stay_on(t->cpu))
		return NULL;
	t->who = m->use.begin(m->use.arg, gettid());
	m->measurement->run(t);
	return NULL;
}

/* 0, or an errno. A small stack, because there is one for each of perhaps hundreds of
 * processors. */
static int start_thread(struct measure_thread *t)
{
	pthread_attr_t small;
	int e;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	e = pthread_create(&t->thread, &small, measure_thread, t);
	pthread_attr_destroy(&small);
	return e;
}

void measure_request_make(const struct tracer *t, const struct settings *top,
			  struct measure_request *r)
{
	const struct measurement *of = measurement_of(t);

	memset(r, 0, sizeof(*r));
	if (!t || (of && of->osnoise &&
		   !(top->osnoise.options >> OSNOISE_OPTION_OSNOISE_WORKLOAD & 1)))
		return;
	r->tracer = t;
	r->settings = top->osnoise;
	if (of && !of->osnoise)
		r->settings.cpus = top->cpumask;
	r->thresh_ns = top->tracing_thresh_ns;
}

/* All threads, or none and *err: a tracer that measured on some processors alone would seem to tell
 * that the others are quiet. A processor that is offline is no failure: its thread ends by itself
 * (stay_on()). */
struct measure *measure_start(const struct measure_request *r, const struct measure_use *use,
			      struct err *err)
{
	const struct measurement *of = measurement_of(r->tracer);
	struct measure *m;

	if (!of) {
		err_set(err, ENOSYS, "brace has no measurement for the tracer %s", r->tracer->name);
		return NULL;
	}
	m = mem_zalloc(sizeof(*m));
	m->measurement = of;
	m->request = *r;
	m->use = *use;
	/* All first: the threads keep their addresses. */
	for (unsigned cpu = 0; cpu < r->settings.cpus.n; cpu++)
		if (cpumask_has(&r->settings.cpus, cpu) && !(m->threads.n && is_alone(m)))
			*vec_add(&m->threads) = (struct measure_thread){ .measure = m, .cpu = cpu };
	for (size_t i = 0; i < m->threads.n; i++) {
		int e = start_thread(&m->threads.at[i]);

		if (!e)
			continue;
		m->threads.n = i;
		measure_stop(m);
		err_set(err, e, "cannot start a thread that measures: %s", strerror(e));
		return NULL;
	}
	return m;
}

/* Returns when all have ended, after 50 ms at most; they call `use` until then. */
void measure_stop(struct measure *m)
{
	if (!m)
		return;
	flag_set(&m->over);
	for (size_t i = 0; i < m->threads.n; i++)
		pthread_join(m->threads.at[i].thread, NULL);
	vec_free(&m->threads);
	free(m);
}
