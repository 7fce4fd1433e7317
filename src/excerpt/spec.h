/* SPDX-License-Identifier: MIT */
/* The part of a trace that a user asks for, in the user's words: what the options say, before a
 * trace is known. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/function_list.h"

typedef VEC(char *) excerpt_words;

/* Options whose functions may be named by files of the source. */
enum excerpt_locations_of { EXCERPT_IN, EXCERPT_WITHOUT, EXCERPT_GRAPH, EXCERPT_LOCATIONS_N };

/* All zero asks for the whole trace. */
struct excerpt_spec {
	struct function_list functions, without, graph, modules, callers_of;
	/* of -l, -n and -g: files and lines of the source (excerpt/locations.h) */
	excerpt_words locations[EXCERPT_LOCATIONS_N];
	char *from, *to, *cpus;          /* NULL: not given */
	excerpt_words threads, processes;
	uint64_t min_ns, min_size, depth; /* 0: not given */
	/* by which option `functions` were named, in sentences; NULL: -l */
	const char *functions_option;
	/* of the options and what they say, in any order; 0 of none. On every host the same */
	uint64_t number;
	bool clips; /* no option: calls count with the part of their time that lies in the range */
};

/* Takes what the option of this name says (`filter`, `from`, ...; excerpt_spec_names has them all).
 * 0, or -EINVAL or -ERANGE and *err with the column. */
int excerpt_spec_add(struct excerpt_spec *w, const char *name, const char *text, struct err *err);
extern const char *const excerpt_spec_names[]; /* ends with NULL */
/* Whether everything is asked for. */
bool excerpt_spec_is_all(const struct excerpt_spec *w);
void excerpt_spec_free(struct excerpt_spec *w);
