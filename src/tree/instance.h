/* SPDX-License-Identifier: MIT */
/* ftrace's directory: the top one, and each below instances/, with settings and an error_log of its own.
 *
 *	struct tree *t = instance_tree_new();
 *	... tree_echo(t, "tracing_on", "0", false, &err); fuse_face_...(t) ...
 *	instance_tree_free(t);
 */
#pragma once
#include "tree/target.h"
#include "tree/tree.h"

struct instance;

/* Settings as after boot, no target. */
struct tree *instance_tree_new(void);
/* No file is open, and nobody calls the tree any more. Targets are not told. */
void instance_tree_free(struct tree *t);
struct instance *instance_top(struct tree *t);

/* From here on the target stands behind the instance; 0, or what its `apply` said to the present settings. */
int instance_attach(struct instance *in, struct tree_target target, struct err *err);
/* Waits for calls that are under way. The settings stay. */
void instance_detach(struct instance *in);
/* trace_pipe has something to read. */
void instance_wake(struct instance *in);

/* The events of all instances. An event that is added (events_add) has its directories when that returns. */
struct event_catalogue *instance_events(struct tree *t);
/* A copy of the settings; settings_free it. */
void instance_settings(struct instance *in, struct settings *out);
