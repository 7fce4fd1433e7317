/* SPDX-License-Identifier: MIT */
/* Pages wait in memory until their records' turn comes: rings are read one after the other while
 * threads move between CPUs, so that what is later than the beginning of a pass is held back.
 * source.c and tracepoints_rings.c call it, on the session's thread. A ring that cannot be read is
 * -errno and a sentence. */
#include "kernel/rings.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy of a page, owned by its ring until its last record has been given. from: records before
 * this byte were in an earlier page. */
struct held_page { uint8_t *bytes; size_t n, from; };

struct kernel_ring {
	struct kernel_ring_reader *reader; /* NULL: none */
	VEC(struct held_page) pages; /* from `at` on not read through */
	size_t at;
	uint16_t cpu;
	bool elsewhere;         /* of the second instance */
	bool more;              /* the pass ended before the ring was empty */
	bool begun;             /* `page` reads pages.at[at] */
	bool ready;             /* `next` is a record */
	struct kernel_page page;
	struct kernel_page_record next;
	uint64_t told;          /* records missing before `next`, to be told first */
	uint64_t lost;
};

struct kernel_rings {
	struct kernel_records *records;
	VEC(struct kernel_ring) at;    /* by CPU; behind them the second instance's */
	uint16_t cpus;
	struct kernel_elsewhere *elsewhere; /* or NULL */
	const struct live_clock *clock; /* NULL: the TSC is steady */
};

/* No ring has a reader yet: pages come by kernel_rings_add(), or readers by open_ring(). */
struct kernel_rings *kernel_rings_empty(struct kernel_records *records)
{
	struct kernel_rings *r = mem_zalloc(sizeof(*r));

	r->records = records;
	return r;
}

/* CPUs may have gaps in their numbers, where others are offline: these get a ring without a
 * reader. */
static struct kernel_ring *ring_of(struct kernel_rings *r, uint16_t cpu)
{
	for (; r->cpus <= cpu; r->cpus++)
		*vec_add(&r->at) = (struct kernel_ring){ .cpu = r->cpus };
	return &r->at.at[cpu];
}

/* Each open counts as a reader, which keeps the instance from being removed. */
static int open_ring(struct kernel_rings *r, const char *instance, uint16_t cpu,
		     enum kernel_ring_way best, struct err *err)
{
	char *path = mem_printf("%s/per_cpu/cpu%u/trace_pipe_raw", instance, cpu);
	struct kernel_ring *g;
	int e;

	if (r->elsewhere)
		*vec_add(&r->at) = (struct kernel_ring){ .cpu = cpu, .elsewhere = true };
	g = r->elsewhere ? &r->at.at[r->at.n - 1] : ring_of(r, cpu);
	e = kernel_ring_open(path, best, &g->reader, err);
	free(path);
	return e;
}

static int open_rings(struct kernel_rings *r, const char *instance, enum kernel_ring_way best,
		      struct err *err)
{
	char *path = mem_printf("%s/per_cpu", instance);
	DIR *dir = opendir(path);
	struct dirent *d;
	unsigned cpu;
	int e = 0;

	if (!dir)
		e = err_set(err, errno, "cannot read %s: %s", path, strerror(errno));
	while (!e && (d = readdir(dir)))
		if (sscanf(d->d_name, "cpu%u", &cpu) == 1 && cpu < UINT16_MAX)
			e = open_ring(r, instance, (uint16_t)cpu, best, err);
	if (dir)
		closedir(dir);
	free(path);
	return e;
}

int kernel_rings_open(const char *instance, struct kernel_records *records,
		      enum kernel_ring_way best, struct kernel_rings **out, struct err *err)
{
	int e;

	*out = kernel_rings_empty(records);
	e = open_rings(*out, instance, best, err);
	if (e) {
		kernel_rings_free(*out);
		*out = NULL;
	}
	return e;
}

