/* SPDX-License-Identifier: MIT */
/* The settings of functions that the programs are given. If one instance alone traces functions,
 * they are its own; otherwise the union of all, and each instance's record filter (record_filter.h)
 * takes its share. */
#pragma once
#include "model/settings.h"

/* Sets the tracer, the lists of functions and options/funcgraph-retval in *out from the settings of
 * n instances; the rest of *out stays. */
void settings_union(const struct settings *const *settings, size_t n, struct settings *out);
/* True: the programs record a union, so that every instance needs a record filter. */
bool settings_differ(const struct settings *const *settings, size_t n);
