/* SPDX-License-Identifier: MIT */
/* Definitions of events on the command line, on the main thread. Files are opened to look symbols
 * up; what is malformed or not there is an error with its column, and nothing is defined then. */
#include "ui/probe_option.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/function_name.h"
#include "base/mem.h"
#include "base/path.h"
#include "event/eprobe.h"
#include "image/dynamic_probes.h"
#include "inject/launch.h"
#include "ui/function_event.h"
#include "ui/probe_option_internal.h"

/* Whether the text begins with one of the letters as a definition does, "p:NAME PLACE", "r PLACE",
 * "r10:NAME PLACE". A number behind the letter, as in r10:NAME, is the kernel's MAXACTIVE of a
 * return probe. */
static bool begins_definition(const char *text, const char *letters)
{
	const char *behind = text + 1 + (*text ? strspn(text + 1, "0123456789") : 0);

	return *text && strchr(letters, *text) && (*behind == ':' || *behind == ' ');
}

/* Whether -e was given a definition, a letter with a name or a place behind it, and no event's
 * name. An event's name has no blank: "p:x" alone could be SYSTEM:EVENT. */
static bool is_definition(const struct setting_write *w)
{
	return w->file && !strcmp(w->file, "set_event") && begins_definition(w->text, "prfet") &&
	       strchr(w->text, ' ');
}

/* what and name become one sentence, which stands at the definition's place. */
int probe_option_fault(const struct probe_option *o, const char *what, const char *name)
{
	return err_at(o->err, EINVAL, o->text, o->column, "%s%s", what, name);
}

/* --- files ------------------------------------------------------------------------------------ */

/* For free(); NULL: there is no program yet, as in brace mount without one. */
char *probe_options_program(const struct invocation *inv)
{
	char *path, *image, link[64], at[PATH_MAX];
	ssize_t n;

	if (inv->pids.n) {
		snprintf(link, sizeof(link), "/proc/%d/exe", (int)inv->pids.at[0]);
		n = readlink(link, at, sizeof(at) - 1);
		if (n > 0)
			return mem_strndup(at, (size_t)n);
	} else if ((inv->command->stops || inv->command->asks) && inv->n_operands &&
		   launch_resolve(inv->operands[0], &path, &image, NULL) == 0) {
		free(path);
		return image;
	}
	return NULL;
}

/* NULL and the error. */
static char *program_file(const struct probe_option *o)
{
	char *path = probe_options_program(o->inv);

	if (!path)
		probe_option_fault(o, "whose function this is is not known: write PATH:", o->place);
	return path;
}

/* Whether a file's name is the module's: libc.so.6, or libc of libc.so.6 and libc-2.31.so. */
static bool is_module(const char *path, const char *module)
{
	const char *name = path_file_name(path);
	size_t n = strlen(module);

	return !strncmp(name, module, n) && (!name[n] || name[n] == '.' || name[n] == '-');
}

/* The module in a process's maps; NULL: it has none. */
static char *mapped_module(pid_t pid, const char *module)
{
	char path[64], *line = NULL, *found = NULL;
	size_t cap = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && !found && getline(&line, &cap, maps) > 0) {
		/* A line of proc_pid_maps(5): the first slash begins the path, since the device is
		 * MAJOR:MINOR. */
		char *at = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (at && is_module(at, module))
			found = mem_strdup(at);
	}
	if (maps)
		fclose(maps);
	free(line);
	return found;
}

/* The file in the folder, if it is there. */
static char *file_in(const char *folder, size_t n, const char *name)
{
	char *path = mem_printf("%.*s/%s", (int)n, folder, name), real[PATH_MAX];
	bool is = file_real_path(path, real);

	free(path);
	return is ? mem_strdup(real) : NULL;
}

/* A library of the system by its whole file name; NULL: there is none. The first folder is that of
 * brace's own C library. A whole name (libm.so.6): without a process nothing tells which of several
 * versions would be loaded. */
static char *system_library(const char *module)
{
	static const char *const folders[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib" };
	char *libc = mapped_module(getpid(), "libc"),
	     *found = libc ? file_in(libc, (size_t)(strrchr(libc, '/') - libc), module) : NULL;

	free(libc);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !found; i++)
		found = file_in(folders[i], strlen(folders[i]), module);
	return found;
}

/* Finds a module's file by its name: in the process that is attached to, or, for a program that is
 * about to start, among the system's libraries. NULL and the error. */
static char *module_file(const struct probe_option *o, const char *module)
{
	char *found = o->inv->pids.n ? mapped_module(o->inv->pids.at[0], module)
				      : system_library(module);

	if (!found)
		probe_option_fault(
			o,
			o->inv->pids.n ? "the process has no module of this name: "
				       : "no library of the system has this name; write its path: ",
			module);
	return found;
}

/* --- definitions ------------------------------------------------------------------------------ */

/* A link counts as what it leads to. */
static bool is_regular(const char *path)
{
	struct stat is;

	return file_look(path, &is) && S_ISREG(is.st_mode);
}

