/* SPDX-License-Identifier: MIT */
/* ftrace's directory: the top one, and each one below instances/, with settings and an error_log of
 * its own.
 *
 *	struct tree *t = instance_tree_new();
 *	... tree_echo(t, "tracing_on", "0", false, &err); fuse_mount_serve(t, ...) ...
 *	instance_tree_free(t);
 *
 * All functions may be called from any thread, except the two above. */
#pragma once
#include "tree/target.h"
#include "tree/tree.h"

struct instance;

/* A new tree with settings as after boot and no target. */
struct tree *instance_tree_new(void);
/* Frees the tree. No file is open, and no thread calls the tree any more. Targets are not told. */
void instance_tree_free(struct tree *t);
/* The instance of the top directory. */
struct instance *instance_top(struct tree *t);

/* last_boot_info of the top directory shows this text (copied). Before the tree is served. */
void instance_tell_last_boot(struct tree *t, const char *text);

/* Puts the target behind the instance, after its `apply` accepted the present settings. 0, or
 * -errno and *err of `apply`. */
int instance_attach(struct instance *in, struct tree_target target, struct err *err);
/* Removes the target, after calls of it that are under way have returned. The settings stay. */
void instance_detach(struct instance *in);
/* Wakes readers: trace_pipe has something to read. */
void instance_wake(struct instance *in);
/* Whether somebody has trace_pipe (that of all CPUs) open now. */
bool instance_is_piped(const struct instance *in);

/* The catalogue of events, one for all instances. When events_add returns, the new event has its
 * directories. */
struct event_catalogue *instance_events(struct tree *t);
/* Prints the event's histograms: hist_text_printer is the `hist` file (hist/hist.h). */
struct event_entry;
struct hist_printer;
void instance_hist(struct instance *in, const struct event_entry *event,
		   const struct hist_printer *printer, struct out *text);
/* A copy of the settings, for settings_free. */
void instance_settings(struct instance *in, struct settings *out);
