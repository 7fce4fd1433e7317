/* SPDX-License-Identifier: MIT */
/* A recording on another host, over ssh: nothing has to be installed there but sh and date, nothing
 * stays there. One connection has a shell that takes commands on its standard input; copies of
 * brace go over others. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/stop.h"
#include "base/vec.h"

#define REMOTE_HOSTS_MAX 256

/* Reads HOST[,HOST]..., or @FILE, or a path with a slash: a file with a host a line, # begins a
 * comment. A host is what ssh takes: a name of its configuration, or USER@HOST. 0, or -errno and
 * *err, with the column. */
typedef VEC(char *) remote_names;
int remote_read_names(remote_names *names, const char *text, struct err *err);
void remote_free_names(remote_names *names);

/* The part of a recording that all hosts share. */
struct remote_spec {
	const char *ssh;          /* the command that connects, words that spaces part */
	const char *brace, *agent; /* files that are copied where there is no brace of `version` */
	const char *version;      /* as `brace version` prints it */
	char *const *arguments;   /* of brace record, NULL-terminated */
	uint64_t silence_ns;      /* the longest that an answer may take, and 64 KiB of a file */
	uint64_t trace_most;      /* bytes of a trace that are taken */
	const struct stop *stop;  /* asked: recordings end, and traces are fetched */
	const struct stop *given_up; /* asked: nothing is waited for any more */
	/* Takes a line that a host's programs printed; of several threads. */
	void (*tell)(void *arg, const char *host, bool is_error, const char *line, size_t n);
	void *arg;
};

struct remote_text { char *at; size_t n, cap; };

struct remote_host {
	const char *host;
	const struct remote_spec *spec;
	/* results */
	int64_t offset_ns;        /* its clock is so much ahead of this machine's */
	uint64_t error_ns;        /* but for so much: half of the way there and back */
	int status;               /* brace record's */
	bool copied;              /* brace was */
	struct err why;           /* code 0: all is well so far */
	/* private */
	pid_t ssh;
	char *folder;             /* there */
	int in, out, errors;
	struct remote_text text, error_text; /* what came and is not taken yet */
	char nonce[17];           /* begins the lines that answer commands; it is drawn */
	uint64_t asked_ns;        /* when it was asked last */
	bool begun;
};

/* Connects, compares the clocks, and brings brace there. Any thread; so the others, in this
 * order. 0, or -errno and r->why. */
int remote_prepare(struct remote_host *r);
/* Records from that time of this machine's clock on, and returns when the program has ended. 0, or
 * -errno and r->why. */
int remote_record(struct remote_host *r, uint64_t at_real_ns);
/* Writes the trace to a file (mode 0600), which is new. 0, or -errno and r->why. */
int remote_fetch(struct remote_host *r, const char *path);
/* Removes what was there, and ends the connection. In any case. Waits for the host as an answer is
 * waited for. */
void remote_end(struct remote_host *r);