/* Whether the place is one of uprobe_events, PATH:OFFSET: a number behind a colon is else a
 * line. */
static bool is_offset(const struct probe_option *o)
{
	char *colon = strchr(o->place, ':');
	bool is;

	if (!colon || !isdigit((unsigned char)colon[1]) || strchr(colon + 1, ':'))
		return false;
	/* Cut for the question alone, and put back: o->place is still to be read. */
	*colon = '\0';
	is = !strncmp(colon + 1, "0x", 2) || (strchr(o->place, '/') && is_regular(o->place));
	*colon = ':';
	return is;
}

/* Whether the place begins with a module: not if its only colon stands before a line, nor at C++'s
 * two. */
static bool has_module(const struct probe_option *o)
{
	const char *colon = strchr(o->place, ':');

	return colon && colon[1] != ':' &&
	       (strchr(colon + 1, ':') ||
		strspn(colon + 1, "0123456789") != strcspn(colon + 1, "%"));
}

/* o->in_file is set to what stands behind the module. For free(); NULL and the error. */
char *probe_option_file(struct probe_option *o)
{
	char *colon = strchr(o->place, ':'), *path;

	o->in_file = o->place;
	if (!has_module(o))
		return program_file(o);
	*colon = '\0';
	o->in_file = colon + 1;
	path = strchr(o->place, '/') ? mem_strdup(o->place) : module_file(o, o->place);
	return path;
}

/* The definition with its arguments' names, of those that the prototype has, as fetch-args. For
 * free(). */
static char *with_fetched(const struct probe_option *o, const char *prototype)
{
	bool returns = *o->text == 'r' || strstr(o->place, "%return");
	const char *at = o->text + o->arguments;
	char *text;
	size_t bytes, n;
	FILE *to = mem_stream(&text, &bytes);

	fprintf(to, "%.*s", (int)o->arguments, o->text);
	for (at += strspn(at, " \t"); *at; at += n + strspn(at + n, " \t")) {
		n = strcspn(at, " \t");
		if (!function_event_parameter(to, prototype, at, n, returns))
			fprintf(to, " %.*s", (int)n, at);
	}
	mem_stream_close(to, &text);
	return text;
}

/* Tries a place that the program lacks in the libraries: the first one that has a function of the
 * name. Returns what the program's file gave, if none has. */
static int lines_in_library(struct probe_option *o, struct source_definition *d, int failed,
			    source_lines *out)
{
	char *name = mem_strndup(o->place, strcspn(o->place, "+%@:"));
	const char *prototype;
	char *path = function_event_library(o->inv, name, &prototype);

	if (path && strcmp(path, d->path) != 0) {
		/* The user's names become fetch-args, so that the text is another one: o->made owns
		 * it, and columns of faults are of it. */
		if (prototype)
			o->text = d->text = o->made = with_fetched(o, prototype);
		d->path = path;
		failed = source_probe_lines(d, out, o->err);
	}
	free(path);
	free(name);
	return failed;
}

/* Makes the lines of the definition; the text itself is one if it is uprobe_events' own. */
static int make_lines(struct probe_option *o, source_lines *out)
{
	struct source_definition d = { .text = o->text, .head = o->head,
				       .arguments = o->arguments };
	char *path;
	int r;

	if (is_offset(o)) {
		r = source_probe_line(o->text, out, o->err);
		if (r == 0)
			*vec_add(out) = (struct source_line){ .line = mem_strdup(o->text) };
		return r < 0 ? r : 0;
	}
	path = probe_option_file(o);
	if (!path)
		return -EINVAL;
	d.path = path;
	d.place = o->in_file;
	d.place_column = o->column + (size_t)(o->in_file - o->place);
	r = source_probe_lines(&d, out, o->err);
	/* Only where the user named no module: a place of a named file is not looked for in another
	 * one. */
	if (r < 0 && !out->n && o->in_file == o->place)
		r = lines_in_library(o, &d, r, out);
	free(path);
	return r;
}

/* Adds a made line to the definitions, with the name that its event has. */
static int add_definition(struct probe_option *o, struct invocation *inv, struct source_line *l)
{
	struct probe_command c;
	struct err why;

	/* The command line's own text is shown. */
	if (probe_command_parse(l->line, &c, &why) < 0)
		return err_at(o->err, EINVAL, o->text, source_line_column(l, why.column), "%s",
			      why.text);
	*vec_add(&inv->definitions) = (struct probe_definition_line){
		.line = mem_strdup(l->line),
		.name = mem_printf("%s:%s", c.group, c.event),
	};
	probe_command_free(&c);
	return 0;
}

/* The name by which the write enables the events: of several names, a pattern. */
static const char *name_of_all(struct invocation *inv, size_t first)
{
	struct probe_definition_line *d = &inv->definitions.at[first];
	char *one = d->name;

	/* The names of one definition's events are NAME, NAME_1 and so on. */
	if (strcmp(one, inv->definitions.at[inv->definitions.n - 1].name) != 0) {
		d->name = mem_printf("%s*", one);
		free(one);
	}
	return d->name;
}

