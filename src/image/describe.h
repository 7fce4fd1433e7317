/* SPDX-License-Identifier: MIT */
/* A trace's description of itself: the machine, the command, the writer. */
#pragma once
#include "model/settings.h"
#include "trace/trace_info.h"

/* Describes everything but the clock; takes cmdline over. The caller frees with
 * trace_info_free(). */
struct trace_info *describe(char *cmdline, const char *tracer, uint64_t thresh_ns);
/* Replaces info's settings by the text of each file of *s. */
void describe_settings(struct trace_info *info, const struct settings *s);
/* Adds the ring of the session's memory (record --ring) to the settings, and its id, as "PATH id
 * ID"; describe_ring_of() finds it again in a trace. */
#define DESCRIBE_RING "ring"
#define DESCRIBE_RING_ID " id "
void describe_ring(struct trace_info *info, const char *path, const char *id);
/* Takes what describe_ring() and describe_ring_add_before() added out of the settings. */
void describe_ring_forget(struct trace_info *info);
/* The text of the trace's ring, or NULL; *id is the id in it, untrusted. Both are the info's. */
const char *describe_ring_of(const struct trace_info *info, const char **id);
/* Adds the records, kept and lost, that each of the n threads has in files before this one, to the
 * settings; describe_ring_before() reads them in a trace. */
#define DESCRIBE_RING_BEFORE "ring-before"
void describe_ring_add_before(struct trace_info *info, const uint64_t *records, size_t n);
/* Calls take(context, thread, records) for each thread that the setting tells of. */
void describe_ring_before(const struct trace_info *info,
			  void (*take)(void *context, size_t thread, uint64_t records),
			  void *context);
/* A process' arguments, separated by blanks, and its executable; "" if the process is not there.
 * The caller frees. */
char *describe_cmdline(int pid);
char *describe_exe(int pid);
/* Its open descriptors and what they lead to, "NUMBER PATH" lines as /proc/PID/fd has them: 256 at
 * most, of paths without a newline. "" where they may not be read. The caller frees. */
char *describe_files(int pid);
/* from /proc, or 0 */
int describe_oom_score_adj(int pid);
