/* SPDX-License-Identifier: MIT */
/* Parses a number and a unit out of a table; an error names the units. Overflow is checked at each
 * step: text comes from command lines and from writes to the tree. Any thread; no state. */
#include "model/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	uint64_t factor;
};

struct quantity {
	const char *sentence;       /* what one looks like, for errors */
	const struct unit *units;   /* ends with a NULL name */
	uint64_t bare;              /* factor of a number without unit */
	bool fold_case;
};

/* Factors in nanoseconds. */
static const struct unit time_units[] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
	{ "min", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 }, { NULL, 0 },
};

/* Factors in kilobytes; K is 1024 bytes. */
static const struct unit size_units[] = {
	{ "K", 1 },	  { "KB", 1 },	     { "M", 1024 },	   { "MB", 1024 },
	{ "G", 1 << 20 }, { "GB", 1 << 20 }, { "T", 1ull << 30 }, { NULL, 0 },
};

/* NULL: there is no such unit. Units of time have one spelling, those of sizes any case. */
static const struct unit *find_unit(const struct quantity *q, const char *text)
{
	for (const struct unit *u = q->units; u->name; u++)
		if (!(q->fold_case ? strcasecmp : strcmp)(u->name, text))
			return u;
	return NULL;
}

/* Reads digits at *p into *out; false if they do not fit 64 bits. */
static bool parse_digits(const char **p, uint64_t *out)
{
	*out = 0;
	for (; isdigit((unsigned char)**p); ++*p)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(**p - '0'), out))
			return false;
	return true;
}

/* The part of `factor` that ".5" and the like stand for, rounded down. Digits behind the eighteenth
 * are ignored. */
static uint64_t parse_fraction(const char **p, uint64_t factor)
{
	uint64_t digits_value = 0, scale = 1;

	if (**p != '.')
		return 0;
	for (++*p; isdigit((unsigned char)**p); ++*p) {
		if (scale == UINT64_C(1000000000000000000))
			continue;
		digits_value = 10 * digits_value + (uint64_t)(**p - '0');
		scale *= 10;
	}
	return (uint64_t)((unsigned __int128)factor * digits_value / scale);
}

/* DIGITS[.DIGITS][UNIT]. The fraction is read twice: its value depends on the unit, which stands
 * behind it. */
static int parse_quantity(const struct quantity *q, const char *text, uint64_t *out,
			  struct err *err)
{
	const char *p = text, *after, *unit_at;
	uint64_t whole, factor = q->bare;
	const struct unit *u;

	if (!isdigit((unsigned char)*p))
		return err_at(err, EINVAL, text, 0, "%s", q->sentence);
	if (!parse_digits(&p, &whole))
		return err_at(err, ERANGE, text, 0, "%s is too large: %s", text, q->sentence);
	after = p;
	/* Only to find the unit, which decides the factor. */
	parse_fraction(&p, 0);
	unit_at = p;
	if (*p) {
		u = find_unit(q, p);
		if (!u)
			return err_at(err, EINVAL, text, (size_t)(unit_at - text), "%s",
				      q->sentence);
		factor = u->factor;
	}
	if (__builtin_mul_overflow(whole, factor, out) ||
	    __builtin_add_overflow(*out, parse_fraction(&after, factor), out))
		return err_at(err, ERANGE, text, 0, "%s is too large: %s", text, q->sentence);
	return 0;
}

/* bare_unit_ns: what a number without a unit counts. 0, or -errno and *err at the column. */
int units_parse_time_ns(const char *text, uint64_t bare_unit_ns, uint64_t *out, struct err *err)
{
	const struct quantity q = {
		"a time is a number with ns, us, ms or s (or min, h, d)",
		time_units,
		bare_unit_ns,
		false,
	};

	return parse_quantity(&q, text, out, err);
}

/* K, M and G are powers of 1024; a size of 0 is none. */
int units_parse_size_kb(const char *text, uint64_t *out, struct err *err)
{
	static const struct quantity q = {
		"a size is a number of kilobytes, or one with K, M or G", size_units, 1, true,
	};
	uint64_t kb;
	int e = parse_quantity(&q, text, &kb, err);

	if (e)
		return e;
	if (!kb)
		return err_at(err, EINVAL, text, 0, "a size must be at least 1 kilobyte");
	*out = kb;
	return 0;
}

/* what begins the sentence: "a limit". -EINVAL: no number; -ERANGE: one that is too small or too
 * large. */
int units_parse_number(const char *text, const char *what, uint64_t min, uint64_t max,
		       uint64_t *out, struct err *err)
{
	const char *p = text + (*text == '+'), *begin = p;
	uint64_t value;
	/* A number that overflows ends the scan at one of its digits. So `fits` is tested before
	 * *p. */
	bool fits = parse_digits(&p, &value);

	if (p == begin || (fits && *p))
		return err_at(err, EINVAL, text, (size_t)(p - text), "%s is a number from %" PRIu64
			      " to %" PRIu64, what, min, max);
	if (!fits || value < min || value > max)
		return err_at(err, ERANGE, text, 0, "%s is a number from %" PRIu64 " to %" PRIu64,
			      what, min, max);
	*out = value;
	return 0;
}

/* buf has 32 bytes. The kernel shows whole microseconds; brace's nanoseconds have their unit. */
const char *units_format_thresh(uint64_t ns, char *buf)
{
	if (ns % 1000)
		snprintf(buf, 32, "%" PRIu64 "ns", ns);
	else
		snprintf(buf, 32, "%" PRIu64, ns / 1000);
	return buf;
}
