/* SPDX-License-Identifier: MIT */
/* Owns the names of threads that perf's records tell. Called by tracepoints.c and
 * tracepoints_rings.c, on the thread that takes records. Nothing fails. */
#include "kernel/perf_names.h"

#include <stdio.h>
#include <string.h>

#define TID_MAX (1u << 22) /* the kernel's own limit */

/* The thread's element of by_tid. A damaged record may have any number: those beyond the limit
 * share the last element. */
static uint32_t *place_of(struct kernel_perf_names *names, uint32_t tid)
{
	tid = tid < TID_MAX ? tid : TID_MAX;
	while (names->by_tid.n <= tid)
		*vec_add(&names->by_tid) = 0;
	return &names->by_tid.at[tid];
}

bool kernel_perf_names_find(const struct kernel_perf_names *names, uint32_t tid,
			    char comm[TRACE_COMM])
{
	if (tid >= names->by_tid.n || !names->by_tid.at[tid])
		return false;
	memcpy(comm, names->comms.at[names->by_tid.at[tid] - 1].text, TRACE_COMM);
	return true;
}

void kernel_perf_names_note(struct kernel_perf_names *names, uint32_t tid, const char *name)
{
	uint32_t *place = place_of(names, tid);
	char line[16 + TRACE_COMM];
	const int n = snprintf(line, sizeof(line), "%u %.15s\n", tid, name);

	if (!*place) {
		vec_add(&names->comms);
		*place = (uint32_t)names->comms.n;
	}
	snprintf(names->comms.at[*place - 1].text, TRACE_COMM, "%.15s", name);
	/* The next line overwrites the NUL, so that all lines are one text. */
	vec_reserve(&names->fresh, names->fresh.n + (size_t)n + 1);
	memcpy(names->fresh.at + names->fresh.n, line, (size_t)n + 1);
	names->fresh.n += (size_t)n;
}

const char *kernel_perf_names_fresh(const struct kernel_perf_names *names)
{
	return names->fresh.n ? names->fresh.at : "";
}

void kernel_perf_names_free(struct kernel_perf_names *names)
{
	vec_free(&names->by_tid);
	vec_free(&names->comms);
	vec_free(&names->fresh);
}
