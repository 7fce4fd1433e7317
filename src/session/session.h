/* SPDX-License-Identifier: MIT */
/* One tracing session over a program that is launched for it, or over running processes: brings the
 * agent in, hooks, drains the buffers, ends. The command line and the tree use this interface. */
#pragma once
#include <sys/types.h>

#include "base/err.h"
#include "hook/plan.h"
#include "image/arguments.h"
#include "model/settings.h"
#include "shared/messages.h"
#include "trace/event.h"
#include "trace/trace_info.h"

struct producer;

/* A source of records beside those of programs, as the kernel (kernel/producer.h), which the caller
 * opens. */
struct session_beside {
	struct producer *producer; /* NULL: none. Stays the caller's, and outlives the session */
	/* Called with the program's process before it executes the program. 0, or -errno and *err:
	 * then it is not run. */
	int (*born)(void *context, pid_t pid, struct err *err);
	void *context;
	const struct session_beside *next; /* one more; NULL: none */
};

/* When the recording goes on in a new file (brace record --rotate); all 0: never. */
struct session_rotation {
	uint64_t bytes, ns; /* the present file has so much, or so long */
	uint32_t keep;      /* files that are kept, the newest; 0: all */
	/* Told of each file that has ended, before one is removed; NULL: nobody. On the session's
	 * thread, which takes no records meanwhile */
	void (*ended)(void *arg, const char *file);
	void *arg;
};

struct session_request {
	const struct session_beside *beside; /* NULL: none */
	const struct settings *settings;
	char *const *argv;        /* program and arguments, NULL-terminated; NULL: attach */
	const pid_t *pids;        /* to attach to */
	size_t n_pids;
	const char *agent_path;   /* NULL: beside the brace executable, or the installed one */
	const char *output;       /* trace file to write; NULL: none (live only) */
	unsigned compress;        /* zstd's level for files, 1 to 19; 0: the default */
	uint64_t max_bytes;       /* of this file; 0: no limit */
	struct session_rotation rotation;
	const char *ring;         /* a file for the session memory (record --ring); NULL: none */
	uint64_t ring_kb;         /* of it; 0: the default */
};

struct session_result {
	int wait_status;          /* as waitpid gives it */
	uint64_t calls, records, lost, bytes;
	uint32_t by_kind[HOOK_KINDS_N]; /* functions hooked, by enum hook_kind */
	uint32_t by_reason[REASONS_N]; /* functions not hooked, by enum hook_reason */
	uint32_t functions, hooked;
	/* that were executed and traced; the counts above are the first one's */
	uint32_t programs;
	uint64_t code_bytes, unknown_bytes; /* of the files whose functions these are */
	struct argument_count arguments; /* what came of --args and --retval */
	uint64_t to_main_ns;      /* from session_start to the agent's letting the program go on */
	uint64_t run_ns;
	/* programs that ran untraced, and more */
	struct trace_message messages[MESSAGES_MAX + MESSAGE_KINDS];
	size_t n_messages;
	bool attached;
	/* longest stops of an attached process, going in and coming out */
	uint64_t attach_ns, leave_ns;
	uint32_t threads;         /* most threads stopped at once */
	/* places that somebody else had changed at the end: left as they are */
	uint32_t changed;
	uint32_t stuck;           /* processes that could not be left as they were */
	struct err stuck_why;     /* of the last of them */
	pid_t stuck_pid;          /* the last of them; its functions are patched still */
	/* trace files before the last one, and those of them that were removed with their
	 * records; the counts above are of all files */
	uint32_t files_before, files_removed;
	uint64_t records_removed;
	/* why the file could not take all, while the counts are of what it has; code 0: it could */
	struct err full;
};

struct session;

/* Starts the program under trace. Returns when it is about to run its own first constructor. 0, or
 * -errno and *err (-ENOENT, -EACCES, -ENOEXEC; -EPERM for set-uid; -ENOTSUP for 32-bit or another
 * machine; -EINVAL for a filter that matches nothing); then nothing was run, and nothing is left
 * behind. */
int session_start(const struct session_request *req, struct session **out, struct err *err);

/* `brace record`: drains into the trace file until the program (and its traced children) end. If
 * the file cannot take all (a full disk), goes on to the end all the same: records that are not in
 * the file are counted, and res->full tells why. 0; or -errno and *err: the program spoiled the
 * session memory, and what came before is in the file. The thread that started the session calls
 * it. */
int session_record(struct session *s, struct session_result *res, struct err *err);

/* The live stream, for commands that want events, not trace_pipe's lines. next() waits for events,
 * and gives 0 when the program has ended; then session_result has the closing figures. session_free
 * closes it. */
struct source *session_source(struct session *s);
void session_result(struct session *s, struct session_result *res);
/* Puts how the program ended, if it has, into the trace_info, for a file that is written now.
 * Called by the thread that drains, or while that thread waits. */
void session_tell_run(struct session *s);
/* Stops recording (Ctrl-C), from any thread: a launched program goes on untouched, or gets the
 * signal as its terminal sends it; attached processes are left as they were. */
void session_stop(struct session *s);
/* The time stamp (clock_tsc()) at which the program, or all that was attached to, was seen to have
 * ended, while children of it may run on; 0: it runs. Any thread. */
uint64_t session_program_ended(const struct session *s);
/* (tests) Of the program, or of the first one that was attached to. */
pid_t session_pid(const struct session *s);
/* Changes the settings (which must live on; mode and buffer sizes stay) while programs run: one
 * transaction over all processes of the session. From any thread. *pause_ns: the longest stop. 0,
 * or -errno and *err, and everything is as before. */
int session_change(struct session *s, const struct settings *settings, uint64_t *pause_ns,
		   struct err *err);
/* Works like session_change, for settings that differ in nothing that programs have to know. */
void session_keep(struct session *s, const struct settings *settings);
/* Works like session_change, for settings that differ only in whether sleeps have to be known: no
 * program is stopped. */
int session_change_sleeps(struct session *s, const struct settings *settings, struct err *err);
/* The processes that run: those that it began with, and what forked from them. Returns how many;
 * the caller frees *out. From any thread. */
size_t session_processes(struct session *s, pid_t **out);
/* Leaves all processes, and frees. NULL does nothing. */
void session_free(struct session *s);
