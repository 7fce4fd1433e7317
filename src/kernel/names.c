/* SPDX-License-Identifier: MIT */
/* The kernel keeps the names of the last 128 tasks that wrote records (saved_cmdlines_size). Called
 * by records.c for a thread that is met, and after each pass that brought records. A task that is
 * not there keeps the name that it has. */
#include "kernel/names.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_NAME "<idle>"

/* Reads the line at *text and moves behind it. False: it is none. */
static bool next_line(const char **text, uint32_t *tid, char comm[TRACE_COMM])
{
	const char *line = *text;
	size_t n = strcspn(line, "\n");
	char *name;

	*text += n + (line[n] == '\n');
	*tid = (uint32_t)strtoul(line, &name, 10);
	if (*name != ' ' || name >= line + n)
		return false;
	n -= (size_t)(name + 1 - line);
	memset(comm, 0, TRACE_COMM);
	memcpy(comm, name + 1, n < TRACE_COMM - 1 ? n : TRACE_COMM - 1);
	return true;
}

/* Thread 0 is each CPU's idle task, which the kernel does not list. A thread that is not in the
 * text keeps its bytes in comm as they are. */
bool kernel_names_find(const char *text, uint32_t tid, char comm[TRACE_COMM])
{
	char name[TRACE_COMM];
	uint32_t of;

	if (!tid) {
		memcpy(comm, IDLE_NAME, sizeof(IDLE_NAME));
		return true;
	}
	while (text && *text)
		if (next_line(&text, &of, name) && of == tid) {
			memcpy(comm, name, sizeof(name));
			return true;
		}
	return false;
}

/* Renames threads that were met under another name: a thread has the name of its parent until it
 * calls exec or prctl. trace_info_rename() keeps the old one for what is before tsc. */
void kernel_names_apply(struct kernel_records *r, const char *text, uint64_t tsc)
{
	char comm[TRACE_COMM];
	uint32_t tid;

	while (*text)
		if (next_line(&text, &tid, comm) && tid && tid < r->threads.n && r->threads.at[tid])
			trace_info_rename(r->info, r->threads.at[tid] - 1, tsc, comm);
}
