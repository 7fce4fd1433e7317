/* SPDX-License-Identifier: MIT */
/* Called when an excerpt is opened, on brace's only thread. Pure functions; they fail on text that
 * is no time. */
#include "excerpt/when.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "model/units.h"

#define SECOND UINT64_C(1000000000)

/* Ticks that last `ns` at least. */
static uint64_t ticks_of(const struct trace_clock *c, uint64_t ns)
{
	unsigned __int128 ticks;

	if (!c->hz)
		return ns;
	ticks = (unsigned __int128)ns * c->hz / SECOND;
	return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t subtract_to_0(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Divisions round down, so the first try may be a few ticks early. */
uint64_t excerpt_tsc_at(const struct trace_clock *c, uint64_t ns)
{
	uint64_t tsc = ns >= c->mono_ns
			       ? add_capped(c->tsc, ticks_of(c, ns - c->mono_ns))
			       : subtract_to_0(c->tsc, add_capped(ticks_of(c, c->mono_ns - ns), 1));

	/* A clock of less than a tick a nanosecond needs one step, others a few. */
	for (int i = 0; i < 64 && tsc < UINT64_MAX && trace_clock_ns(c, tsc) < ns; i++)
		tsc++;
	/* Times before the clock's own are rounded up: ticks before may have it, too. */
	for (int i = 0; i < 64 && tsc && trace_clock_ns(c, tsc - 1) >= ns; i++)
		tsc--;
	return tsc;
}

/* "25%": a number up to 100 before a `%` at the end. units_parse_time_ns() reads it as
 * billionths. */
static int when_percent(const char *text, size_t n, const struct excerpt_range *range,
			uint64_t *out, struct err *err)
{
	char *number = mem_printf("%.*s", (int)n, text);
	const uint64_t length = range->last - range->first;
	uint64_t share = 0;
	int r = units_parse_time_ns(number, SECOND, &share, NULL);

	free(number);
	if (r || share > 100 * SECOND)
		return err_at(err, EINVAL, text, 0, "a percentage is a number from 0 to 100 and a %%");
	*out = range->first + (uint64_t)((unsigned __int128)length * share / (100 * SECOND));
	return 0;
}

/* The sentence of units_parse_time_ns() has the column of its own text, one character later. */
static int when_relative(const char *text, const struct trace_clock *clock,
			 const struct excerpt_range *range, uint64_t *out, struct err *err)
{
	uint64_t ns;
	struct err of_number = { 0 };

	if (units_parse_time_ns(text + 1, SECOND, &ns, &of_number))
		return err_at(err, of_number.code, text, of_number.column + 1, "%s",
			      of_number.text);
	*out = *text == '+' ? add_capped(range->first, ticks_of(clock, ns))
			    : subtract_to_0(range->last, ticks_of(clock, ns));
	return 0;
}

/* A bare number is a printed time, because that is what is copied out of a report. */
int excerpt_when(const char *text, const struct trace_clock *clock,
		 const struct excerpt_range *range, bool end, uint64_t *out, struct err *err)
{
	const size_t n = strlen(text);
	uint64_t ns;

	if (*text == '+' || *text == '-')
		return when_relative(text, clock, range, out, err);
	if (n && text[n - 1] == '%')
		return when_percent(text, n - 1, range, out, err);
	if (units_parse_time_ns(text, SECOND, &ns, NULL))
		return err_at(err, EINVAL, text, 0,
			      "a time is one that the trace prints (12345.678901), +1.5s after its beginning, -200ms before its end, or 25%%");
	/* Printed times are cut after the microsecond. */
	if (end)
		*out = excerpt_tsc_at(clock, add_capped(ns, ns % 1000 ? 1 : 1000)) - 1;
	else
		*out = excerpt_tsc_at(clock, ns);
	return 0;
}
