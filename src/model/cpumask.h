/* SPDX-License-Identifier: MIT */
/* A set of processors, written and shown as the kernel does: hexadecimal, most significant first,
 * in groups of 32 separated by commas. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CPUS_MAX 1024

struct cpumask {
	unsigned n; /* processors that the machine can have */
	uint32_t group[CPUS_MAX / 32];
};

/* All processors of this machine. */
void cpumask_all(struct cpumask *m);
static inline bool cpumask_has(const struct cpumask *m, unsigned cpu)
{
	return cpu < CPUS_MAX && m->group[cpu / 32] >> cpu % 32 & 1;
}
/* Whether it contains all processors of the machine. */
bool cpumask_is_all(const struct cpumask *m);
/* Parses a set into *m, whose n must be set. 0, or -EINVAL (no number), -EOVERFLOW (a processor
 * that cannot exist) and *err with the column; then the mask is unchanged. */
int cpumask_parse(struct cpumask *m, const char *text, struct err *err);
/* The set as text, with as many digits as m->n needs; free() it. */
char *cpumask_print(const struct cpumask *m);
