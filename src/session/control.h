/* SPDX-License-Identifier: MIT */
/* The session's door: traced programs come here, once for each exec, to be told what to do. They are waited for in
 * a thread of its own and planned in others, so that neither one of them nor planning holds up anybody else. */
#pragma once
#include "image/image.h"
#include "session/session.h"
#include "collect/memories.h"

struct attach_report;
struct control;
struct switches;

/* Of the settings: what the agent does. */
enum memory_tracer control_tracer_of(const struct settings *s);
/* What the session memories are like by them. thresh_ticks: of the settings, in TSC ticks. */
struct shared_memory_shape control_shape_of(const struct settings *s, uint64_t thresh_ticks);
/* What threads sleep is to be known. */
bool control_is_sleepless(const struct settings *s);

struct control_request {
	const struct settings *settings;
	struct event_set events;  /* the settings', with what came since; control_start begins with none */
	const char *agent_path;
	struct memories *memories;
	enum memory_tracer tracer;
	uint64_t thresh_ticks;    /* tracing_thresh of the settings */
};

/* Makes the socket and the threads. */
int control_start(const struct control_request *req, struct control **out, struct err *err);
/* Brings a process that runs already under trace. 0, or -errno and *err, and it runs on as before. */
int control_attach(struct control *c, pid_t pid, struct attach_report *rep, struct err *err);
/* Starts a program that no loader brings us into, and lets it go when it is hooked: before its main, where
 * that can be. 0; or -errno and *err, and nothing of it is left but what *pid says: a dead child, to
 * be waited for, or 0. */
int control_launch(struct control *c, const char *path, char *const *argv, pid_t *pid, struct err *err);
/* Takes a process out of the trace: its bytes are restored, the agent lets go of the session's memory. */
int control_leave(struct control *c, pid_t pid, struct attach_report *rep, struct err *err);
/* Other settings (which must live on) in the processes and in all that come later, in one transaction: 0, or -errno
 * and *err, and all is as before. thresh_ticks: of the settings, in TSC ticks. */
int control_change(struct control *c, const struct settings *settings, uint64_t thresh_ticks, const pid_t *pids, size_t n,
		   struct attach_report *rep, struct err *err);
/* The same of settings that mean nothing else for the programs. */
void control_keep(struct control *c, const struct settings *settings);
/* The same of settings that differ only in whether what threads sleep is to be known. */
int control_change_sleeps(struct control *c, const struct settings *settings, const pid_t *pids, size_t n, struct err *err);
/* Nudges whoever waits on the session memory when this process ends. */
void control_watch(struct control *c, pid_t pid);
const char *control_socket(const struct control *c);
/* Ends the threads, closes the socket. Who has not answered is given up. */
void control_stop(struct control *c);

/* The next image's news, in order of image; false if there is none (yet). The caller owns it. */
bool control_next_news(struct control *c, struct image_news *out);

/* Waits until all that agents have said so far is heard: of programs that have ended, all. */
void control_settle(struct control *c);

/* Waits until the news of image `index` can be had; false if that takes more than seconds, or there is no such image. */
bool control_wait_news(struct control *c, uint32_t index);

/* Waits until the first image is set up (0), its set-up failed (-errno, *err), or `alive` says
 * that the program has gone. */
int control_wait_first(struct control *c, bool (*alive)(void *), void *context, struct err *err);

/* sched:sched_switch of its processes. Lives as long as the control. */
struct switches *control_switches(struct control *c);

/* Hook counts of the launched program's newest image. */
void control_count(struct control *c, struct image_count *out);
