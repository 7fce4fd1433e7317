/* SPDX-License-Identifier: MIT */
/* What the instances of a session want to see of its programs' functions, and what the programs are to do so that
 * each gets it: as one wants it, if one alone wants something; else what all of them together need, of which each
 * keeps its own (sieve.h). */
#pragma once
#include "model/settings.h"

/* settings: of n instances. Sets the tracer, the lists of functions and options/funcgraph-retval in *out; what else is in it stays. */
void wants_unite(const struct settings *const *settings, size_t n, struct settings *out);
/* More than one thing is wanted: nobody's records are his own. */
bool wants_are_several(const struct settings *const *settings, size_t n);
