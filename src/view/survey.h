/* SPDX-License-Identifier: MIT */
/* Where calls lie in time, at the resolution of a screen: lanes of threads with spans, short calls
 * beside each other as one. Memory depends on the range's width in grains, not on the number of
 * calls. A survey of the whole trace also has each function's slowest call and its durations by
 * powers of two, as `brace report --histogram` counts them. */
#pragma once
#include "base/number_map.h"
#include "report/summary.h"

#define SURVEY_GRAINS 8192u   /* of the range */
#define SURVEY_DEPTH 64u      /* deeper calls are not shown */
#define SURVEY_POWERS 65u
#define SURVEY_MANY UINT32_MAX /* row: calls of several functions */
#define SURVEY_SPANS (4u << 20) /* of all lanes; more are left out */

struct survey_span {
	uint64_t begin, end;      /* ns of CLOCK_MONOTONIC */
	uint32_t row, calls;      /* calls: that it stands for */
};
typedef VEC(struct survey_span) survey_spans;

struct survey_lane {
	survey_spans depths[SURVEY_DEPTH]; /* by begin; spans of one depth do not overlap */
	uint32_t n;               /* depths that have any */
};

struct survey_row {
	char *name;
	const char *module;       /* the info's */
	uint64_t calls, powers[SURVEY_POWERS]; /* calls with a duration */
	uint64_t slowest;         /* its duration, ns */
	uint64_t slowest_begin, slowest_end;
	uint32_t slowest_thread;
};

struct survey {
	const struct trace_info *info;
	uint64_t from, to, grain; /* ns */
	struct survey_lane *lanes; /* by thread */
	VEC(struct survey_row) rows;
	size_t spans;
	bool cut;                 /* SURVEY_SPANS were not enough */
	struct number_map functions; /* private: image and function -> row */
	struct number_map names;  /* private: hash of name and module -> row */
};

/* Reads all of the input. 0, or -errno and *err; survey_free() frees it in any case. */
int survey_make(const struct summary_input *in, uint64_t from_ns, uint64_t to_ns,
		struct survey *out, struct err *err);
void survey_free(struct survey *s);
/* The row of this name and module; UINT32_MAX: it was not called. */
uint32_t survey_find(const struct survey *s, const char *name, const char *module);
/* The span of the lane at this depth that holds the time, or NULL. */
const struct survey_span *survey_at(const struct survey *s, uint32_t thread, unsigned depth,
				    uint64_t ns);
/* Gives s the lanes of another survey of the same input, and their range; `from` gets the old
 * ones. */
void survey_take_lanes(struct survey *s, struct survey *from);
