/* SPDX-License-Identifier: MIT */
/* Declarations that the files of libbrace share. Private to src/library: programs see
 * include/brace.h, whose rules about threads hold here, too. */
#pragma once
#include <stdatomic.h>

#include "brace.h"
#include "event/format.h"
#include "excerpt/excerpt.h"
#include "report/summary.h"
#include "store/store.h"
#include "trace/overloads.h"
#include "trace/trace_processes.h"
#include "base/vec.h"

/* --- errors -------------------------------------------------------------------------- */

/* The calling thread's error, which brace_error() shows. */
struct err *library_error(void);
/* Runs what(arg) so that a want of memory comes back: -ENOMEM, and *broken, if it is not NULL. The
 * object that `arg` is of can then only be forgotten (mem_try). what() puts its errors into
 * library_error(). */
int library_try(int (*what)(void *arg), void *arg, bool *broken);
/* The result of a call on a broken object: -ENOMEM, with its sentence. */
int library_broken(void);

/* Copies a struct of the caller's that begins with its size, of a version that knows fewer fields
 * or more. NULL: all of *to is 0. 0, or -EINVAL: fields are set that this version does not have. */
int library_options(void *to, size_t size, const void *from);

/* --- sessions ------------------------------------------------------------------------ */

typedef VEC(char *) library_words;
/* Runs `brace start` and returns when its session serves, or it has failed. words: the command
 * line, with room for the command at 0 and for --logger-fd at 2, and NULL at the end. brace: the
 * command; NULL: the one that came with the library, else PATH's. 0, or -errno and
 * library_error() with the command's own sentence. */
int library_spawn(const char *brace, library_words *words);

/* --- a trace ------------------------------------------------------------------------- */

/* Functions whose ids follow each other in an image. */
struct library_range {
	uint32_t image, first_id, n;
	uint32_t number;                 /* of the first one */
	const struct trace_module *module;
};

/* Formats of events, taken apart when they are first asked for. */
struct library_formats {
	VEC(struct library_format {
		bool read;
		struct event_format *format; /* NULL: it cannot be read */
	})
	at; /* by event */
};
/* Returns the format of the event with this row in info->events; NULL: it cannot be read. */
const struct event_format *library_format(struct library_formats *f, const struct trace_info *info,
					  size_t event);
void library_formats_free(struct library_formats *f);

/* The members above the line stay the same while the trace is open, and its cursors read them. */
struct brace_trace {
	atomic_uint refs;
	struct store_reader *reader;
	const struct trace_info *info;
	struct brace_info about;
	struct trace_processes processes;
	VEC(struct library_range) ranges; /* by image and id; so are their numbers */
	VEC(uint32_t) events;             /* by index in records: row of info->events */
	/* --------------------------------------------------------------------------- */
	bool broken;
	struct overloads overloads;
	struct library_formats formats;
	VEC(struct library_thread {
		struct brace_thread about;
		char name[TRACE_COMM + 1];
	})
	threads;
	VEC(struct brace_process) process_rows;
	VEC(struct brace_setting) settings;
	/* NULL: not asked for yet */
	VEC(struct brace_function *) functions;
	VEC(struct library_event {
		bool read;
		struct brace_event about;
		struct brace_field *fields;
	}) event_rows;
};
#define LIBRARY_NO_EVENT UINT32_MAX

/* Another object needs the trace; brace_trace_close() gives it back. */
struct brace_trace *library_trace_keep(struct brace_trace *t);

/* Takes the options of a part. 0, or -errno and library_error(); excerpt_spec_free() in any
 * case. */
int library_spec(const struct brace_part *part, struct excerpt_spec *out);

/* The range in which an image's function is; NULL: the trace does not name it. */
const struct library_range *library_range_of(const struct brace_trace *t, uint32_t image,
					     uint32_t id);
