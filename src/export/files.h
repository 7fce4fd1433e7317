/* SPDX-License-Identifier: MIT */
/* Files of a format that is a directory. Private to src/export. */
#pragma once
#include "base/out.h"
#include "export/exporter.h"

struct export_file { struct out out; int fd; char *path; };

/* Creates a file (0600) in the job's directory; files_end() in any case. 0, or -errno and *err. */
int files_begin(struct export_file *f, const struct export_job *job, const char *name,
		struct err *err);
/* Flushes and closes. 0, or -errno and *err: not all was written. */
int files_end(struct export_file *f, struct err *err);
/* Addresses of functions in formats that know them by address only: one space for all processes,
 * where a function has its own whatever its process maps there. */
#define FILES_FUNCTIONS UINT64_C(0x550000000000)
static inline uint64_t files_address(uint32_t function)
{
	return FILES_FUNCTIONS + 16 * (uint64_t)function;
}
/* An id for the lane that stands for a thread: its tid, or one of a coroutine that the kernel gives
 * nobody (PID_MAX_LIMIT). */
#define FILES_COROUTINE_TID 0x400000u
static inline uint32_t files_tid(const struct walk *w, uint32_t lane)
{
	const struct walk_lane *l = &w->lanes.at[lane];

	return l->coroutine ? FILES_COROUTINE_TID + lane : w->info->threads.at[l->thread].tid;
}
/* Writes a name as a word of a line: blanks and control characters are replaced. */
void files_put_word(struct out *o, const char *name);
/* Writes a name as the rest of a line: control characters are replaced. */
void files_put_line(struct out *o, const char *name);
