/* SPDX-License-Identifier: MIT */
/* Shared by the files of struct buffer: buffer.c (state), buffer_show.c (trace, snapshot),
 * buffer_pipe.c, buffer_extract.c, triggers.c. */
#pragma once
#include "instance/buffer.h"

/* Sets the tracer and the clock that info shows, from settings s. Needs pump_lock. */
void buffer_name_tracer(struct trace_info *info, const struct settings *s);
/* Turns recording on or off from the TSC on. Takes b->lock. */
void buffer_turn(struct buffer *b, bool on, uint64_t tsc);
/* Prints like the kernel's ftrace_dump: the buffer's text between two lines, kept for
 * buffer_show_dump. Needs pump_lock. */
void buffer_dump(struct buffer *b, struct trace_info *info, unsigned cpu);
/* Appends a line to what buffer_show_dump shows, of which 2 MiB at least
 * are kept. Takes b->lock. */
void buffer_print(struct buffer *b, const char *line);
/* An out.flush function: appends to the buffer_text. Returns 0. */
int buffer_take_text(void *text, const char *bytes, size_t n);
/* Copies the periods in which recording was off, pauses included. Takes b->lock. */
void buffer_off(struct buffer *b, off_periods *out);
/* Merges the chunks into a source of events, of one CPU or BUFFER_ALL_CPUS. Takes the list over;
 * the caller closes the source. */
struct source *buffer_merge(struct buffer *b, struct trace_info *info, chunk_list *chunks,
			    unsigned cpu);
/* buffer_merge() of all CPUs, up to the time `until` as times are shown (merge_more()). */
struct source *buffer_merge_until(struct buffer *b, struct trace_info *info, chunk_list *chunks,
				  uint64_t until);
/* buffer_merge() of the records that are stamped before the TSC; 0: all. */
struct source *buffer_merge_before(struct buffer *b, struct trace_info *info, chunk_list *chunks,
				   unsigned cpu, uint64_t tsc);
/* Frees the snapshot's records and leaves it empty. Called with b->lock held, or by the last
 * user. */
void buffer_snapshot_free(struct buffer_snapshot *s);
/* Merges the snapshot into a source of events, of one CPU or BUFFER_ALL_CPUS; NULL: there is none,
 * or it is empty. The caller closes the source. */
struct source *buffer_snapshot_merge(struct buffer *b, struct trace_info *info, unsigned cpu);
void buffer_pipes_free(struct buffer *b);
/* Resets the count of records read of this CPU, or of BUFFER_ALL_CPUS. Takes b->reading. */
void buffer_pipes_forget(struct buffer *b, unsigned cpu);
