/* SPDX-License-Identifier: MIT */
/* Owns the lines of the CPUs, on the thread that reads the session's records. Called by
 * collect/clock.c, which has the pairs, and through it by those that show records as they come.
 * Nothing here fails.
 *
 * A line is a list of nodes. A stamp that is asked for is never behind the present, so that all
 * nodes up to the present stand, and those behind it may be replaced. */
#include "trace/live_clock.h"

#include "base/mem.h"
#include "trace/clock_pairs.h"

#define NS UINT64_C(1000000000)
/* Two pairs tell a CPU's rate if they lie so far apart: parts of a second. The error of a reading,
 * a microsecond, is two hundred-thousandths of it. */
#define RATE_PARTS 20
/* A line meets again after so long what its latest pair says; about as long as to the next one. */
#define BEND_PARTS 10
/* Stamps are believed to be no further ahead of the present than this: processors that differ in
 * rate, since the pair. */
#define AHEAD_PARTS 1000

/* A CPU's TSC, and what a steady one would have been then. */
struct line_node { uint64_t tsc, steady; };

struct cpu_line {
	VEC(struct line_node) nodes; /* by tsc; none: the CPU has no pairs */
	/* pairs: the latest one, and one that tells the rate with it */
	struct line_node last, base;
	uint64_t dx, dy;             /* the line's slope behind its nodes */
};

struct live_clock {
	VEC(struct cpu_line) cpus;     /* by number */
	struct trace_clock_pair first; /* of all */
	uint64_t hz, window, off;      /* the greatest half of a reading, the greatest distance */
	size_t taken;                  /* of info's pairs */
};

struct live_clock *live_clock_new(void)
{
	return mem_zalloc(sizeof(struct live_clock));
}

static uint64_t line_at(const struct cpu_line *c, uint64_t tsc)
{
	const size_t n = vec_bisect(&c->nodes, q, q->tsc <= tsc);
	const struct line_node *a = &c->nodes.at[n ? n - 1 : 0], *b = a + 1;

	if (!n)
		return a->steady - (a->tsc - tsc);
	if (n == c->nodes.n)
		return a->steady + clock_scaled(tsc - a->tsc, c->dy, c->dx);
	return a->steady + clock_scaled(tsc - a->tsc, b->steady - a->steady, b->tsc - a->tsc);
}

uint64_t live_clock_tsc(const struct live_clock *l, uint16_t cpu, uint64_t tsc)
{
	return cpu < l->cpus.n && l->cpus.at[cpu].nodes.n ? line_at(&l->cpus.at[cpu], tsc) : tsc;
}

uint64_t live_clock_at(const struct live_clock *l, uint64_t ns)
{
	return l->hz ? clock_pair_steady(&l->first, l->hz, ns) : 0;
}

/* A rate from pairs too near to each other would be their readings' error. */
static void take_rate(struct cpu_line *c, const struct line_node *pair, uint64_t hz)
{
	if (pair->tsc - c->last.tsc >= hz / RATE_PARTS)
		c->base = c->last;
	c->last = *pair;
	c->dx = c->dy = 1;
	if (pair->tsc - c->base.tsc >= hz / RATE_PARTS) {
		c->dx = pair->tsc - c->base.tsc;
		c->dy = pair->steady - c->base.steady;
	}
}

/* From the present on the line goes to where the pair and the rate lead. It never falls, however
 * far the pair lies below it. Up to there it keeps its old rate. */
static void bend_line(struct cpu_line *c, const struct line_node *pair, uint64_t now, uint64_t hz)
{
	const uint64_t since = now > pair->steady ? now - pair->steady : 0;
	const uint64_t from = pair->tsc + since + hz / AHEAD_PARTS, to = from + hz / BEND_PARTS;
	const uint64_t begins = line_at(c, from);
	uint64_t ends;

	take_rate(c, pair, hz);
	ends = pair->steady + clock_scaled(to - pair->tsc, c->dy, c->dx);
	c->nodes.n = vec_bisect(&c->nodes, q, q->tsc < from);
	ends = ends > begins ? ends : begins + 1;
	*vec_add(&c->nodes) = (struct line_node){ from, begins };
	*vec_add(&c->nodes) = (struct line_node){ to, ends };
}

/* A TSC that went back, as after a suspend, has no line: such a pair is left out. */
static void add_pair(struct live_clock *l, const struct trace_clock_pair *pair, uint64_t now)
{
	const struct line_node node = { pair->tsc, clock_pair_steady(&l->first, l->hz, pair->ns) };
	struct cpu_line *c;
	uint64_t off;

	while (l->cpus.n <= pair->cpu)
		*vec_add(&l->cpus) = (struct cpu_line){ 0 };
	c = &l->cpus.at[pair->cpu];
	l->window = pair->window / 2 + 1 > l->window ? pair->window / 2 + 1 : l->window;
	if (!c->nodes.n) {
		*vec_add(&c->nodes) = c->base = c->last = node;
		c->dx = c->dy = 1;
		return;
	}
	if (node.tsc <= c->last.tsc || node.steady <= c->last.steady)
		return;
	off = line_at(c, node.tsc);
	off = off > node.steady ? off - node.steady : node.steady - off;
	l->off = off > l->off ? off : l->off;
	bend_line(c, &node, now, l->hz);
}

void live_clock_add(struct live_clock *l, const struct trace_info *info, uint64_t now_ns)
{
	if (!l->hz && info->clock_pairs.n) {
		l->hz = info->clock.hz;
		l->first = info->clock_pairs.at[0];
	}
	for (; l->hz && l->taken < info->clock_pairs.n; l->taken++)
		add_pair(l, &info->clock_pairs.at[l->taken], live_clock_at(l, now_ns));
}

uint64_t live_clock_error(const struct live_clock *l)
{
	return clock_scaled(l->off + l->window, NS, l->hz);
}

size_t live_clock_pairs(const struct live_clock *l)
{
	return l->taken;
}

void live_clock_free(struct live_clock *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->cpus.n; i++)
		vec_free(&l->cpus.at[i].nodes);
	vec_free(&l->cpus);
	free(l);
}
