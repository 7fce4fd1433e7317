/* SPDX-License-Identifier: MIT */
/* Lines that define probes at instructions and functions, or remove them. A line that may have the
 * source's words (image/source_probe.h) becomes lines of the kernel's. Any thread; a line that
 * fails leaves nothing of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/dynamic_probes.h"
#include "image/source_probe.h"
#include "tree/dynamic.h"

/* -EEXIST: a directory of events cannot have two files of one name. */
int dynamic_check_name(const char *group, const char *event, const char *line, size_t column,
		       struct err *err)
{
	if (!event_files_have(group, event))
		return 0;
	return err_at(err, EEXIST, line, column,
		      "a file in events has this name already: name the event otherwise");
}

/* Functions are looked up in the programs that run: with instance_lock(), which keeps them. */
int dynamic_parse_function(struct instance *top, const char *line, struct probe_command *c,
			   struct err *err)
{
	struct tree_target t = instance_lock(top);
	const struct probe_symbols symbols = { t.ops->find_symbol, t.ops->find_object,
					       t.ops->find_argument, t.ops->find_parameters,
					       t.ops->find_address, t.arg };
	int r = t.ops->find_symbol
			? probe_command_parse_symbols(line, &symbols, c, err)
			: err_at(err, EINVAL, line, 0,
				 "there are no programs here whose function this could be");

	instance_unlock(top);
	return r;
}

/* Adds the place to an event that nobody uses: else its programs would have to be changed. */
static int add_place(struct instance *top, const struct event_entry *e, struct probe_command *c,
		     const char *line, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&top->events_lock);
	if (events_is_gone(e) || dynamic_is_used(top, e, true)) {
		r = err_at(err, EBUSY, line, 0,
			   "%s:%s is in use: disable it before it gets another place",
			   e->format->system, e->format->name);
	} else {
		events_add_place(top->events, e, c->definition);
		c->definition = NULL;
	}
	pthread_mutex_unlock(&top->events_lock);
	return r;
}

/* An event that exists may get another place, as in the kernel, while nobody uses it; places of
 * two kinds never share one. */
int dynamic_define_probe(struct instance *top, struct probe_command *c, const char *line,
			 struct err *err)
{
	const struct event_entry *append, *other = events_find(top->events, c->group, c->event);
	int r;

	if (c->definition->fprobe && other && other->eprobe && other->eprobe->tracepoint)
		return err_at(err, EEXIST, line, 0, "%s", OTHER_TYPE);
	r = dynamic_probes_define(top->events, c, line, &append, err);

	return r == 0 && append ? add_place(top, append, c, line, err) : r;
}

/* A line as the kernel understands it: the place is a number or a symbol, nothing of source
 * files. 0, or -errno with the column in this line. */
int dynamic_run_kernel_line(struct instance *top, const char *line, enum defined_kind kind,
			    struct err *err)
{
	struct probe_command c;
	bool of_file = kind == DEFINED_PROBES ||
		       (probe_command_is_of_file(line) && !probe_command_is_fprobe(line));
	int r = of_file ? probe_command_parse(line, &c, err)
			: dynamic_parse_function(top, line, &c, err);
	const struct dynamic_removal what = {
		.kind = kind, .group = c.group, .event = c.event, .listed = c.listed
	};

	if (r < 0)
		return r;
	/* Names that the line does not give are never a file's: the column is right. */
	if (c.action == PROBE_DEFINE)
		r = dynamic_check_name(c.group, c.event, line, strcspn(line, ":") + 1, err);
	if (r == 0 && c.action == PROBE_DEFINE) {
		dynamic_hits(top, 0); /* they are counted from now on */
		r = dynamic_define_probe(top, &c, line, err);
	} else if (c.action == PROBE_REMOVE)
		r = dynamic_remove_of_line(top, &what, line, err);
	probe_command_free(&c);
	return r;
}

/* Removes what a line defined. */
static void undo_line(struct instance *top, const char *line)
{
	struct probe_command c;
	struct dynamic_removal what = { .kind = DEFINED_PROBES };
	struct err ignored;
	char *listed;

	if (probe_command_parse(line, &c, &ignored) < 0)
		return;
	listed = dynamic_probe_text(c.definition);
	what.group = c.group;
	what.event = c.event;
	what.listed = listed;
	dynamic_remove(top, &what, &ignored);
	free(listed);
	probe_command_free(&c);
}

/* A line that names a line of source or an inlined function becomes several of the kernel's. All
 * or none: what stands before the one that fails is taken back. The column told is that of the
 * line as it was written. */
int dynamic_run_probe(struct instance *top, const char *line, enum defined_kind kind,
		      struct err *err)
{
	source_lines lines;
	struct err why;
	int n = kind == DEFINED_FUNCTIONS ? 0 : source_probe_line(line, &lines, err), r = 0;

	if (n <= 0)
		return n < 0 ? n : dynamic_run_kernel_line(top, line, kind, err);
	for (size_t i = 0; i < lines.n && r == 0; i++) {
		const struct source_line *l = &lines.at[i];

		r = dynamic_run_kernel_line(top, l->line, kind, &why);
		if (r == 0)
			continue;
		err_at(err, -r, line, source_line_column(l, why.column), "%s", why.text);
		while (i--)
			undo_line(top, lines.at[i].line);
		break;
	}
	source_lines_free(&lines);
	return r;
}
