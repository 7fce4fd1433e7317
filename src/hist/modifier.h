/* SPDX-License-Identifier: MIT */
/* Modifiers: what stands behind the dot of a key or a value, as `.hex`. A row for each says where
 * it may stand, which keys it makes of numbers, and how they are shown; the grammar, the counting,
 * all printers, the tree's README and the casts of `brace sql` read the rows. Constant: any
 * thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/out.h"

/* In the order in which the tree's README names them. */
enum hist_modifier {
	HIST_PLAIN, /* none */
	HIST_HEX,
	HIST_SYM,
	HIST_SYM_OFFSET,
	HIST_EXECNAME,
	HIST_SYSCALL,
	HIST_LOG2,
	HIST_BUCKETS,
	HIST_USECS,
	HIST_PERCENT,
	HIST_GRAPH,
	HIST_STACKTRACE,
	/* of an entry's values, not their sum: exact, then within 0.8 % */
	HIST_MIN,
	HIST_MAX,
	HIST_P50,
	HIST_P90,
	HIST_P95,
	HIST_P99,
	HIST_MODIFIERS_N,
};

struct hist_field;

struct hist_modifier_row {
	const char *name;       /* without the dot; of HIST_PLAIN "" */
	const char *shown;      /* in the tree's README, if not as the name; else NULL */
	bool prefix;            /* more may follow, as in the kernel */
	bool of_values;         /* a value may have it */
	bool sketched;          /* of all that an entry counts, no sum: of values alone */
	unsigned percent;       /* sketched: the percentile; 0: another */
	/* The key of a number. NULL: the number itself. */
	uint64_t (*key)(const struct hist_field *f, uint64_t value);
	/* Keys of it stand for ranges: the first and the last number of one. NULL: they do not. */
	void (*range)(const struct hist_field *f, uint64_t key, uint64_t *first, uint64_t *last);
	bool shows_last;        /* where one number stands for a range, it is the last one */
	/* Prints a key, width 0, or a value into the `hist` file. NULL: in decimal, and a range by
	 * both ends; or print.c has more to look up than the number. */
	void (*print)(struct out *out, uint64_t value, int width);
	/* A key's text in rows, for free(). NULL: the key is a number there; or as of print. */
	char *(*text)(uint64_t value);
	/* SQL's names of it as the type of a cast, the one that errors name first. NULL: none. */
	const char *casts[2];
	bool cast_of_numbers;   /* SQL refuses strings and arrays */
};

/* Returns the modifier's row. */
const struct hist_modifier_row *hist_modifier_row(enum hist_modifier m);
/* Returns the row of which SQL's word, n characters in either case, is a name; NULL: none. */
const struct hist_modifier_row *hist_modifier_of_cast(const char *word, size_t n);
/* Whether text behind a dot begins with a modifier whose keys stand for ranges. */
bool hist_modifier_makes_ranges(const char *text);
