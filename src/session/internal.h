/* SPDX-License-Identifier: MIT */
/* A session's own state, shared by its recording (record.c), its live stream (live.c), its
 * consumer, and attaching. The thread that drains owns it; `stopped` is the only field that others
 * write at any time. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "inject/attach.h"
#include "collect/clock.h"
#include "collect/producer.h"
#include "image/image.h"
#include "collect/processes.h"
#include "collect/ring_file.h"
#include "session/rotation.h"
#include "session/session.h"
#include "collect/memories.h"
#include "collect/memory_ends.h"
#include "session/thread_names.h"
#include "trace/loops.h"
#include "tracee/exit_watch.h"

struct control;
struct held_calls;
struct store_writer;
struct switches;

struct site_hole { uint32_t image, site; };
struct live_image { uint32_t image; int watch; /* memory_ends_watch() */ };

struct session {
	char *agent_path, *output;       /* output NULL: live only */
	struct memories memories;
	struct control *control;
	struct producers producers;      /* whole before another thread begins */
	struct switches *switches;       /* one of them: it knows the threads' sleeps too */
	struct store_writer *store;      /* NULL: live only */
	struct rotation rotation;
	struct err full;                 /* why the file takes no more; code 0: it does */
	struct trace_info *info;
	struct held_calls *held;         /* NULL: no condition is about what calls return */
	VEC(const struct image_memory *) image_memory; /* by image; NULL: no process has it */
	uint32_t first_image;            /* of a program: 1 if the kernel's is before them */
	bool has_beside;                 /* a source that the caller opened is among producers */
	struct memory_ends image_ends;
	VEC(struct live_image) live_images; /* those in image_memory */
	/* Sites whose number a thread has taken, and not yet written. */
	VEC(struct site_hole) site_holes;
	struct processes processes[MEMORIES_MAX]; /* by memory */
	/* Slot (slots.h) -> index in info->threads; in parts, since most of the numbers are of
	 * memories that never come. */
	VEC(uint32_t) threads[PRODUCERS_MAX * MEMORIES_MAX];
	struct thread_names names;
	bool unnamed;                    /* names of new threads are not kept */
	struct clock clock;
	struct trace_total total;
	VEC(struct loops) loops;         /* by thread; live only */
	pid_t pid;                       /* launched, or the first attached */
	VEC(pid_t) attached;
	VEC(struct exit_watch) watches;  /* of them */
	struct attach_report attach, leave;
	uint32_t stuck;
	struct err stuck_why;
	pid_t stuck_pid;
	char *ring;                      /* of the memories; NULL: they have no file */
	char ring_id[RING_ID];
	bool left;
	int status;
	struct rusage usage;             /* of the program, once it has ended */
	atomic_bool ended;               /* set by the thread that drains; any thread may ask */
	atomic_bool stopped;             /* session_stop sets it from any thread */
	uint64_t started_tsc, ready_tsc, ended_tsc;
};

/* attached.c: 0, or -errno and *err; then none of them is attached. */
int session_attach(struct session *s, const pid_t *pids, size_t n, struct err *err);
bool session_attached_run(const struct session *s); /* any of them */
void session_detach(struct session *s);   /* leaves all of them and their children; works once */
bool session_is_running(uint32_t pid);  /* and is no zombie */

/* tracing_thresh in TSC ticks. */
uint64_t session_thresh_ticks(const struct session *s, const struct settings *set);
bool session_reap(struct session *s);   /* whether the program has ended */
bool session_over(struct session *s);   /* whether the program and its traced children have ended */
/* Puts the ring among the settings of info, with what files before have of its threads, if it is
 * not there, or `anew`: it leads from the file to the ring. */
void session_tell_ring(struct session *s, bool anew);
/* Ends the trace file. s->full tells why it lacks records; they are counted. */
void session_end_file(struct session *s);
void session_heartbeat(struct session *s);   /* tells waiting writers that we live */
/* updates.c: takes over all updates that the control has; true: there were some. */
bool session_take_updates(struct session *s);
void session_take_sites(struct session *s); /* adds call sites that threads have taken since */
/* account.c: the messages of all memories, and the session's own, in place of the former ones. */
void session_take_messages(struct session *s);
/* Adds new images, modules and call sites to info; true: an image or a module. */
bool session_catch_up(struct session *s);
uint32_t session_thread(struct session *s, uint32_t slot); /* index in info->threads */
/* Overwrite mode: nothing is taken before the end. */
bool session_overwrites(const struct session *s);
/* merge_sleeps.c: a pass over all sources, as producers_pass(), with the threads' sleeps. 0, or the
 * sink's error. */
int session_pass(struct session *s, enum producer_pass pass, drain_sink *sink, void *context,
		 uint64_t *lost, struct err *err);
/* Gives the run to the sink, or, with `held`, what of it and of earlier ones has its turn. 0, or
 * the sink's error; -EPROTO and *err: the program spoiled its memory. */
int session_take_run(struct session *s, const struct drain_run *run, drain_sink *sink,
		     void *context, struct err *err);
/* Nothing comes any more: gives the sink what is held back and decided. 0, or the sink's error. */
int session_take_rest(struct session *s, drain_sink *sink, void *context, struct err *err);
/* Counts a run. -EPROTO and *err for a run that refers to an impossible image. */
int session_account(struct session *s, const struct drain_run *run, struct err *err);
/* Adds a made-up thread that bears the losses of threads without a slot; returns its index. Once,
 * at the end. */
uint32_t session_threadless(struct session *s, uint64_t lost);
