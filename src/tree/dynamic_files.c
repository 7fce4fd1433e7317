/* SPDX-License-Identifier: MIT */
/* uprobe_events and dynamic_events, which define events at instructions of files, list them and
 * remove them. Any thread; the top's events_lock protects what is defined against instances that
 * begin to use it (dynamic_events_claim). A line that fails leaves those before it done. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/dynamic_probes.h"
#include "tree/instance_internal.h"

/* The kernel's name for the parser, in the error_log. */
#define LOCATION "trace_uprobe"

static struct instance *top_of(const struct instance *in)
{
	return instance_top(in->tree);
}

/* Lists what is defined, in the order in which it was; a line can be written back. */
static int show_probes(struct tree_file *f, struct out *text, struct err *err)
{
	struct event_catalogue *c = ((struct instance *)f->owner)->events;
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(c, i);

		if (e->probe && !events_is_gone(e))
			out_printf(text, "p:%s/%s %s:0x%016llx%s\n", e->format->system,
				   e->format->name, e->probe->path,
				   (unsigned long long)e->probe->offset, e->probe->arguments);
	}
	return 0;
}

/* --- use ------------------------------------------------------------------------------------ */

static bool claims(const struct instance *in, uint32_t index)
{
	for (size_t i = 0; i < in->claimed.n; i++)
		if (in->claimed.at[i] == index)
			return true;
	return false;
}

/* Whether some instance records the event, or may. With events_lock. */
static bool is_used(const struct instance *top, uint32_t index)
{
	for (const struct instance *in = top; in; in = in->next)
		if (claims(in, index))
			return true;
	return false;
}

int dynamic_events_claim(struct instance *in, const struct event_set *set, struct err *err)
{
	struct instance *top = top_of(in);
	int r = 0;

	pthread_mutex_lock(&top->events_lock);
	in->claimed.n = 0;
	for (size_t i = 0; i < set->at.n; i++) {
		const struct event_entry *e = events_at(set->catalogue, set->at.at[i].index);

		if (!e || !e->probe || !event_set_armed(set, e->index))
			continue;
		if (events_is_gone(e))
			r = err_set(err, ENODEV, "the event %s:%s was removed", e->format->system,
				    e->format->name);
		else
			*vec_add(&in->claimed) = e->index;
	}
	pthread_mutex_unlock(&top->events_lock);
	return r;
}

/* --- removal -------------------------------------------------------------------------------- */

/* Whether the event is meant. group NULL: any; event NULL: all of the group. */
static bool is_named(const struct event_entry *e, const char *group, const char *event)
{
	return e->probe && !events_is_gone(e) && (!group || !strcmp(e->format->system, group)) &&
	       (!event || !strcmp(e->format->name, event));
}

/* Removes the event, and its directories. With events_lock. */
static void remove_event(struct instance *top, const struct event_entry *e)
{
	events_remove(top->events, e);
	for (struct instance *in = top; in; in = in->next)
		event_files_remove(in, e);
}

/* Removes what is named. With `all_or_none` nothing goes if one is in use; else those before it are
 * gone by then. Returns how many, or -EBUSY and *err. */
static int remove_named(struct instance *top, const char *group, const char *event,
			bool all_or_none, struct err *err)
{
	uint32_t n;
	int removed = 0;

	pthread_mutex_lock(&top->events_lock);
	n = events_n(top->events);
	for (unsigned pass = all_or_none ? 0 : 1; pass < 2 && removed >= 0; pass++) {
		for (uint32_t i = 0; i < n && removed >= 0; i++) {
			const struct event_entry *e = events_at(top->events, i);

			if (!is_named(e, group, event))
				continue;
			if (is_used(top, i)) {
				removed = err_set(err, EBUSY, "%s:%s is in use: disable it first",
						  e->format->system, e->format->name);
			} else if (pass) {
				remove_event(top, e);
				removed++;
			}
		}
	}
	pthread_mutex_unlock(&top->events_lock);
	return removed;
}

/* `> uprobe_events` removes all. */
static int clear_probes(struct tree_file *f, struct err *err)
{
	int r = remove_named(top_of((struct instance *)f->owner), NULL, NULL, true, err);

	return r < 0 ? r : 0;
}

static int remove_event_of(struct instance *top, const struct probe_command *c, const char *line,
			   struct err *err)
{
	struct err why;
	int r = remove_named(top, c->group, c->event, false, &why);

	if (r < 0)
		return err_at(err, -r, line, 0, "%s", why.text);
	return r ? 0 : err_at(err, ENOENT, line, 0, "there is no such event to remove");
}

/* --- lines ---------------------------------------------------------------------------------- */

static int define_event(struct instance *top, struct probe_command *c, const char *line,
			struct err *err)
{
	/* Names that the line does not give are never a file's: the column is right. */
	if (event_files_have(c->group, c->event))
		return err_at(err, EEXIST, line, strcspn(line, ":") + 1,
			      "a file in events has this name already: name the event otherwise");
	return dynamic_probes_define(top->events, c, line, err);
}

static int run_line(struct instance *top, const char *line, struct err *err)
{
	struct probe_command c;
	int r = probe_command_parse(line, &c, err);

	if (r < 0)
		return r;
	if (c.action == PROBE_DEFINE)
		r = define_event(top, &c, line, err);
	else if (c.action == PROBE_REMOVE)
		r = remove_event_of(top, &c, line, err);
	probe_command_free(&c);
	return r;
}

/* Runs line by line. The error_log gets the line that failed, not the whole write. */
static ssize_t write_probes(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	struct instance *in = (struct instance *)f->owner;
	int r = 0;

	for (size_t at = 0, end; at < n && r == 0; at = end + 1) {
		char *line;

		end = at + strcspn(text + at, "\n");
		line = mem_strndup(text + at, end - at);
		r = run_line(top_of(in), line, err);
		if (r < 0) {
			instance_log(in, LOCATION, err->text, line,
				     strlen(line), err->column);
			f->told = true;
		}
		free(line);
	}
	return r < 0 ? r : (ssize_t)n;
}

const struct tree_file_ops dynamic_events_file = {
	.location = LOCATION, .truncate = clear_probes, .show = show_probes,
	.write = write_probes,
};
