/* SPDX-License-Identifier: MIT */
/* uprobe_events, kprobe_events and synthetic_events, which define events at instructions of files,
 * at functions and synthetic ones, list them and remove them, and dynamic_events, which does all:
 * which line goes to which parser, and what the error_log gets. Any thread. A line that fails
 * leaves those before it done. The tree calls it by the rows of files.c. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/synthetic.h"
#include "image/dynamic_probes.h"
#include "tree/dynamic.h"
#include "tree/user_events.h"

/* The kernel's names for the parsers, in the error_log. */
#define PROBE_LOCATION "trace_uprobe"
#define FUNCTION_LOCATION "trace_kprobe"
#define SYNTHETIC_LOCATION "synthetic_events"
#define EPROBE_LOCATION "event_probe"

/* uprobe_events. */
static int show_probes(struct tree_file *f, struct out *text, struct err *err)
{
	return dynamic_show(f, DEFINED_PROBES, text);
}

/* kprobe_events: functions by name, as the kernel's file has its own. */
static int show_functions(struct tree_file *f, struct out *text, struct err *err)
{
	return dynamic_show(f, DEFINED_FUNCTIONS, text);
}

static int show_synthetic(struct tree_file *f, struct out *text, struct err *err)
{
	return dynamic_show(f, DEFINED_SYNTHETIC, text);
}

/* dynamic_events: all of them, each by its letter. */
static int show_all(struct tree_file *f, struct out *text, struct err *err)
{
	return dynamic_show(f, DEFINED_ALL, text);
}

/* `> uprobe_events` and its like remove all. */
static int clear_defined(struct tree_file *f, enum defined_kind kind, struct err *err)
{
	const struct dynamic_removal all = { .kind = kind, .all_or_none = true };
	int r = dynamic_remove(dynamic_top((struct instance *)f->owner), &all, err);

	return r < 0 ? r : 0;
}

/* Opening a file with O_TRUNC removes what it lists. */
static int clear_probes(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_PROBES, err);
}

static int clear_functions(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_FUNCTIONS, err);
}

static int clear_synthetic(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_SYNTHETIC, err);
}

/* dynamic_events lists all kinds; the other files clear only what they list. */
static int clear_all(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_ALL, err);
}

/* The kernel looks for the name in the line. */
static size_t column_of(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? (size_t)(at - line) : 0;
}

/* 0, or -errno and *err at the event's name: the only word that can collide with others. */
static int define_synthetic(struct instance *top, const struct synthetic_command *c,
			    const char *line, struct err *err)
{
	const struct event_entry *entry;
	struct err why;
	int r = dynamic_check_name(SYNTHETIC_SYSTEM, c->name, line, column_of(line, c->name), err);

	if (r < 0)
		return r;
	r = events_define(top->events, &synthetic_provider, c->format, &entry, &why);
	if (r == 0)
		return 0;
	return err_at(err, -r, line, column_of(line, c->name), "%s",
		      r == -EEXIST ? "Event already exists" : why.text);
}

/* Runs a line of synthetic_events; dynamic: of dynamic_events, where `s:` stands before it. */
static int run_synthetic(struct instance *top, const char *line, bool dynamic, struct err *err)
{
	struct synthetic_command c;
	int r = dynamic ? synthetic_command_parse_dynamic(line, &c, err)
			: synthetic_command_parse(line, &c, err);
	const struct dynamic_removal what = { .kind = DEFINED_SYNTHETIC,
					      .group = SYNTHETIC_SYSTEM,
					      .event = c.name };

	if (r < 0)
		return r;
	if (c.action == SYNTHETIC_DEFINE)
		r = define_synthetic(top, &c, line, err);
	else if (c.action == SYNTHETIC_REMOVE)
		r = dynamic_remove_of_line(top, &what, line, err);
	synthetic_command_free(&c);
	return r;
}

/* The error_log's entry for a line that failed. */
struct blame {
	const char *location;
	char *text;    /* NULL: the line */
	size_t column; /* in it; it may be behind its end */
};

/* Refuses a tracepoint's event whose name is taken, in the kernel's words. */
static int check_tprobe(struct instance *top, const struct eprobe_command *c, const char *line,
			struct err *err)
{
	const struct event_entry *other = events_find(top->events, c->group, c->event);
	const char *what = "There is already the exact same probe event";
	int r;

	if (!other || (!other->eprobe && !(other->probe && other->probe->fprobe)))
		return 0;
	if (!other->eprobe || !other->eprobe->tracepoint)
		return err_at(err, EEXIST, line, 0, "%s", OTHER_TYPE);
	r = dynamic_probes_alike(other, c->format, 1, line, err);
	if (r < 0)
		return r;
	if (other->eprobe->base != c->eprobe->base)
		what = "an event has one tracepoint: name this one otherwise";
	return err_at(err, EEXIST, line, 0, "%s", what);
}

