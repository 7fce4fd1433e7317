/* SPDX-License-Identifier: MIT */
/* A session's own state, shared by its recording (session.c) and its live stream (live.c). */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "inject/attach.h"
#include "collect/clock.h"
#include "collect/drain.h"
#include "image/image.h"
#include "collect/processes.h"
#include "session/session.h"
#include "collect/memories.h"

struct control;
struct store_writer;

struct site_hole { uint32_t image, site; };

struct session {
	char *agent_path, *output;       /* output NULL: live only */
	struct memories memories;
	struct control *control;
	struct drain *drains[MEMORIES_MAX]; /* by memory; NULL: it came since the last pass */
	struct store_writer *store;      /* NULL: live only */
	struct err full;                 /* the file takes no more; code 0: it does */
	struct trace_info *info;
	VEC(const struct image_memory *) image_memory; /* by image */
	VEC(struct site_hole) site_holes; /* numbers that a thread has taken and not written what for */
	struct processes processes[MEMORIES_MAX]; /* by memory */
	VEC(uint32_t) slots[MEMORIES_MAX + 1]; /* by memory: slot there -> index in info->threads; last the kernel's (slots.h) */
	bool unnamed;                    /* names of threads that come are not kept */
	struct clock clock;
	struct trace_total total;
	pid_t pid;                       /* launched, or the first attached */
	VEC(pid_t) attached;
	struct attach_report attach, leave;
	uint32_t stuck;
	struct err stuck_why;
	bool left;
	int status;
	struct rusage usage;             /* of the program, once it has ended */
	bool ended;
	atomic_bool stopped;             /* session_stop may come from another thread */
	uint64_t started_tsc, ready_tsc, ended_tsc;
};

/* attached.c: -errno and *err, and none of them is attached. */
int session_attach(struct session *s, const pid_t *pids, size_t n, struct err *err);
bool session_attached_run(const struct session *s); /* any of them */
void session_leave(struct session *s);   /* all of them, and their children; once */
bool session_is_running(uint32_t pid);  /* and is no zombie */

uint64_t session_thresh_ticks(const struct session *s, const struct settings *set);
bool session_reap(struct session *s);   /* has the program ended? */
bool session_over(struct session *s);   /* it, and its traced children? */
void session_beat(struct session *s);   /* tells waiting writers that we live */
bool session_catch_up(struct session *s); /* info gains what came up since; true: an image or a module */
uint32_t session_thread(struct session *s, uint32_t slot); /* index in info->threads */
/* weave.c: as drain_pass and drain_finish, with what the kernel tells of the threads. */
bool session_overwrites(const struct session *s); /* overwrite mode: nothing is taken before the end */
void session_recycle(struct session *s);          /* drain_recycle of all memories */
int session_pass(struct session *s, bool partial, drain_sink *sink, void *context, struct err *err);
int session_finish(struct session *s, drain_sink *sink, void *context, uint64_t *lost, struct err *err);
/* Counts a run; refuses one that refers to what cannot be. */
int session_account(struct session *s, const struct drain_run *run, struct err *err);
/* A thread, made up, that bears what threads without a slot lost; its index. Once, at the end. */
uint32_t session_threadless(struct session *s, uint64_t lost);
