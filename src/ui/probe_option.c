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

#include "arch/reg_names.h"
#include "base/file.h"
#include "image/dynamic_probes.h"
#include "inject/launch.h"
#include "sym/module.h"
#include "sym/usdt.h"

/* One definition, as its words. */
struct probe_option {
	const struct invocation *inv;
	const char *text;
	char *head, *place;       /* "p:name", "malloc+4%return" */
	const char *arguments;    /* behind the place, with the blank; or "" */
	size_t column;            /* of the place */
	/* of the line that is made: where arguments begin, and how they were made of those above */
	size_t line_arguments;
	bool as_written;          /* the line is the text */
	bool numbered;            /* $argN became registers */
	struct err *err;
};

/* Whether -e was given a definition, p or r with a name or a place behind it, and no event's
 * name. */
static bool is_definition(const struct setting_write *w)
{
	return w->file && !strcmp(w->file, "set_event") && (*w->text == 'p' || *w->text == 'r') &&
	       (w->text[1] == ':' || w->text[1] == ' ') && strchr(w->text, ' ');
}

/* The fault is at the place, wherever in the text that stands. */
static int set_fault(const struct probe_option *o, const char *what, const char *name)
{
	return err_at(o->err, EINVAL, o->text, o->column, "%s%s", what, name);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The file of the program that is started or attached to; NULL and the error. */
static char *program_file(const struct probe_option *o)
{
	char *path, *image, link[64], at[PATH_MAX];
	ssize_t n;

	if (o->inv->pids.n) {
		snprintf(link, sizeof(link), "/proc/%d/exe", (int)o->inv->pids.at[0]);
		n = readlink(link, at, sizeof(at) - 1);
		if (n > 0)
			return mem_strndup(at, (size_t)n);
	} else if (o->inv->command->stops && o->inv->n_operands &&
		   launch_resolve(o->inv->operands[0], &path, &image, NULL) == 0) {
		free(path);
		return image;
	}
	set_fault(o, "whose function this is is not known: write PATH:", o->place);
	return NULL;
}

/* Whether a file's name is the module's: libc.so.6, or libc of libc.so.6 and libc-2.31.so. */
static bool is_module(const char *path, const char *module)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
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
 * brace's own C library. */
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
		set_fault(o, o->inv->pids.n ? "the process has no module of this name: "
					    : "no library of the system has this name; write its path: ",
			  module);
	return found;
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* Translates an address of code into an offset in the file; false: there is no code. */
static bool offset_of(const struct sym_module *m, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < m->segments.n; i++) {
		const struct sym_segment *s = &m->segments.at[i];

		if (s->exec && vaddr - s->vaddr < s->filesz) {
			*offset = vaddr - s->vaddr + s->offset;
			return true;
		}
	}
	return false;
}

/* Finds SYMBOL[+OFFSET] in the file. */
static int find_symbol(const struct probe_option *o, const char *path, const char *symbol,
		       uint64_t *offset)
{
	const char *plus = strrchr(symbol, '+');
	size_t n = plus ? (size_t)(plus - symbol) : strlen(symbol);
	struct sym_module *m;
	struct err why;
	uint64_t vaddr, more = 0;
	char *rest;
	bool found;

	if (plus) {
		errno = 0;
		more = strtoull(plus + 1, &rest, 0);
		if (!isdigit((unsigned char)plus[1]) || *rest || errno)
			return set_fault(o, "behind + stands a number of bytes: ", symbol);
	}
	if (sym_open(path, &m, &why) < 0)
		return err_at(o->err, EINVAL, o->text, o->column, "%s", why.text);
	found = sym_object(m, symbol, n, &vaddr) && offset_of(m, vaddr + more, offset);
	sym_close(m);
	return found ? 0
		     : err_at(o->err, EINVAL, o->text, o->column, "%s has no function %s", path,
			      symbol);
}

/* --- definitions ------------------------------------------------------------------------------ */

/* Whether the word is p:name or r:name. */
static bool has_name(const char *head)
{
	return head[1] == ':' && head[2];
}

#define NUMBERED "$arg"
#define NUMBERED_BYTES (sizeof("$argN") - 1)

/* Returns the register that has the argument which `at` begins with, $arg1 to $arg6; else NULL. */
static const char *numbered_register(const char *at)
{
	const size_t n = strlen(NUMBERED);

	if (strncmp(at, NUMBERED, n) != 0 || !isdigit((unsigned char)at[n]) ||
	    isdigit((unsigned char)at[n + 1]))
		return NULL;
	return reg_names_argument((unsigned)(at[n] - '0'));
}

/* Copies the arguments, $arg1 to $arg6 as the registers that have them when the function begins.
 * Others stay, and are refused as in uprobe_events. */
