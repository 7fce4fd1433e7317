/* SPDX-License-Identifier: MIT */
/* The kernel's functions that take a pointer to a type. */
#pragma once
#include "follow/bpf/types.h"
#include "follow/kernel.h"

struct follow_functions { VEC(struct follow_function) at; struct follow_census census; };

/* Finds them. tracing: the kernel's tracing directory. 0, or -errno and *err; *out is to be freed
 * in any case. */
int follow_functions_find(const struct follow_types *t, const struct follow_spec *spec,
			  const char *tracing, struct follow_functions *out, struct err *err);
void follow_functions_free(struct follow_functions *f);
