/* SPDX-License-Identifier: MIT */
/* Lines with f: that define one event at the functions a pattern matches, beyond the kernel. All of
 * them that can be probed are defined, or none; the error_log tells what was left out. Any thread.
 * dynamic_files.c calls it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree/dynamic.h"

/* Functions that one line may define an event at. */
#define FUNCTIONS_MOST 1000

/* Functions that a pattern matches: "NAME" of the program, "MODULE:NAME" of libraries. */
struct found_functions {
	VEC(char *) own, others;
	VEC(char) line;
};

/* Takes lines of available_filter_functions, in pieces. */
static int take_functions(void *arg, const char *text, size_t n)
{
	struct found_functions *f = arg;

	for (size_t i = 0; i < n; i++) {
		char *module, *line;

		if (text[i] != '\n') {
			*vec_add(&f->line) = text[i];
			continue;
		}
		line = mem_strndup(f->line.at, f->line.n);
		f->line.n = 0;
		module = strstr(line, " [");
		if (!module) {
			*vec_add(&f->own) = line;
			continue;
		}
		*module = '\0';
		*vec_add(&f->others) =
			mem_printf("%.*s:%s", (int)strcspn(module + 2, "]"), module + 2, line);
		free(line);
	}
	return 0;
}

static void free_functions(struct found_functions *f)
{
	for (size_t i = 0; i < f->own.n; i++)
		free(f->own.at[i]);
	for (size_t i = 0; i < f->others.n; i++)
		free(f->others.at[i]);
	vec_free(&f->own);
	vec_free(&f->others);
	vec_free(&f->line);
}

/* Finds the functions of [MODULE:]PATTERN, n characters. */
static void find_functions(struct instance *top, const char *place, size_t n,
			   struct found_functions *out)
{
	const char *colon = memchr(place, ':', n);
	size_t module = colon ? (size_t)(colon - place) : 0;
	char *text = colon ? mem_printf("%.*s:mod:%.*s", (int)(n - module - 1), colon + 1,
					(int)module, place)
			   : mem_strndup(place, n);
	struct tree_target t = instance_lock(top);
	struct function_list list = { 0 };
	struct err ignored;
	struct out lines;

	if (t.ops->functions && function_list_write(&list, text, false, &ignored) == 0) {
		out_init_raw(&lines, take_functions, out);
		t.ops->functions(t.arg, &list, &lines);
		out_flush(&lines);
		out_free(&lines);
	}
	instance_unlock(top);
	function_list_free(&list);
	free(text);
}

/* A line with a pattern in its second word. */
struct fprobe_line {
	const char *line;
	size_t at, n; /* the pattern */
	/* The names and the line by which the probe of the first function, and all that follow, are
	 * removed; NULL: no function has one. */
	char *group, *event, *listed;
};

/* Notes how the places of the line are removed. */
static void note_listed(struct fprobe_line *l, const struct probe_command *c)
{
	l->group = mem_strdup(c->group);
	l->event = mem_strdup(c->event);
	l->listed = dynamic_probe_text(c->definition);
}

/* Removes the places that were defined so far. */
static void undo_functions(struct instance *top, const struct fprobe_line *l)
{
	const struct dynamic_removal what = {
		.kind = DEFINED_FPROBES, .group = l->group, .event = l->event, .listed = l->listed
	};
	struct err ignored;

	if (l->listed)
		dynamic_remove(top, &what, &ignored);
}

/* Defines the event at one function; as one more place, if there is one already. Columns of *err
 * are the line's. */
static int define_one(struct instance *top, struct fprobe_line *l, const char *function,
		      struct err *err)
{
	char *line = mem_printf("%.*s%s%s", (int)l->at, l->line, function, l->line + l->at + l->n);
	size_t n = strlen(function);
	struct probe_command c;
	struct fprobe_line made = { 0 };
	struct err why;
	int r = dynamic_parse_function(top, line, &c, &why);

	if (r == 0) {
		free(c.definition->symbol);
		c.definition->symbol = mem_strndup(l->line + l->at, l->n);
		c.definition->follows = l->listed;
		note_listed(&made, &c);
		r = dynamic_check_name(c.group, c.event, line, strcspn(line, ":") + 1, &why);
		if (r == 0)
			r = dynamic_define_probe(top, &c, line, &why);
		probe_command_free(&c);
	}
	if (r == 0 && !l->listed) {
		l->group = made.group;
		l->event = made.event;
		l->listed = made.listed;
	} else {
		free(made.group);
		free(made.event);
		free(made.listed);
	}
	if (r < 0)
		err_at(err, -r, l->line,
		       why.column >= l->at + n ? why.column - n + l->n : why.column, "%s",
		       why.text);
	free(line);
	return r;
}

/* Notes in the error_log what the event leaves out, though it is defined. */
static void tell_left_out(struct instance *top, const struct fprobe_line *l, size_t left_out,
			  size_t n, const struct err *why)
{
	char *text = mem_printf("%zu of %zu functions are left out, the first one: %s", left_out, n,
				why->text);

	instance_log(top, FPROBE_LOCATION, text, l->line, strlen(l->line), l->at);
	free(text);
}

/* Defines the event at all of these functions that can be probed, or none. */
static int define_all(struct instance *top, struct fprobe_line *l, char **functions, size_t n,
		      struct err *err)
{
	size_t left_out = 0;
	struct err why;
	int r = err_at(err, EINVAL, l->line, l->at, "no function of this name can be probed");

	if (n > FUNCTIONS_MOST)
		return err_at(err, E2BIG, l->line, l->at,
			      "%zu functions match; an event can have %u at once", n,
			      FUNCTIONS_MOST);
	for (size_t i = 0; i < n; i++) {
		r = define_one(top, l, functions[i], err);
		/* A function that has no probe is no fault of the line; other errors are. */
		if (r < 0 && r != -EINVAL && r != -EADDRNOTAVAIL) {
			undo_functions(top, l);
			return r;
		}
		if (r < 0 && !left_out++)
			why = *err;
	}
	if (l->listed && left_out)
		tell_left_out(top, l, left_out, n, &why);
	return l->listed ? 0 : r;
}

/* Without a pattern it is a line of the kernel's. With one, the program's own functions come
 * first, and libraries' only if the program has none of this name: `f:a malloc*` shall not arm
 * every library's. */
int dynamic_run_fprobe(struct instance *top, const char *line, struct err *err)
{
	size_t head = strcspn(line, " \t"), at = head + strspn(line + head, " \t"),
	       n = strcspn(line + at, " \t%");
	struct fprobe_line l = { .line = line, .at = at, .n = n };
	struct found_functions found = { 0 };
	int r;

	if (!n || strcspn(line + at, "*?[") >= n)
		return dynamic_run_kernel_line(top, line, DEFINED_ALL, err);
	if (!memchr(line, ':', head))
		return err_at(err, EINVAL, line, 0,
			      "an event at several functions wants a name: f:[GRP/]EVENT PATTERN");
	find_functions(top, line + at, n, &found);
	if (found.own.n)
		r = define_all(top, &l, found.own.at, found.own.n, err);
	else if (found.others.n)
		r = define_all(top, &l, found.others.at, found.others.n, err);
	else
		r = err_at(err, EINVAL, line, at, "no function matches");
	free_functions(&found);
	free(l.group);
	free(l.event);
	free(l.listed);
	return r;
}