static char *registers_for_arguments(const char *arguments)
{
	char *text;
	size_t bytes;
	FILE *to = mem_stream(&text, &bytes);

	for (const char *at = arguments; *at;) {
		const char *reg = numbered_register(at);

		if (reg)
			fprintf(to, "%%%s", reg);
		else
			fputc(*at, to);
		at += reg ? NUMBERED_BYTES : 1;
	}
	fclose(to);
	return text;
}

/* Translates a column of the made line into one of the text. */
static size_t text_column(const struct probe_option *o, size_t column)
{
	const char *at = o->arguments;

	if (o->as_written || column < strlen(o->head))
		return column;
	if (column < o->line_arguments)
		return o->column;
	for (size_t left = column - o->line_arguments; left && *at;) {
		const char *reg = o->numbered ? numbered_register(at) : NULL;
		size_t made = reg ? 1 + strlen(reg) : 1;

		if (made > left)
			break;
		left -= made;
		at += reg ? NUMBERED_BYTES : 1;
	}
	return (size_t)(at - o->text);
}

/* Makes the line; returns it, or NULL and the error. */
static char *make_line(struct probe_option *o)
{
	char *suffix = strchr(o->place, '%'), *colon = strrchr(o->place, ':'), *path, *line = NULL;
	char *symbol = colon ? colon + 1 : o->place, *name, *arguments;
	uint64_t offset = 0;

	/* PATH:OFFSET is uprobe_events' own form. */
	o->as_written = colon && isdigit((unsigned char)colon[1]);
	if (o->as_written)
		return mem_strdup(o->text);
	if (suffix)
		*suffix = '\0';
	if (colon)
		*colon = '\0';
	path = !colon			   ? program_file(o)
	       : strchr(o->place, '/') ? mem_strdup(o->place)
				       : module_file(o, o->place);
	if (path && find_symbol(o, path, symbol, &offset) == 0) {
		/* The symbol names an event that has no name, as in perf. */
		name = mem_strndup(symbol, strcspn(symbol, "+@."));
		o->numbered = *o->head == 'p' && !suffix && !strchr(symbol, '+');
		arguments = o->numbered ? registers_for_arguments(o->arguments)
					: mem_strdup(o->arguments);
		line = mem_printf("%s%s%s %s:0x%llx%s%s%s", o->head,
				  has_name(o->head) ? "" : o->head[1] ? "" : ":",
				  has_name(o->head) ? "" : name, path, (unsigned long long)offset,
				  suffix ? "%" : "", suffix ? suffix + 1 : "", arguments);
		o->line_arguments = strlen(line) - strlen(arguments);
		free(arguments);
		free(name);
	}
	free(path);
	return line;
}

/* Makes the line, and the names that it has. */
static int resolve_text(struct probe_option *o, struct probe_definition_line *d)
{
	struct probe_command c;
	struct err why;

	d->line = make_line(o);
	if (!d->line)
		return -EINVAL;
	/* The command line's own text is shown. */
	if (probe_command_parse(d->line, &c, &why) < 0) {
		free(d->line);
		return err_at(o->err, EINVAL, o->text, text_column(o, why.column), "%s", why.text);
	}
	d->name = mem_printf("%s:%s", c.group, c.event);
	probe_command_free(&c);
	return 0;
}

int probe_option_add(struct invocation *inv, const char *text, const char **name, struct err *err)
{
	size_t head = strcspn(text, " \t"), at = head + strspn(text + head, " \t"),
	       n = strcspn(text + at, " \t");
	struct probe_option o = { .inv = inv, .text = text, .column = at, .err = err };
	struct probe_definition_line d = { 0 };
	int e;

	o.head = mem_strndup(text, head);
	o.place = mem_strndup(text + at, n);
	o.arguments = text + at + n;
	e = resolve_text(&o, &d);
	free(o.head);
	free(o.place);
	if (e < 0)
		return e;
	*name = d.name;
	*vec_add(&inv->definitions) = d;
	return 0;
}

int probe_options_resolve(struct invocation *inv, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < inv->writes.n && !e; i++)
		if (is_definition(&inv->writes.at[i]))
			e = probe_option_add(inv, inv->writes.at[i].text, &inv->writes.at[i].text,
					     err);
	return e ? err_prefix(err, "-e") : 0;
}

int probe_options_define(struct invocation *inv, struct err *err)
{
	int e = 0;

	for (size_t i = 0; i < inv->definitions.n && !e; i++) {
		const char *line = inv->definitions.at[i].line;
		struct probe_command c;

		e = probe_command_parse(line, &c, err);
		if (e < 0)
			break;
		if (inv->verbose)
			invocation_show_write(&(struct setting_write){
				.file = "uprobe_events", .text = line, .append = true });
		e = dynamic_probes_define(inv->events, &c, line, err);
		probe_command_free(&c);
	}
	return e ? err_prefix(err, "-e") : 0;
}

void probe_options_free(struct invocation *inv)
{
	for (size_t i = 0; i < inv->definitions.n; i++) {
		free(inv->definitions.at[i].line);
		free(inv->definitions.at[i].name);
	}
	vec_free(&inv->definitions);
}
