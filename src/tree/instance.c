/* SPDX-License-Identifier: MIT */
/* An instance: its settings, its target, its directory; and the directory of instances. Locks are
 * taken in this order: the top's lock, an instance's lock, its target_lock (read-held around calls
 * of the target), the top's events_lock, the tree's own. That of user_events.c comes before
 * events_lock, and is taken with none of the others. A change of settings is all or nothing: it is
 * made on a copy, applied by the target, and only then becomes the instance's. */
#include "tree/instance.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/monotonic.h"
#include "model/options.h"
#include "tree/files.h"
#include "hist/hist.h"
#include "tree/instance_internal.h"
#include "tree/user_events.h"

/* --- failures ----------------------------------------------------------------------- */

/* The column in the whole command: the sentence may point into a part of it. */
static size_t column_in(const char *text, size_t n, const struct err *err)
{
	size_t length = strlen(err->input);
	const char *at = length ? memmem(text, n, err->input, length) : NULL;

	return at ? (size_t)(at - text) + err->column : 0;
}

/* The log's times are CLOCK_MONOTONIC's. */
void instance_log(struct instance *in, const char *location, const char *sentence, const char *text,
		  size_t n, size_t column)
{
	error_log_add(&in->errors, monotonic_ns(), location, sentence, text, n, column);
}

/* tree_owner.failed of every instance: open.c calls it on the thread that wrote. */
static void log_failure(struct tree_owner *owner, const char *location, const char *text, size_t n,
			const struct err *err)
{
	instance_log((struct instance *)owner, location, err->text, text, n,
		     column_in(text, n, err));
}

/* --- settings ----------------------------------------------------------------------- */

/* A copy, for the caller to free: printing with it needs no lock. */
void instance_settings(struct instance *in, struct settings *out)
{
	pthread_mutex_lock(&in->lock);
	settings_copy(out, &in->settings);
	pthread_mutex_unlock(&in->lock);
}

/* For one look, without a copy of all settings. */
bool instance_option(struct instance *in, enum trace_option o)
{
	bool set;

	pthread_mutex_lock(&in->lock);
	set = option_is_set(in->settings.options, o);
	pthread_mutex_unlock(&in->lock);
	return set;
}

/* Asks the target to apply the settings. Called with in->lock held. */
static int apply_settings(struct instance *in, const struct settings *next, const char *file,
			  struct err *err)
{
	const struct tree_target_ops *ops = in->target.ops;

	return ops && ops->apply ? ops->apply(in->target.arg, next, file, err) : 0;
}

/* Sets or clears trace_printk_dest in the settings: one instance has it, the one that
 * trace_printk's records would go to. Programs write none; only the option moves. Called with
 * in->lock held. */
void instance_show_printk(struct instance *in)
{
	bool here = atomic_load_explicit(&instance_top(in->tree)->printk, memory_order_relaxed) ==
		    in;

	in->settings.options &= ~OPTION_BIT(OPTION_TRACE_PRINTK_DEST);
	in->settings.options |= (uint64_t)here << OPTION_TRACE_PRINTK_DEST;
}

/* Refuses to clear trace_printk_dest at the top: only another instance can take it. */
static int check_printk(struct instance *in, const struct settings *next, struct err *err)
{
	bool wants = option_is_set(next->options, OPTION_TRACE_PRINTK_DEST);

	if (in == instance_top(in->tree) && !wants &&
	    option_is_set(in->settings.options, OPTION_TRACE_PRINTK_DEST))
		return err_set(
			err, EINVAL,
			"only an instance that sets trace_printk_dest takes it from the top directory");
	return 0;
}

/* Follows a change of trace_printk_dest. in->lock is held, other instances' locks are not, hence
 * the atomics, as in remove_instance() and instance_show_printk(). */
static void move_printk(struct instance *in)
{
	struct instance *top = instance_top(in->tree), *here = in;

	if (option_is_set(in->settings.options, OPTION_TRACE_PRINTK_DEST))
		atomic_store_explicit(&top->printk, in, memory_order_relaxed);
	else
		/* Only if it is still this instance's: another may have taken it. */
		atomic_compare_exchange_strong_explicit(&top->printk, &here, top,
							memory_order_relaxed,
							memory_order_relaxed);
}

