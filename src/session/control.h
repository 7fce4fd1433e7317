/* SPDX-License-Identifier: MIT */
/* The session's agent socket: traced programs come here, once for each exec, to be told how to
 * begin. One thread waits for all of them and other threads plan, so that neither a slow program
 * nor a long plan delays the others. */
#pragma once
#include "image/image.h"
#include "session/session.h"
#include "collect/memories.h"
#include "collect/producer.h"

struct attach_report;
struct launch_birth;
struct control;

/* The agent's mode of work for these settings. */
enum memory_tracer control_tracer_of(const struct settings *s);
/* Mode, sizes and settings of the session memories for these settings. thresh_ticks: tracing_thresh
 * in TSC ticks. */
struct shared_memory_shape control_shape_of(const struct settings *s, uint64_t thresh_ticks);
/* Whether the threads' sleeps have to be known (nosleep-time). */
bool control_excludes_sleep(const struct settings *s);

struct control_request {
	const struct settings *settings;
	/* the settings', with what came since; control_start begins with none */
	struct event_set events;
	const char *agent_path;
	struct memories *memories;
	const struct producers *producers; /* the session's; they live on */
	const struct memory_ends *image_ends; /* the session's; they live on */
	uint32_t first_image;     /* the index of the first program's */
	enum memory_tracer tracer;
	uint64_t thresh_ticks;    /* tracing_thresh of the settings */
};

/* Makes the socket and starts the threads. 0, or -errno and *err. */
int control_start(const struct control_request *req, struct control **out, struct err *err);
/* Brings a running process under trace. 0, or -errno and *err, and the process runs on as
 * before. */
int control_attach(struct control *c, pid_t pid, struct attach_report *rep, struct err *err);
/* Starts a program into which no loader brings the agent, and lets it go when it is hooked: before
 * its main, where that is possible. 0; or -errno and *err: then *pid is a dead child that has to be
 * waited for, or 0, and nothing else is left of it. */
int control_launch(struct control *c, const char *path, char *const *argv,
		   const struct launch_birth *birth, pid_t *pid, struct err *err);
/* Takes a process out of the trace: its bytes are restored, and the agent lets go of the session's
 * memory. 0, or -errno and *err. */
int control_detach(struct control *c, pid_t pid, struct attach_report *rep, struct err *err);
/* Changes the settings (which must live on) in the processes and for all that come later, in one
 * transaction. 0, or -errno and *err, and everything is as before. thresh_ticks: tracing_thresh in
 * TSC ticks. */
int control_change(struct control *c, const struct settings *settings, uint64_t thresh_ticks,
		   const pid_t *pids, size_t n, struct attach_report *rep, struct err *err);
/* Works like control_change, for settings that differ in nothing that programs have to know. */
void control_keep(struct control *c, const struct settings *settings);
/* Works like control_change, for settings that differ only in whether sleeps have to be known. */
int control_change_sleeps(struct control *c, const struct settings *settings, const pid_t *pids,
			  size_t n, struct err *err);
/* Wakes memories_wait() when this process ends. */
void control_watch(struct control *c, pid_t pid);
/* For agents: "ADDRESS:TOKEN" (shared/memory.h). A secret of the session's programs; lives as long
 * as the control. */
const char *control_way(const struct control *c);
/* Ends the threads and closes the socket. Gives up agents that have not answered. */
void control_stop(struct control *c);

/* The next image's update, in order of image; false if there is none yet. The caller frees it. */
bool control_next_update(struct control *c, struct image_update *out);

/* No process has the image any more. From the session's thread. */
void control_image_ended(struct control *c, uint32_t image);

/* Waits until everything that agents have said so far is heard: of programs that have ended, all
 * that they said. */
void control_hear_all(struct control *c);
/* Whether a process that has said hello is still being set up. Hears first what was said so far. */
bool control_is_busy(struct control *c);

/* Waits until the update of image `index` is there. False if that takes more than seconds, or there
 * is no such image. */
bool control_wait_update(struct control *c, uint32_t index);

/* Waits until the first image is set up (0), its set-up failed (-errno, *err), `alive` denies that
 * the program lives (-ECHILD), or the user gave up (-ECANCELED). */
int control_wait_first(struct control *c, bool (*alive)(void *), void *context, struct err *err);

/* Counts of hooked functions in the launched program's newest image. */
void control_count(struct control *c, struct image_count *out);
