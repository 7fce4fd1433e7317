/* SPDX-License-Identifier: MIT */
/* The questions and answers of groups.h: a part of struct query. Private to src/query. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/array_file.h"

#define GROUPS_KEYS_MAX 2u
#define GROUPS_VALUES_MAX 16u

enum groups_key { GROUPS_NAME, GROUPS_NAME_ID, GROUPS_THREAD, GROUPS_TRACK, GROUPS_KEYS };
enum groups_column { GROUPS_DUR, GROUPS_SELF, GROUPS_TS, GROUPS_DEPTH, GROUPS_COLUMNS };
enum groups_function {
	GROUPS_ROWS,       /* count(*) */
	GROUPS_COUNT,
	GROUPS_SUM,
	GROUPS_MIN,
	GROUPS_MAX,
	GROUPS_AVG,
	GROUPS_RANK,       /* p50(x) and its like */
};

struct groups_value {
	enum groups_function function;
	enum groups_column column;
	double percent;    /* of GROUPS_RANK */
};

struct groups_spec {
	enum groups_key keys[GROUPS_KEYS_MAX];
	size_t n_keys;
	struct groups_value values[GROUPS_VALUES_MAX];
	size_t n_values;
};

/* A group's sums of one column. */
struct groups_sum {
	uint64_t n, sum, min, max;
	bool overflow;     /* the sum is no number of SQL's */
};

/* A group's value; which kind it is follows from the function. */
struct groups_cell {
	bool null, real;
	int64_t number;
	double value;
};

/* The latest answer. Groups without a row are left out. */
struct groups {
	struct groups_spec spec;
	VEC(uint64_t) of;            /* the keys: second * the first's size + first */
	VEC(struct groups_cell) cells; /* n_values of each */
	struct array_file values;         /* for ranks; kept for the next statement */
};
