/* SPDX-License-Identifier: MIT */
/* Rows, and the calls that they are made of: shared by the files of this report. */
#pragma once
#include <stdio.h>

#include "base/vec.h"
#include "event/syscalls.h"
#include "base/histogram.h"
#include "report/syscalls.h"

#define SYSCALLS_NUMBERS SYSCALLS_NAME

struct syscalls_row {
	char *name;                       /* as it is shown */
	uint32_t thread;                  /* by thread: index into info->threads */
	uint64_t value[SYSCALLS_NUMBERS]; /* calls, errors; total, min and max in ticks */
	uint64_t timed;                   /* calls with a time */
	struct histogram durations;       /* in ticks */
};

/* A call that has begun. */
struct syscalls_call {
	uint32_t nr;
	bool named;                       /* its own event was seen */
	uint64_t tsc, args[SYSCALL_ARGS];
	uint32_t pid;
	char *texts[SYSCALL_ARGS];        /* of its arguments, for lines; NULL: not shown */
	char *note;                       /* of what it gave, behind the result; NULL: nothing */
	uint32_t length;                  /* that it was given for an address; 0: not known */
	char *path;                       /* what it was given; NULL: none, or not known */
	bool executed;                    /* another program runs in its place */
	int error;                        /* its errno; 0 = none, or not known yet */
	struct syscalls_row *row;
};

struct syscalls_files;
/* The descriptors of all processes. */
struct syscalls_files *syscalls_files_new(void);
void syscalls_files_free(struct syscalls_files *f);
/* The process runs this image from now on: its descriptors are those that the image began with, if
 * these are known. Called before the first call of each of the image's threads. */
void syscalls_files_image(struct syscalls_files *f, uint32_t pid, const struct trace_image *image);
/* A call of process pid begins; writes the name of the file that it is about. */
void syscalls_files_begin(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c,
			  char *name, size_t n);
/* The return of a call that has begun is not known, and will not be. */
void syscalls_files_forget(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c);
/* Takes note of what the call has opened, closed or copied. */
void syscalls_files_return(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c,
			   int64_t result);

/* A pair of descriptors is there, of a pipe or of sockets: those that the call gave. */
void syscalls_files_pair(struct syscalls_files *f, uint32_t pid, const struct syscalls_call *c,
			 const int32_t two[2]);
/* Returns the name of a process's descriptor; NULL: not known. Valid until the next call. */
const char *syscalls_files_name(struct syscalls_files *f, uint32_t pid, uint32_t fd);
/* Whether the descriptor is a socket of netlink, as the trace has seen: 1 and its protocol; else
 * 0. */
unsigned syscalls_files_netlink(struct syscalls_files *f, uint32_t pid, uint32_t fd);
/* Whether the result of the call is a new descriptor. */
bool syscalls_files_opens(const struct syscalls_call *c);

/* The begin of a call whose arguments are known, from their record; frees what it had. */
void syscalls_lines_begin(struct syscalls *s, struct syscalls_call *c, const struct event *e);
/* The return of a call that did not fail: arguments through which it gives something are what it
 * gave, from their record. */
void syscalls_lines_return(struct syscalls *s, struct syscalls_call *c, const struct event *e);
/* Names the pair of descriptors that the call gave, from the record of its return. */
void syscalls_lines_pair(struct syscalls *s, const struct syscalls_call *c, const struct event *e);
/* Prints the call; result NULL: its return was not seen. */
void syscalls_lines_end(struct syscalls *s, const struct syscalls_call *c, uint32_t thread,
			const int64_t *result, uint64_t ticks);
void syscalls_lines_free(struct syscalls_call *c);

#define SYSCALLS_EXECUTING 64 /* executions that may be under way at once */
#define SYSCALLS_OPEN 16 /* calls of one thread: handlers' within those that they interrupt */

struct syscalls_thread {
	struct syscalls_call open[SYSCALLS_OPEN];
	unsigned n;
	bool seen;                        /* its image is known to the files */
};

enum syscalls_kind { SYSCALLS_OTHER, SYSCALLS_RAW_ENTER, SYSCALLS_RAW_EXIT, SYSCALLS_ENTER,
		     SYSCALLS_EXIT };

/* One of the trace's events, by its index. */
struct syscalls_event {
	bool known;
	enum syscalls_kind kind;
	uint32_t nr;                      /* ENTER, EXIT */
	uint16_t path;                    /* place of the path's __data_loc; 0 = none */
};

struct syscalls {
	const struct trace_info *info;
	enum syscalls_by by;
	bool raw;                         /* raw_syscalls counts */
	void *rows_by_name;               /* a tree of tsearch() */
	VEC(struct syscalls_row *) rows;
	VEC(struct syscalls_thread) threads;
	VEC(struct syscalls_event) events;
	struct syscalls_files *files;
	struct out *lines;                /* single calls go there; NULL: nowhere */
	bool lines_json;
	struct histogram_pool pool;
	uint64_t first, last;             /* TSC */
	/* the threads that began to execute a program last, by their index; a ring */
	uint32_t executing[SYSCALLS_EXECUTING];
	unsigned n_executing;             /* that there were */
	bool led_return;                  /* of a call that the agent leads a return was seen */
};

/* syscalls_lines.c: as C's string, with its quotes. */
void syscalls_print_quoted(const uint8_t *at, uint32_t n, FILE *f);
