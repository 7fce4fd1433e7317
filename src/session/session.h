/* SPDX-License-Identifier: MIT */
/* One tracing session over a program launched for it, or processes that run already: brings the agent in, hooks, drains the
 * buffers, ends. The command line and the tree speak to this. */
#pragma once
#include <sys/types.h>

#include "base/err.h"
#include "model/settings.h"
#include "shared/notes.h"
#include "trace/event.h"
#include "trace/trace_info.h"

struct session_request {
	const struct settings *settings;
	char *const *argv;        /* program and arguments, NULL-terminated; NULL: attach */
	const pid_t *pids;        /* to attach to */
	size_t n_pids;
	const char *agent_path;   /* NULL: beside the brace executable, or the installed one */
	const char *output;       /* trace file to write; NULL: none (live only) */
	int verbosity;
};

struct session_result {
	int wait_status;          /* of the program, as waitpid gives it */
	uint64_t calls, records, lost, bytes;
	uint32_t by_kind[16];     /* functions hooked, by enum hook_kind */
	uint32_t by_reason[32];   /* functions not hooked, by enum hook_reason */
	uint32_t functions, hooked;
	uint64_t to_main_ns;      /* from session_start to the agent letting the program go on */
	uint64_t run_ns;
	struct trace_note notes[NOTES_MAX + NOTE_KINDS]; /* programs that ran untraced, and more */
	size_t n_notes;
	bool attached;
	uint64_t attach_ns, leave_ns; /* the longest stops that an attached process saw, going in and coming out */
	uint32_t threads;         /* most threads stopped at once */
	uint32_t changed;         /* places that somebody else had changed at the end: left as they are */
	uint32_t stuck;           /* processes that could not be left as they were */
	struct err stuck_why;     /* the last of them */
	struct err full;          /* the file could not take all, and counts are what it has; code 0: it could */
};

struct session;

/* Starts the program under trace: returns when it is about to run its own first
 * constructor. 0, or -errno and *err (ENOENT, EACCES, ENOEXEC, EPERM for set-uid, ENOTSUP for
 * static or 32-bit, EINVAL for a filter that matches nothing); then nothing was run and nothing is left behind. */
int session_start(const struct session_request *req, struct session **out, struct err *err);

/* record: drains into the trace file until the program (and its traced children) end. If the file cannot take all (a full disk), it
 * does so to the end too: what is not in the file is counted, and res->full says why. */
int session_record(struct session *s, struct session_result *res, struct err *err);

/* graph: the live stream; next() waits for events and gives 0 when the program has ended.
 * After it, session_result has the closing figures. session_free closes it. */
struct source *session_source(struct session *s);
void session_result(struct session *s, struct session_result *res);
/* Puts into the trace_info how the program ended, if it has: for a file that is written now. By the thread that drains, or while it waits. */
void session_tell_run(struct session *s);
/* Stops recording (Ctrl-C), from any thread: a launched program goes on untouched, or gets the signal as its
 * terminal sends it; attached processes are left as they were. */
void session_stop(struct session *s);
pid_t session_pid(const struct session *s); /* of the program, or the first one attached to */
/* Other settings (which must live on; mode and buffer sizes stay) while programs run: one transaction over all the
 * session's processes. From any thread. *pause_ns: the longest stop. 0, or -errno and *err, and all is as before. */
int session_change(struct session *s, const struct settings *settings, uint64_t *pause_ns, struct err *err);
/* The same of settings that mean nothing else for the programs. */
void session_keep(struct session *s, const struct settings *settings);
/* The same of settings that differ from those of before only in whether what threads sleep is to be known: no program is stopped. */
int session_change_sleeps(struct session *s, const struct settings *settings, struct err *err);
void session_free(struct session *s);
