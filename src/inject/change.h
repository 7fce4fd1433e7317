/* SPDX-License-Identifier: MIT */
/* Other filters, or another tracer, in processes that run: one transaction over all of them. What takes time
 * is done before; then all are held at once, and either every one of them has the new patches when they go
 * on, or every one has the old ones. */
#pragma once
#include "inject/agent_place.h"

struct change_target {
	pid_t pid;
	const struct patch_list *old; /* what is in it */
	struct image_request req;     /* filled in by change_plan, but for settings, tracer, agent_path */
	struct memory_settings before; /* that hold, until im's welcome's do */
	struct image im;              /* the plan; image_close and image_news_free are the caller's */
	struct protocol_hello hello;
	struct agent_place place;
	struct tracee *t;             /* while it is held */
	struct maps maps;
	bool ready;                   /* planned */
	bool gone;                    /* it does not trace any more: ended, or executing a program */
	bool entered;                 /* its new trampolines are mapped */
	handler_list handlers;        /* of signals, if the change has `signals`; the caller's */
};

struct change {
	struct change_target *targets;
	size_t n;
	const struct agent_file *file;
	const char *agent_path;
	const struct memories *memories;
	bool renew;                   /* another tracer: the stubs are made anew */
	bool alone;                   /* what is changed is the one target's, and no child's */
	bool signals;                 /* deliveries of signals are told: handlers are to be known */
	/* Says in the session memory which settings hold. Called while none runs. */
	void (*commit)(void *context, bool these);
	void *context;
	struct attach_report *rep;
};

/* Which agent is there? *image is that of the process. Sets gone. */
int change_look(const struct change *c, struct change_target *t, uint32_t *image, struct err *err);
/* Plans: req.known, first_id, index and the settings are filled in. */
int change_plan(struct change_target *t, struct err *err);
/* 0: done. -EAGAIN: try again, with plans made anew (a target forked, executed a program, mapped memory).
 * -errno and *err. In both cases all are as before. With `renew` nothing is recorded between the old and the new. */
int change_all(const struct change *c, struct err *err);