/* Brings in->settings up to date with the target's own changes. Called with in->lock held. */
static void take_over(struct instance *in)
{
	const struct tree_target_ops *ops = in->target.ops;

	instance_show_printk(in);
	if (ops && ops->present)
		ops->present(in->target.arg, &in->settings);
}

/* catch_up without in->lock: it waits for the pump. */
void instance_catch_up(struct instance *in)
{
	struct tree_target t = instance_lock(in);

	if (t.ops->catch_up)
		t.ops->catch_up(t.arg);
	instance_unlock(in);
	pthread_mutex_lock(&in->lock);
	take_over(in);
	pthread_mutex_unlock(&in->lock);
}

/* Whether a command, a trigger or a monitor may take a snapshot, for which the second buffer then
 * exists. */
static bool takes_snapshots(const struct settings *s)
{
	for (unsigned m = 0; m < RV_MONITORS_N; m++)
		if (s->rv.at[m].reactor == RV_REACTOR_SNAPSHOT)
			return true;
	for (size_t i = 0; i < s->commands.at.n; i++)
		if (s->commands.at.at[i]->action == FUNCTION_SNAPSHOT)
			return true;
	for (size_t i = 0; i < s->events.at.n; i++)
		for (size_t k = 0; k < s->events.at.at[i].triggers.at.n; k++)
			if (s->events.at.at[i].triggers.at.at[k]->takes_snapshots)
				return true;
	return false;
}

/* Changes are made on a copy, which becomes the settings only when the program has taken it: a
 * refused write leaves everything as it was. `file` is the one that was written. */
int instance_change(struct instance *in, const char *file,
		    int (*change)(struct settings *next, void *arg, struct err *err), void *arg,
		    struct err *err)
{
	struct settings next, *old = &next;
	bool stops = false;
	int e;

	pthread_mutex_lock(&in->lock);
	take_over(in);
	settings_copy(&next, &in->settings);
	e = change(&next, arg, err);
	if (!e)
		e = check_printk(in, &next, err);
	if (!e)
		e = dynamic_events_claim(in, &next.events, err);
	if (!e)
		e = apply_settings(in, &next, file, err);
	if (e)
		/* None of these was removed meanwhile. */
		dynamic_events_claim(in, &in->settings.events, NULL);
	if (!e) {
		struct settings before = in->settings;

		/* next has become in->settings; the old ones are freed below. */
		in->settings = next;
		move_printk(in);
		in->snapshot |= takes_snapshots(&next);
		*old = before;
		stops = before.tracing_on && !next.tracing_on;
	}
	pthread_mutex_unlock(&in->lock);
	if (stops) /* readers of trace_pipe reach the end */
		instance_wake(in);
	settings_free(old);
	user_events_update(instance_top(in->tree)->user_events);
	return e;
}

/* write_file()'s argument: one write to one setting. */
struct written {
	const char *file, *text;
	bool append;
};

static int write_file(struct settings *next, void *arg, struct err *err)
{
	const struct written *w = arg;

	return settings_write(next, w->file, w->text, w->append, err);
}

/* As a write(2) to that file would do, with its errors; `append` is the shell's >>. */
int instance_write(struct instance *in, const char *file, const char *text, bool append,
		   struct err *err)
{
	struct written w = { file, text, append };

	return instance_change(in, file, write_file, &w, err);
}

/* --- events ------------------------------------------------------------------------- */

struct event_catalogue *instance_events(struct tree *t)
{
	return instance_top(t)->events;
}

/* Called by the catalogue when an event was added, on the thread that added it. */
static void event_came(void *arg, const struct event_entry *entry)
{
	struct instance *top = arg;

	pthread_mutex_lock(&top->events_lock);
	for (struct instance *in = top; in; in = in->next)
		event_files_grow(in);
	pthread_mutex_unlock(&top->events_lock);
}

/* Adds the instance to those that get directories of new events. The top's lock is held, so that
 * nobody removes it meanwhile. */
static void enlist_instance(struct instance *top, struct instance *in)
{
	pthread_mutex_lock(&top->events_lock);
	in->next = top->next;
	top->next = in;
	event_files_grow(in);
	pthread_mutex_unlock(&top->events_lock);
}

