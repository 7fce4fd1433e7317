/* SPDX-License-Identifier: MIT */
/* What the files of a buffer share. */
#pragma once
#include "instance/buffer.h"

/* info says what is shown now: of which tracer. */
void buffer_name_tracer(struct trace_info *info, const struct settings *s);
/* On or off from this time on. */
void buffer_turn(struct buffer *b, bool on, uint64_t tsc);
/* As the kernel's ftrace_dump: the buffer's text between two lines, for buffer_show_dump. */
void buffer_dump(struct buffer *b, struct trace_info *info, unsigned cpu);
/* As out.flush: adds to a buffer_text. */
int buffer_take_text(void *text, const char *bytes, size_t n);
/* A copy of when recording was off. */
void buffer_off(struct buffer *b, off_periods *out);
/* The chunks as events, of one CPU or BUFFER_ALL_CPUS; takes the list over. */
struct source *buffer_merge(struct buffer *b, struct trace_info *info, chunk_list *chunks, unsigned cpu);
/* The same up to before this time. */
struct source *buffer_merge_until(struct buffer *b, struct trace_info *info, chunk_list *chunks, unsigned cpu, uint64_t until);
void buffer_snapshot_free(struct buffer_snapshot *s);
void buffer_pipes_free(struct buffer *b);
/* What was read of this CPU, or all, counts no more. */
void buffer_pipes_forget(struct buffer *b, unsigned cpu);
