/* SPDX-License-Identifier: MIT */
/* Calls that last longer than a limit, found as records arrive: when they return, or, of those that
 * do not, when they are looked at. Not locked: the caller has pump_lock. */
#pragma once
#include "instance/chunk.h"
#include "model/function_list.h"
#include "trace/trace_info.h"

/* A call of a function of the list that lasts longer than so many nanoseconds. */
struct slow_limit { struct function_list functions; uint64_t ns; };
typedef VEC(struct slow_limit) slow_limits;

/* The first of the calls since the last question, and how many there were besides. */
struct slow_call {
	char name[40];       /* cut where it is longer */
	uint64_t ns;         /* how long it lasted, or lasts by now */
	uint32_t tid;
	bool open;           /* it has not returned */
	uint64_t more;
};

struct slow;

/* The limits are the caller's and outlive it; info may grow. */
struct slow *slow_new(const struct trace_info *info, const slow_limits *limits);
void slow_free(struct slow *s); /* NULL is fine */
/* Takes the next chunk of its thread, which is resolved; a thread's chunks in their order. */
void slow_feed(struct slow *s, const struct chunk *c);
/* Whether calls were over a limit since the last call of this; open ones by the time `tsc`, before
 * which all records were fed. */
bool slow_take(struct slow *s, uint64_t tsc, struct slow_call *out);
/* Whether a function has a limit that is traced. */
bool slow_has_functions(const struct slow *s);
