/* SPDX-License-Identifier: MIT */
/* Owns a sorted copy of the pairs, which nothing changes: any thread may ask. Called by src/store
 * for each event, and by those who say the error. The pairs may be a damaged file's. */
#include "trace/clock_pairs.h"

#include "base/mem.h"

#define NS UINT64_C(1000000000)

/* A pair of a CPU's clocks: its TSC, and what a steady TSC would have been then. */
struct point { uint64_t tsc, steady; };
typedef VEC(struct point) point_list;

struct clock_pairs {
	VEC(point_list) cpus;           /* by the CPU's number; each list by TSC */
	uint64_t reach, error;
};

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint64_t clock_scaled(uint64_t a, uint64_t b, uint64_t c)
{
	const unsigned __int128 r = c ? (unsigned __int128)a * b / c : 0;

	return r > UINT64_MAX ? UINT64_MAX : (uint64_t)r;
}

/* On the line through two points, between them. */
static uint64_t on_line(const struct point *a, const struct point *b, uint64_t tsc)
{
	return a->steady + clock_scaled(tsc - a->tsc, b->steady - a->steady, b->tsc - a->tsc);
}

uint64_t clock_pairs_tsc(const struct clock_pairs *p, uint16_t cpu, uint64_t tsc)
{
	const point_list *l = cpu < p->cpus.n ? &p->cpus.at[cpu] : NULL;
	size_t n;

	if (!l || !l->n)
		return tsc;
	n = vec_bisect(l, q, q->tsc <= tsc);
	if (n && n < l->n)
		return on_line(&l->at[n - 1], &l->at[n], tsc);
	return l->at[n ? n - 1 : 0].steady + (tsc - l->at[n ? n - 1 : 0].tsc);
}

uint64_t clock_pairs_reach(const struct clock_pairs *p) { return p->reach; }
uint64_t clock_pairs_error(const struct clock_pairs *p) { return p->error; }

uint64_t clock_pair_steady(const struct trace_clock_pair *first, uint64_t hz, uint64_t ns)
{
	const uint64_t ticks = clock_scaled(difference(ns, first->ns), hz, NS);

	return ns >= first->ns ? first->tsc + ticks : first->tsc - ticks;
}

/* A TSC that went back, as after a suspend, has no line: its pairs are left out. The stamp is the
 * middle of the reading. */
static void add_pair(struct clock_pairs *p, const struct trace_info *info,
		     const struct trace_clock_pair *pair)
{
	const struct point point = {
		pair->tsc, clock_pair_steady(&info->clock_pairs.at[0], info->clock.hz, pair->ns)
	};
	const uint64_t moved = difference(point.tsc, point.steady), half = pair->window / 2 + 1;
	point_list *l;

	while (p->cpus.n <= pair->cpu)
		*vec_add(&p->cpus) = (point_list){ 0 };
	l = &p->cpus.at[pair->cpu];
	if (l->n && (point.tsc <= l->at[l->n - 1].tsc || point.steady <= l->at[l->n - 1].steady))
		return;
	*vec_add(l) = point;
	p->reach = moved > p->reach ? moved : p->reach;
	p->error = half > p->error ? half : p->error;
}

/* The longest distance of a pair from its neighbours' line. Between the pairs themselves, which are
 * nearer to each other, a bend of that size is off by less. */
static uint64_t bend_of(const point_list *l)
{
	uint64_t bend = 0;

	for (size_t i = 1; i + 1 < l->n; i++) {
		const struct point *q = &l->at[i];
		const uint64_t off = difference(on_line(q - 1, q + 1, q->tsc), q->steady);

		bend = off > bend ? off : bend;
	}
	return bend;
}

struct clock_pairs *clock_pairs_new(const struct trace_info *info)
{
	struct clock_pairs *p;
	uint64_t bend = 0;

	if (!info->clock_pairs.n || !info->clock.hz)
		return NULL;
	p = mem_zalloc(sizeof(*p));
	for (size_t i = 0; i < info->clock_pairs.n; i++)
		add_pair(p, info, &info->clock_pairs.at[i]);
	for (size_t i = 0; i < p->cpus.n; i++) {
		const uint64_t b = bend_of(&p->cpus.at[i]);

		bend = b > bend ? b : bend;
	}
	p->error = clock_scaled(p->error + bend, NS, info->clock.hz);
	return p;
}

void clock_pairs_free(struct clock_pairs *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->cpus.n; i++)
		vec_free(&p->cpus.at[i]);
	vec_free(&p->cpus);
	free(p);
}