/* Runs a line that defines an event on another event's records. *blame is filled if it fails. */
static int run_eprobe(struct instance *top, const char *line, struct blame *blame, struct err *err)
{
	bool tracepoint = tprobe_command_is(line);
	struct eprobe_command c;
	int r = (tracepoint ? tprobe_command_parse : eprobe_command_parse)(line, top->events, &c,
									   err);
	struct err why;

	if (r == 0)
		r = dynamic_check_name(c.group, c.event, line, 0, err);
	if (r == 0 && tracepoint) {
		r = check_tprobe(top, &c, line, err);
		c.column = r < 0 ? err->column : 0;
	}
	if (r == 0) {
		r = events_add_eprobe(top->events, c.group, c.format, c.eprobe, &why);
		c.eprobe = NULL;
		if (r < 0)
			err_at(err, -r, line, 0, "%s", why.text);
	}
	*blame = (struct blame){ c.filter     ? FILTER_FAULT_LOCATION
				 : tracepoint ? FPROBE_LOCATION
					      : EPROBE_LOCATION,
				 c.filter, c.column };
	c.filter = NULL;
	eprobe_command_free(&c);
	return r;
}

/* `!ANYTHING:[GRP/]EVENT ...` is another way to write `-:[GRP/]EVENT ...`. */
static int run_negated(struct instance *top, const char *line, enum defined_kind kind,
		       struct err *err)
{
	const char *name = strchr(line, ':');
	struct err why;
	char *removal;
	int r;

	if (!name)
		return err_at(err, EINVAL, line, 0, "a removal names the event: -:[GRP/]EVENT");
	removal = mem_printf("-%s", name);
	r = dynamic_run_probe(top, removal, kind, &why);
	if (r < 0)
		err_at(err, -r, line, 0, "%s", why.text);
	free(removal);
	return r;
}

/* Runs a line. *blame is filled if it fails. */
static int run_line(struct instance *top, const char *line, enum defined_kind kind,
		    struct blame *blame, struct err *err)
{
	bool dynamic = kind == DEFINED_ALL && !strncmp(line, "s:", 2);
	struct err why = { 0 };
	int r;

	if (kind == DEFINED_ALL && (eprobe_command_is(line) || tprobe_command_is(line)))
		return run_eprobe(top, line, blame, err);
	if (kind == DEFINED_ALL && !strncmp(line, "u:", 2)) {
		r = user_events_define(top->user_events, line + 2, &why);
		*blame = (struct blame){ .location = "user_events", .column = why.column + 2 };
		return r < 0 ? err_at(err, -r, line, why.column + 2, "%s", why.text) : 0;
	}
	if (kind == DEFINED_ALL && probe_command_is_fprobe(line)) {
		r = dynamic_run_fprobe(top, line, err);
		*blame = (struct blame){ .location = FPROBE_LOCATION, .column = err->column };
		return r;
	}
	*blame = (struct blame){ .location = SYNTHETIC_LOCATION };
	if (!dynamic && kind != DEFINED_SYNTHETIC) {
		blame->location = kind == DEFINED_FUNCTIONS || !probe_command_is_of_file(line)
					  ? FUNCTION_LOCATION
					  : PROBE_LOCATION;
		r = *line == '!' ? run_negated(top, line, kind, err)
				 : dynamic_run_probe(top, line, kind, err);
		blame->column = err->column;
		return r;
	}
	if (strlen(line) > PROBE_LINE_MAX)
		return err_set(err, EINVAL, "a line has at most %u characters", PROBE_LINE_MAX);
	r = run_synthetic(top, line, dynamic, err);
	blame->column = err->column;
	return r;
}

/* Returns the next line, to be freed: without a comment, and without blanks at its begin. */
static char *next_line(const char *text, size_t *at)
{
	size_t end = *at + strcspn(text + *at, "\n"), bare;
	const char *begin = text + *at;

	while (begin < text + end && isspace((unsigned char)*begin))
		begin++;
	*at = end + 1;
	bare = (size_t)(text + end - begin);
	return mem_strndup(begin, strcspn(begin, "#") < bare ? strcspn(begin, "#") : bare);
}

/* Runs line by line. The error_log gets the line that failed, not the whole write. */
static ssize_t write_defined(struct tree_file *f, const char *text, size_t n,
			     enum defined_kind kind, struct err *err)
{
	struct instance *in = (struct instance *)f->owner;
	int r = 0;

	for (size_t at = 0; at < n && r == 0;) {
		char *line = next_line(text, &at);
		struct blame blame;

		r = run_line(dynamic_top(in), line, kind, &blame, err);
		if (r < 0) {
			const char *of = blame.text ? blame.text : line;

			instance_log(in, blame.location, err->text, of, strlen(of), blame.column);
			f->told = true;
		}
		free(blame.text);
		free(line);
	}
	return r < 0 ? r : (ssize_t)n;
}

static ssize_t write_probes(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_PROBES, err);
}

static ssize_t write_functions(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_FUNCTIONS, err);
}

static ssize_t write_synthetic(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_SYNTHETIC, err);
}

static ssize_t write_all(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_ALL, err);
}

const struct tree_file_ops uprobe_events_file = {
	.location = PROBE_LOCATION,
	.truncate = clear_probes,
	.show = show_probes,
	.write = write_probes,
};

const struct tree_file_ops kprobe_events_file = {
	.location = FUNCTION_LOCATION,
	.truncate = clear_functions,
	.show = show_functions,
	.write = write_functions,
};

const struct tree_file_ops synthetic_events_file = {
	.location = SYNTHETIC_LOCATION,
	.truncate = clear_synthetic,
	.show = show_synthetic,
	.write = write_synthetic,
};

const struct tree_file_ops dynamic_events_file = {
	.location = PROBE_LOCATION,
	.truncate = clear_all,
	.show = show_all,
	.write = write_all,
};