int kernel_rings_open_elsewhere(struct kernel_rings *r, const char *instance,
				struct kernel_elsewhere *elsewhere, enum kernel_ring_way best,
				struct err *err)
{
	r->elsewhere = elsewhere;
	return open_rings(r, instance, best, err);
}

/* The page is copied. n + 1, because an empty page is a pointer, too. */
static void hold_page(struct kernel_ring *g, const void *page, size_t n, size_t from)
{
	struct held_page *p = vec_add(&g->pages);

	p->n = n;
	p->from = from;
	p->bytes = mem_realloc(NULL, n + 1, 1);
	memcpy(p->bytes, page, n);
}

/* Used by tracepoints_rings.c, which makes pages of perf's records in the same form. */
void kernel_rings_add(struct kernel_rings *r, uint16_t cpu, const void *page, size_t n,
		      size_t from)
{
	hold_page(ring_of(r, cpu), page, n, from);
}

struct page_adding { struct kernel_ring *ring; size_t *taken; };

static void add_page(void *context, const void *page, size_t n, size_t from)
{
	struct page_adding *a = context;

	hold_page(a->ring, page, n, from);
	++*a->taken;
}

/* `most` bounds the pages of one pass, so that one busy CPU does not keep the others waiting;
 * `more` remembers that it was not read to its end. */
static int read_ring(struct kernel_ring *g, size_t most, size_t *taken, struct err *err)
{
	struct page_adding a = { g, taken };
	int e = g->reader ? kernel_ring_take(g->reader, most, add_page, &a, &g->more) : 0;

	return e ? err_set(err, -e, "cannot read the kernel's buffer of CPU %u: %s", g->cpu,
			   strerror(-e)) : 0;
}

/* Losses stand at the beginning of the page before which they happened. An unknown number is at
 * least one. */
static void begin_page(struct kernel_ring *g)
{
	const struct held_page *p = &g->pages.at[g->at];

	kernel_page_begin(&g->page, p->bytes, p->n);
	kernel_page_skip(&g->page, p->from);
	g->begun = true;
	if (!g->page.lost)
		return;
	g->told = g->page.lost;
	g->lost += g->page.lost == KERNEL_PAGE_LOST_UNKNOWN ? 1 : g->page.lost;
}

/* Makes the ring's next record ready; false: it has none. */
static bool look_ahead(struct kernel_ring *g)
{
	while (!g->ready && g->at < g->pages.n) {
		if (!g->begun)
			begin_page(g);
		g->ready = kernel_page_next(&g->page, &g->next);
		if (g->ready)
			break;
		/* A damaged page is one loss: nobody can count its records behind the damage. */
		g->lost += g->page.bad;
		free(g->pages.at[g->at].bytes);
		g->pages.at[g->at++].bytes = NULL;
		g->begun = false;
		if (g->at == g->pages.n)
			g->at = g->pages.n = 0;
	}
	return g->ready;
}

void kernel_rings_set_clock(struct kernel_rings *r, const struct live_clock *clock)
{
	r->clock = clock;
}

/* The comparison of rings needs right times, and where the TSC is not steady each CPU has its
 * own. */
static uint64_t next_time(const struct kernel_rings *r, const struct kernel_ring *g)
{
	return r->clock ? live_clock_tsc(r->clock, g->cpu, g->next.tsc) : g->next.tsc;
}

/* The ring with the earliest record; NULL: all are empty, or one is here and not in the kernel, so
 * that what comes from there may be earlier. Of equal stamps the lower CPU's comes first, always,
 * so that two readings give one text. */
static struct kernel_ring *earliest(struct kernel_rings *r)
{
	struct kernel_ring *best = NULL;

	for (size_t i = 0; i < r->at.n; i++) {
		struct kernel_ring *g = &r->at.at[i];

		if (!look_ahead(g) && g->more)
			return NULL;
		if (g->ready && (!best || next_time(r, g) < next_time(r, best)))
			best = g;
	}
	return best;
}

/* Calls that records before have made. */
static int give_elsewhere(struct kernel_rings *r, kernel_rings_sink *sink, void *context,
			  struct err *err)
{
	struct event e;
	int error = 0;