/* With events_lock. Afterwards no event that comes or goes touches its directories. */
static void unlink_instance(struct instance *top, const struct instance *in)
{
	for (struct instance *at = top; at; at = at->next)
		if (at->next == in)
			at->next = in->next;
}

/* Under events_lock, because the claims of all instances are looked at under it
 * (dynamic_is_used()). */
static void strike_off(struct instance *top, const struct instance *in)
{
	pthread_mutex_lock(&top->events_lock);
	unlink_instance(top, in);
	pthread_mutex_unlock(&top->events_lock);
}

/* Attaches the directory of an enlisted instance, or frees the directory and strikes the instance
 * off: with events_lock, since nobody may look for an event's directory in what is freed. */
static int attach_instance(struct tree_node *dir, struct tree_node *root, struct instance *top,
			   const struct instance *in)
{
	int e;

	pthread_mutex_lock(&top->events_lock);
	e = tree_attach(dir, root);
	if (e)
		unlink_instance(top, in);
	pthread_mutex_unlock(&top->events_lock);
	return e;
}

/* --- the target --------------------------------------------------------------------- */

int instance_attach(struct instance *in, struct tree_target target, struct err *err)
{
	int e;

	pthread_mutex_lock(&in->lock);
	/* Before it is visible: nobody else calls a target that refused the settings. */
	e = target.ops->apply ? target.ops->apply(target.arg, &in->settings, NULL, err) : 0;
	if (!e) {
		pthread_rwlock_wrlock(&in->target_lock);
		in->target = target;
		pthread_rwlock_unlock(&in->target_lock);
	}
	pthread_mutex_unlock(&in->lock);
	if (!e)
		instance_wake(in);
	return e;
}

void instance_detach(struct instance *in)
{
	pthread_mutex_lock(&in->lock);
	/* Waits for read-holders: calls of the target that are under way. */
	pthread_rwlock_wrlock(&in->target_lock);
	in->target = (struct tree_target){ 0 };
	pthread_rwlock_unlock(&in->target_lock);
	pthread_mutex_unlock(&in->lock);
	instance_wake(in);
}

/* Read-held until instance_unlock. Without a target an empty table stands in, so that callers test
 * single slots only. */
struct tree_target instance_lock(struct instance *in)
{
	static const struct tree_target_ops nothing;

	pthread_rwlock_rdlock(&in->target_lock);
	return in->target.ops ? in->target : (struct tree_target){ &nothing, NULL };
}

void instance_unlock(struct instance *in)
{
	pthread_rwlock_unlock(&in->target_lock);
}

bool instance_is_piped(const struct instance *in)
{
	return atomic_load_explicit(&in->piped, memory_order_relaxed);
}

/* per_cpu's wake counts for all pipes below it (count_wakes in open.c). */
void instance_wake(struct instance *in)
{
	tree_wake(in->pipe);
	tree_wake(in->per_cpu);
}

/* --- making and removing ------------------------------------------------------------ */

/* Inherits the top's options like ftrace's instances; options about the buffers are each instance's
 * own. */
static void inherit_options(struct instance *in, struct instance *top)
{
	const uint64_t own = ~options_inherited() | OPTION_BIT(OPTION_OVERWRITE) |
			     OPTION_BIT(OPTION_BLOCK);
	const uint64_t never =
		OPTION_BIT(OPTION_TRACE_PRINTK_DEST) | OPTION_BIT(OPTION_COPY_TRACE_MARKER);

	pthread_mutex_lock(&top->lock);
	in->settings.options =
		((in->settings.options & own) | (top->settings.options & ~own)) & ~never;
	if (top->settings.mode != BUFFER_BLOCK)
		options_set_mode(&in->settings, top->settings.mode);
	pthread_mutex_unlock(&top->lock);
}

/* Without nodes and without a target; instance_free() frees it. */
static struct instance *instance_new(struct event_catalogue *events)
{
	struct instance *in = mem_zalloc(sizeof(*in));

	in->owner.failed = log_failure;
	pthread_mutex_init(&in->lock, NULL);
	pthread_rwlock_init(&in->target_lock, NULL);
	pthread_cond_init(&in->cleared, NULL);
	pthread_mutex_init(&in->events_lock, NULL);
	settings_init_tree(&in->settings);
	in->events = in->settings.events.catalogue = events;
	error_log_init(&in->errors);
	return in;
}

