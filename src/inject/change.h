/* SPDX-License-Identifier: MIT */
/* Changes filters or the tracer in processes that run: one transaction over all of them. Slow work
 * is done before; then all processes are stopped at once, and when they go on, either every one has
 * the new patches, or every one has the old ones. */
#pragma once
#include "inject/agent_layout.h"
#include "inject/patch_sites.h"

struct change_target {
	pid_t pid;
	const struct patch_list *told; /* patches that were put into it, as far as is known */
	uint32_t sites;           /* its image's, in change.sites */
	/* change_all's own: patches that stand in it, once `looked` */
	struct patch_list old;
	bool looked;
	/* change_plan fills it in, except settings, tracer and agent_path */
	struct image_request req;
	struct memory_settings before; /* settings in force before im's setup reply's */
	/* the plan; image_close and image_update_free are the caller's */
	struct image im;
	struct protocol_hello hello;
	struct agent_layout agent;
	struct tracee *t;             /* while it is stopped */
	struct maps maps;
	bool ready;                   /* change_plan succeeded */
	bool gone;                    /* not traced any more: ended, or executing a program */
	bool entered;                 /* the new trampolines are mapped */
	/* signal handlers found, if the change has `signals`; the caller's */
	handler_list handlers;
};

struct change {
	struct change_target *targets;
	size_t n;
	const struct agent_file *file;
	const char *agent_path;
	const struct memories *memories;
	const struct patch_sites *sites;
	bool renew;                   /* another tracer: stubs are made anew */
	bool alone;                   /* only this one target changes, none of its children */
	/* deliveries of signals are told, so handlers have to be known */
	bool signals;
	/* Puts these settings into the session memories, or (false) the old ones back. Called while
	 * no target runs. */
	void (*commit)(void *context, bool these);
	void *context;
	struct attach_report *rep;
};

/* Finds the agent in the target; *image is the process' image. Sets `gone`. 0, or -errno and
 * *err. */
int change_look(const struct change *c, struct change_target *t, uint32_t *image, struct err *err);
/* Plans the target. The caller filled in req.known, first_id, index and the settings. 0, or -errno
 * and *err. */
int change_plan(struct change_target *t, struct err *err);
/* Changes all targets. 0: done. -EAGAIN: try again, with new plans (a target forked, executed a
 * program or mapped memory). -errno and *err. In both cases everything is as before. With `renew`
 * nothing is recorded between the old and the new. */
int change_all(const struct change *c, struct err *err);
