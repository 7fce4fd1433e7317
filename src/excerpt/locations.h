/* SPDX-License-Identifier: MIT */
/* Functions by where they stand in the source: FILE:LINE, or a pattern of paths. Debug information
 * tells it, of the files that the trace names, as they are now. */
#pragma once
#include "excerpt/spec.h"
#include "sym/module.h"
#include "trace/trace_info.h"

/* Whether the text of -l is such a location: FILE:LINE or FILE, where FILE has the ending of a
 * source file; or a directory's files, as a path that ends in a `/` and a star. */
bool excerpt_is_location(const char *text);

/* The functions of a module that each option's locations mean: bit i of enum
 * excerpt_locations_of. */
struct excerpt_locations;
/* Reads no file yet. excerpt_locations_free() frees it. */
struct excerpt_locations *excerpt_locations_new(const struct excerpt_spec *w);
void excerpt_locations_free(struct excerpt_locations *p);
/* The bits of each function of the module, in its order; free() them. Modules of one file are read
 * once. */
uint8_t *excerpt_locations_of_module(struct excerpt_locations *p, const struct trace_module *m);
/* Whether a file, as it is now, is the one that was traced, as far as the trace tells. */
bool excerpt_locations_is_same(const struct trace_module *m, const struct sym_module *now);
/* Called when no function of the trace stands at any of the locations: sets *err to the reason,
 * with `location` as the text at fault, and returns -errno. */
int excerpt_locations_why(const struct excerpt_locations *p, const char *location, struct err *err);
