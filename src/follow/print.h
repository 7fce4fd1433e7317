/* SPDX-License-Identifier: MIT */
/* Followed objects as text, a graph for each, and as lines of JSON with ipftrace2's keys. */
#pragma once
#include "base/out.h"
#include "follow/objects.h"

struct follow_print {
	struct out *to;
	const struct follow_plan *plan;
	const struct follow_shown *shown;
	const char *type;        /* "struct sk_buff" */
	uint64_t max_depth;      /* 0: no limit */
	/* Tells a function by its number. */
	const struct follow_function *(*function)(void *context, uint32_t n);
	void *context;
};

/* Prints an object's lines. */
void follow_print_object(const struct follow_print *p, const struct follow_object *o);
void follow_print_json_head(const struct follow_print *p);
void follow_print_json_line(const struct follow_print *p, const struct follow_object *o,
			    const struct follow_line *l);
