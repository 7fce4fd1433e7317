/* SPDX-License-Identifier: MIT */
/* The table of modifiers, and the functions of those that need no more than a number. What looks
 * up functions, system calls or threads is in the printers. Nothing fails here. */
#include "hist/modifier.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "hist/command.h"

static void print_hex(struct out *out, uint64_t value, int width)
{
	out_printf(out, "%*" PRIx64, width, value);
}

static char *hex_text(uint64_t value)
{
	return mem_printf("0x%" PRIx64, value);
}

/* The smallest n with 2^n >= value. */
static uint64_t log2_key(const struct hist_field *f, uint64_t value)
{
	(void)f;
	return value < 2 ? 0 : 64 - (uint64_t)__builtin_clzll(value - 1);
}

/* The range of 2^n begins behind 2^(n - 1); numbers above 2^63 are those of 2^64. */
static void log2_range(const struct hist_field *f, uint64_t key, uint64_t *first, uint64_t *last)
{
	(void)f;
	*last = key >= 64 ? UINT64_MAX : UINT64_C(1) << key;
	*first = key ? *last / 2 + 1 : 0;
}

/* The kernel shows a power of two as such, other ranges by both of their ends. */
static void print_log2(struct out *out, uint64_t value, int width)
{
	(void)width; /* no value has it */
	out_printf(out, "~ 2^%-2" PRIu64, value);
}

static uint64_t bucket_key(const struct hist_field *f, uint64_t value)
{
	return value - value % f->buckets;
}

static void bucket_range(const struct hist_field *f, uint64_t key, uint64_t *first, uint64_t *last)
{
	*first = key;
	*last = key + f->buckets - 1;
}

/* Times are in nanoseconds; no other number has a unit. */
static uint64_t usecs_key(const struct hist_field *f, uint64_t value)
{
	return f->source == HIST_TIMESTAMP ? value / 1000 : value;
}

static const struct hist_modifier_row rows[HIST_MODIFIERS_N] = {
	[HIST_PLAIN] = { "", .of_values = true },
	[HIST_HEX] = { "hex", .of_values = true, .print = print_hex, .text = hex_text,
		       .casts = { "hex" }, .cast_of_numbers = true },
	[HIST_SYM] = { "sym", .casts = { "sym" }, .cast_of_numbers = true },
	[HIST_SYM_OFFSET] = { "sym-offset", .casts = { "sym-offset" }, .cast_of_numbers = true },
	[HIST_EXECNAME] = { "execname", .of_values = true, .casts = { "execname", "comm" } },
	[HIST_SYSCALL] = { "syscall", .casts = { "syscall" }, .cast_of_numbers = true },
	[HIST_LOG2] = { "log2", .key = log2_key, .range = log2_range, .shows_last = true,
			.print = print_log2, .casts = { "log2", "log" }, .cast_of_numbers = true },
	/* the grammar reads its width, in SQL, too: expression.c, sql/translate.c */
	[HIST_BUCKETS] = { "buckets", "buckets=size", .key = bucket_key, .range = bucket_range,
			   .casts = { "buckets=N" } },
	[HIST_USECS] = { "usecs", .of_values = true, .key = usecs_key },
	[HIST_PERCENT] = { "percent", .prefix = true, .of_values = true },
	[HIST_GRAPH] = { "graph", .prefix = true, .of_values = true },
	[HIST_STACKTRACE] = { "stacktrace", .casts = { "stacktrace" } },
	[HIST_MIN] = { "min", .of_values = true, .sketched = true },
	[HIST_MAX] = { "max", .of_values = true, .sketched = true },
	[HIST_P50] = { "p50", .of_values = true, .sketched = true, .percent = 50 },
	[HIST_P90] = { "p90", .of_values = true, .sketched = true, .percent = 90 },
	[HIST_P95] = { "p95", .of_values = true, .sketched = true, .percent = 95 },
	[HIST_P99] = { "p99", .of_values = true, .sketched = true, .percent = 99 },
};

const struct hist_modifier_row *hist_modifier_row(enum hist_modifier m)
{
	return &rows[m];
}

static bool is_cast(const char *name, const char *word, size_t n)
{
	return name && strlen(name) == n && !strncasecmp(name, word, n);
}

const struct hist_modifier_row *hist_modifier_of_cast(const char *word, size_t n)
{
	for (size_t i = 0; i < HIST_MODIFIERS_N; i++)
		if (is_cast(rows[i].casts[0], word, n) || is_cast(rows[i].casts[1], word, n))
			return &rows[i];
	return NULL;
}

/* The kernel takes "bucket" as well. */
bool hist_modifier_makes_ranges(const char *text)
{
	bool makes = !strncmp(text, "bucket", strlen("bucket"));

	for (size_t i = 0; i < HIST_MODIFIERS_N; i++)
		makes |= rows[i].range && !strncmp(text, rows[i].name, strlen(rows[i].name));
	return makes;
}