static void instance_free(struct instance *in)
{
	settings_free(&in->settings);
	vec_free(&in->claimed);
	vec_free(&in->held);
	error_log_free(&in->errors);
	pthread_mutex_destroy(&in->lock);
	pthread_rwlock_destroy(&in->target_lock);
	pthread_cond_destroy(&in->cleared);
	pthread_mutex_destroy(&in->events_lock);
	free(in);
}

/* Makes an instance (mkdir): the directory is complete before it is attached. */
static int make_instance(struct tree_node *dir, const char *name, struct err *err)
{
	struct instance *top = (struct instance *)tree_node_owner(dir),
			*in = instance_new(top->events);
	struct tree_node *root = tree_dir_new(top->tree, name, 0750, NULL, &in->owner);
	struct tree_target target;
	int e = 0;

	in->tree = top->tree;
	inherit_options(in, top);
	files_fill(in, root, false);
	pthread_mutex_lock(&top->lock);
	/* Before the target exists: it may ask for events. From here on an event that is removed
	 * goes from this instance, too. */
	enlist_instance(top, in);
	target = instance_lock(top);
	if (target.ops->make)
		e = target.ops->make(target.arg, in, name, &in->target, err);
	instance_unlock(top);
	if (e) {
		strike_off(top, in);
		tree_discard(root);
	} else {
		/* The name may have been taken since tree_mkdir looked. */
		e = attach_instance(dir, root, top, in);
	}
	if (e && in->target.ops && in->target.ops->drop)
		in->target.ops->drop(in->target.arg);
	pthread_mutex_unlock(&top->lock);
	if (!e)
		return 0;
	instance_free(in);
	return e == -EEXIST ? err_set(err, EEXIST, "there is an instance %s already", name) : e;
}

/* rmdir: no file of it is open, and none can be opened any more (tree_dir_ops.remove). */
static int remove_instance(struct tree_node *child, struct err *err)
{
	struct instance *in = (struct instance *)tree_node_owner(child),
			*top = instance_top(in->tree), *gone = in;

	pthread_mutex_lock(&top->lock);
	/* The top's lock: `make` and `drop` come one at a time. */
	if (in->target.ops && in->target.ops->drop)
		in->target.ops->drop(in->target.arg);
	pthread_mutex_unlock(&top->lock);
	strike_off(top, in);
	/* Another instance may take the option over meanwhile: move_printk(). */
	atomic_compare_exchange_strong_explicit(&top->printk, &gone, top, memory_order_relaxed,
						memory_order_relaxed);
	instance_free(in);
	user_events_update(top->user_events);
	return 0;
}

const struct tree_dir_ops instances_ops = { make_instance, remove_instance };

struct tree *instance_tree_new(void)
{
	struct event_catalogue *events = events_new();
	struct instance *in;

	events_set_kinds(events, &hist_kinds);
	in = instance_new(events);
	in->tree = tree_new(&in->owner);
	atomic_init(&in->printk, in);
	in->user_events = user_events_new(in);
	files_fill(in, tree_root(in->tree), true);
	event_files_grow(in);
	events_watch(in->events, event_came, in);
	return in->tree;
}

struct instance *instance_top(struct tree *t)
{
	return (struct instance *)tree_node_owner(tree_root(t));
}

/* Removes the remaining instances, then the top. */
void instance_tree_free(struct tree *t)
{
	struct instance *top = instance_top(t);
	struct tree_node *dir = tree_find(t, "instances");
	struct tree_list names;

	tree_list(dir, &names);
	for (size_t i = 0; i < names.entries.n; i++)
		tree_rmdir(dir, names.entries.at[i].name, 0, NULL);
	tree_list_free(&names);
	tree_put(dir);
	user_events_free(top->user_events);
	free(top->last_boot);
	tree_free(t);
	events_free(top->events);
	instance_free(top);
}

void instance_tell_last_boot(struct tree *t, const char *text)
{
	struct instance *top = instance_top(t);

	free(top->last_boot);
	top->last_boot = mem_strdup(text);
}
