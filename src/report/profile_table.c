/* SPDX-License-Identifier: MIT */
/* Prints the profile's rows. instance/profile.c calls it, on one of the tree's threads; sums are in
 * TSC ticks and converted here. Nothing fails: `out` keeps a write error for its owner. */
#include "report/profile_table.h"

#include <stdlib.h>
#include <string.h>

#include "report/format.h"

void profile_sums_add(struct profile_sums *to, const struct profile_sums *from)
{
	to->hits += from->hits;
	to->ticks += from->ticks;
	to->squares += from->squares;
}

/* The variance. With square = q * n + r, (n * squares - square) / n is squares - q - r / n, so that
 * no intermediate value exceeds the square of 64 bits. */
uint64_t profile_variance(const struct profile_sums *s, const struct trace_clock *clock)
{
	const unsigned __int128 square = (unsigned __int128)s->ticks * s->ticks;
	/* Nanoseconds a tick; 1 while the clock is not known. */
	const long double ns = clock->hz ? 1e9L / (long double)clock->hz : 1;
	unsigned __int128 spread;
	long double result;

	if (s->hits < 2)
		return 0;
	spread = s->squares - square / s->hits;
	if (spread && square % s->hits)
		spread--;
	result = (long double)(spread / (s->hits - 1)) * ns * ns;
	/* The kernel divides the variance by 1,000 for microseconds, too. */
	return result < (long double)UINT64_MAX ? (uint64_t)result / 1000 : UINT64_MAX;
}

/* Equal times by name, so that the table is always the same. */
static int longest_first(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	if (x->sums.ticks != y->sums.ticks)
		return x->sums.ticks > y->sums.ticks ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* A row in the kernel's form of trace_stat. Functions whose mean is below the threshold are left
 * out. */
static void print_row(const struct profile_row *row, const struct trace_clock *clock,
		      uint64_t thresh_ns, struct out *out)
{
	uint64_t ns = trace_clock_delta_ns(clock, row->sums.ticks);

	if (!row->sums.hits || ns / row->sums.hits < thresh_ns)
		return;
	out_printf(out, "  %-30.30s  %10lu    ", row->name, row->sums.hits);
	format_duration(out, ns);
	out_str(out, "    ");
	format_duration(out, ns / row->sums.hits);
	out_str(out, "    ");
	format_duration(out, profile_variance(&row->sums, clock));
	out_char(out, '\n');
}

void profile_print(struct profile_row *rows, size_t n, const struct trace_clock *clock,
		   uint64_t thresh_ns, struct out *out)
{
	if (n)
		qsort(rows, n, sizeof(*rows), longest_first);
	for (size_t i = 0; i < n; i++)
		print_row(&rows[i], clock, thresh_ns, out);
}