	while (!error && kernel_elsewhere_next(r->elsewhere, &e))
		error = sink(context, &e, err);
	return error;
}

/* The second instance records other tasks: a loss in it tells of no thread of the program, so it
 * ends what elsewhere.c was following on that CPU. */
static int take_elsewhere(struct kernel_rings *r, struct kernel_ring *g, kernel_rings_sink *sink,
			  void *context, struct err *err)
{
	if (g->told)
		kernel_elsewhere_lost(r->elsewhere, g->cpu, g->next.tsc);
	g->told = 0;
	kernel_elsewhere_take(r->elsewhere, g->cpu, &g->next);
	g->lost += kernel_elsewhere_forgotten(r->elsewhere);
	return give_elsewhere(r, sink, context, err);
}

/* Gives a record's event, and before it what is missing there. */
static int give_own(struct kernel_rings *r, struct kernel_ring *g, kernel_rings_sink *sink,
		    void *context, struct err *err)
{
	struct event e, lost;
	int error = 0;

	if (!kernel_records_event(r->records, g->cpu, &g->next, &e))
		return 0;
	lost = (struct event){ .kind = EVENT_LOST, .tsc = e.tsc, .thread = e.thread, .cpu = g->cpu,
			       .count = g->told };
	if (g->told)
		error = sink(context, &lost, err);
	g->told = 0;
	return error ? error : sink(context, &e, err);
}

/* Elsewhere hears of the program's record first: it may cause what comes next. */
static int give_next(struct kernel_rings *r, struct kernel_ring *g, kernel_rings_sink *sink,
		     void *context, struct err *err)
{
	int e = 0;

	g->ready = false;
	if (g->elsewhere)
		return take_elsewhere(r, g, sink, context, err);
	if (r->elsewhere) {
		kernel_elsewhere_cause(r->elsewhere, g->cpu, &g->next);
		g->lost += kernel_elsewhere_forgotten(r->elsewhere);
		e = give_elsewhere(r, sink, context, err);
	}
	return e ? e : give_own(r, g, sink, context, err);
}

int kernel_rings_read(struct kernel_rings *r, size_t most, size_t *taken, struct err *err)
{
	int e = 0;

	*taken = 0;
	for (size_t i = 0; i < r->at.n && !e; i++)
		e = read_ring(&r->at.at[i], most, taken, err);
	return e;
}

/* All rings of an instance are opened alike: the first one with a reader speaks for all. */
const char *kernel_rings_way(const struct kernel_rings *r)
{
	for (size_t i = 0; i < r->at.n; i++)
		if (r->at.at[i].reader)
			return kernel_ring_way_name(r->at.at[i].reader);
	return "none";
}

int kernel_rings_give(struct kernel_rings *r, uint64_t until, kernel_rings_sink *sink,
		      void *context, struct err *err)
{
	struct kernel_ring *g;
	int e = 0;

	while (!e && (g = earliest(r)) && next_time(r, g) <= until)
		e = give_next(r, g, sink, context, err);
	return e;
}

/* A sum over rings, because a CPU has one in each instance. */
uint64_t kernel_rings_lost(const struct kernel_rings *r, uint16_t cpu, bool elsewhere)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < r->at.n; i++)
		if (r->at.at[i].cpu == cpu && r->at.at[i].elsewhere == elsewhere)
			lost += r->at.at[i].lost;
	return lost;
}

uint16_t kernel_rings_cpus(const struct kernel_rings *r)
{
	return r->cpus;
}

void kernel_rings_free(struct kernel_rings *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->at.n; i++) {
		for (size_t k = r->at.at[i].at; k < r->at.at[i].pages.n; k++)
			free(r->at.at[i].pages.at[k].bytes);
		vec_free(&r->at.at[i].pages);
		kernel_ring_close(r->at.at[i].reader);
	}
	vec_free(&r->at);
	free(r);
}