/* --- events of trees -------------------------------------------------------------------------- */

/* Adds a line of dynamic_events, by e or t: the tree looks at what it is made of. */
static int add_made(struct probe_option *o, struct invocation *inv)
{
	const char *name = o->text + 2, *slash = memchr(o->text, '/', o->head);

	if (o->head < 3)
		return err_at(o->err, EINVAL, o->text, 1,
			      "this event needs a name here: %c:NAME %s", *o->text,
			      *o->text == 'e' ? "SYSTEM/EVENT" : "TRACEPOINT");
	*vec_add(&inv->definitions) = (struct probe_definition_line){
		.line = mem_strdup(o->text),
		.name = slash ? mem_printf("%.*s:%.*s", (int)(slash - name), name,
					   (int)(o->text + o->head - slash - 1), slash + 1)
			      : mem_printf("%s:%.*s",
					   *o->text == 'e' ? EPROBE_SYSTEM : TPROBE_SYSTEM,
					   (int)o->head - 2, name),
		.in_tree = true,
	};
	return 0;
}

/* *name is the pattern by which the events are switched on; valid until probe_options_free().
 * Nothing is defined if a part fails, but lines that were added stay in the list, and the command
 * ends. */
int probe_option_line(struct invocation *inv, const char *text, const char **name, struct err *err)
{
	size_t head = strcspn(text, " \t"), at = head + strspn(text + head, " \t"),
	       n = function_name_length(text + at, ""), first = inv->definitions.n;
	struct probe_option o = { .inv = inv, .text = text, .head = head, .column = at,
				  .arguments = at + n, .err = err };
	source_lines lines = { 0 };
	int r;

	o.place = mem_strndup(text + at, n);
	r = *text == 'e' || *text == 't' ? add_made(&o, inv)
	    : *text == 'f'		 ? function_option_lines(&o, &lines)
					 : make_lines(&o, &lines);
	for (size_t i = 0; i < lines.n && r == 0; i++)
		r = add_definition(&o, inv, &lines.at[i]);
	source_lines_free(&lines);
	free(o.place);
	free(o.made);
	if (r == 0)
		*name = name_of_all(inv, first);
	return r;
}

/* -e's shorter forms become a line of uprobe_events, which inv->made_texts owns. */
void probe_options_add_perf(struct invocation *inv, const struct option *option, const char *text,
		       const char *file)
{
	size_t n = strcspn(text, " \t");
	const char *equals = memchr(text, '=', n), *place = equals ? equals + 1 : text;
	char *group = equals ? memchr(text, ':', (size_t)(equals - text)) : NULL, *made;
	bool whole = !equals && begins_definition(text, "pr");

	if (whole)
		made = mem_strdup(text);
	else if (group)
		made = mem_printf("p:%.*s/%.*s %s%s%s", (int)(group - text), text,
				  (int)(equals - group - 1), group + 1, file ? file : "",
				  file ? ":" : "", place);
	else
		made = mem_printf("p%s%.*s %s%s%s", equals ? ":" : "",
				  equals ? (int)(equals - text) : 0, text, file ? file : "",
				  file ? ":" : "", place);
	*vec_add(&inv->made_texts) = made;
	set_setting(inv, option, made, NULL);
}

/* Puts names of events in the place of definitions, in all writes of -e. */
int probe_options_resolve(struct invocation *inv, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < inv->writes.n && !e; i++)
		if (is_definition(&inv->writes.at[i]))
			e = probe_option_line(inv, inv->writes.at[i].text, &inv->writes.at[i].text,
					     err);
	return e ? err_prefix(err, "-e") : 0;
}

/* Whether an event is one whose records only a tree makes. */
bool probe_options_in_tree(const struct invocation *inv)
{
	for (size_t i = 0; i < inv->definitions.n; i++)
		if (inv->definitions.at[i].in_tree)
			return true;
	return false;
}

/* Defines in the session's own catalogue, before it begins; events of trees are the tree's to
 * define. */
int probe_options_define(struct invocation *inv, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < inv->definitions.n && !e; i++) {
		const char *line = inv->definitions.at[i].line;
		struct probe_command c;

		if (inv->definitions.at[i].in_tree)
			continue;
		e = probe_command_parse(line, &c, err);
		if (e < 0)
			break;
		if (inv->verbose)
			invocation_show_write(&(struct setting_write){
				.file = "uprobe_events", .text = line, .append = true });
		e = dynamic_probes_define(inv->events, &c, line, NULL, err);
		probe_command_free(&c);
	}
	return e ? err_prefix(err, "-e") : 0;
}

void probe_options_free(struct invocation *inv)
{
	for (size_t i = 0; i < inv->definitions.n; i++) {
		free(inv->definitions.at[i].line);
		free(inv->definitions.at[i].parameters);
		free(inv->definitions.at[i].name);
	}
	vec_free(&inv->definitions);
	for (size_t i = 0; i < inv->made_texts.n; i++)
		free(inv->made_texts.at[i]);
	vec_free(&inv->made_texts);
}
