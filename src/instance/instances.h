/* SPDX-License-Identifier: MIT */
/* A session behind ftrace's tree: writes to the files act on the traced programs, and their records
 * appear in `trace` and `trace_pipe`.
 *
 *	struct tree *t = instance_tree_new();
 *	... settings are written ...
 *	instances_start(&request, t, &instances, &err);    the programs run, or are attached to
 *	... the tree is served ...
 *	instances_stop(instances);                         attached programs are as they were */
#pragma once
#include "instance/slow.h"
#include "session/session.h"
#include "tree/instance.h"

struct instances;

/* Behind the path of a ring: its trace file. */
#define INSTANCES_RING_TRACE ".trace"

struct instances_request {
	char *const *argv;        /* program and arguments, NULL-terminated; NULL: attach */
	const pid_t *pids;
	size_t n_pids;
	const char *agent_path;   /* NULL: where brace finds it */
	unsigned compress;        /* zstd's level of extracted files, 1 to 19; 0: the default */
	const slow_limits *slow;  /* for instances_slow(); NULL: none */
	/* Settings that are made already, of a run in which nobody changes them: the programs and
	 * the top instance have them as they are, and mode overwrite keeps the records in the
	 * programs' memory until the end. Records come in the order of time. The tree's own are not
	 * looked at, and of its files trace_pipe alone shows the session. They outlive it. NULL:
	 * the tree's. */
	const struct settings *settings;
	/* With `settings`: more sources of records (NULL: none), and the part that is printed. */
	const struct session_beside *beside;
	enum trace_sides sides;
	/* A file for the session memory (session_request.ring), an absolute path; NULL: none. With
	 * it the newest records of all programs are kept in INSTANCES_RING_TRACE beside it, and in
	 * one file before that, each of the ring's size. */
	const char *ring;
	uint64_t ring_kb;         /* 0: the default */
};

/* Starts or attaches to the programs with the settings that the tree has. Returns 0, or -errno and
 * *err as session_start: nothing is left behind then. instances_stop frees *out. */
int instances_start(const struct instances_request *req, struct tree *tree, struct instances **out,
		    struct err *err);
/* Ends the session: a launched program goes on, untraced. The tree keeps its settings. NULL is
 * fine. No thread may use the tree's files of the session any more once instance_detach has
 * returned for them. */
void instances_stop(struct instances *l);
/* Whether all programs have ended and their records are in the buffers. */
bool instances_are_over(struct instances *l);
/* Returns when instances_are_over is true. */
void instances_wait(struct instances *l);
/* Whether trace_pipe has binary numbers, not text. */
bool instances_are_binary(struct instances *l);
/* Prints the lines that begin with #, which trace_pipe does not have. */
void instances_print_header(struct instances *l, struct out *out);
/* Whether the programs' records, or another source's, could not be read: why the first time. */
bool instances_failed(struct instances *l, struct err *err);
/* The session behind the tree, for closing figures and session_stop. instances_stop frees it. */
struct session *instances_session(struct instances *l);
/* Records that the top instance's buffer had no room for: newer ones replaced them, or they did not
 * fit. */
uint64_t instances_dropped(struct instances *l);
/* Writes the top instance's buffer into a trace file, for brace report and its like. The records
 * stay. */
int instances_extract(struct instances *l, const char *path, struct err *err);
/* instances_extract() with a message of why (NULL: none), and one of how many records newer ones
 * have replaced. */
int instances_extract_why(struct instances *l, const char *path, const struct trace_message *why,
			  struct err *err);
/* Whether calls were over a limit of the request's since the last question; the first of them. */
bool instances_slow(struct instances *l, struct slow_call *out);
/* Whether a function with a limit is, or was, traced. */
bool instances_slow_has_functions(struct instances *l);
