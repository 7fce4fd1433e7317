/* SPDX-License-Identifier: MIT */
/* The lists of brace probe: functions, variables, source lines, on the main thread. What a file
 * does not tell is a sentence; source files are read as any file of anybody. cmd/probe.c calls
 * it. */
#include "ui/probe_source.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/file.h"
#include "image/probes.h"
#include "image/source_probe.h"
#include "ui/globs.h"
#include "ui/say.h"
#include "ui/screen.h"

#define LINES_BEHIND 3u       /* the last line with code, as perf probe prints them */

/* --- functions -------------------------------------------------------------------------------- */

/* For qsort(). */
static int name_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef VEC(char *) function_names;

/* Collects those that match and can be probed; returns how many match and cannot. */
static unsigned collect_names(const struct sym_module *m, int fd, const struct function_list *globs,
			      bool all, function_names *out)
{
	unsigned refused = 0;

	for (size_t i = 0; i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		const char *own = sym_name(m, f);
		char name[1024];
		uint64_t offset;

		if (!own || f->plt || f->cold)
			continue;
		demangle(own, name, sizeof(name));
		if (!all && !function_list_has(globs, name, NULL) &&
		    !function_list_has(globs, own, NULL))
			continue;
		/* probes_reason() decodes the bytes around the place, as the session would do
		 * later: both give one answer. */
		if (sym_code_offset(m, f->vaddr, &offset) &&
		    probes_reason(fd, m->path, offset) == REASON_NONE)
			*vec_add(out) = mem_strdup(own);
		else
			refused++;
	}
	return refused;
}

/* Names that several functions have are printed once. Says how many are left out. */
static int print_names(const struct invocation *inv, const char *path, function_names *names,
		       unsigned refused)
{
	struct screen o;
	int status;

	if (!names->n && !refused) {
		say("brace: %s has no function%s\n", path, inv->n_questions ? " that matches" : "");
		return EXIT_BRACE;
	}
	if (names->n)
		qsort(names->at, names->n, sizeof(names->at[0]), name_order);
	screen_open(&o, inv, SCREEN_PAGED, NULL);
	for (size_t i = 0; i < names->n && !screen_is_done(&o); i++)
		if (!i || strcmp(names->at[i - 1], names->at[i]) != 0)
			out_printf(&o.text, "%s\n", names->at[i]);
	status = screen_close(&o, 0);
	if (refused)
		say("brace: %u function%s cannot be probed at the first instruction: brace list -f %s --why says why\n",
		    refused, refused == 1 ? "" : "s", path);
	return status;
}

/* Without a pattern all functions are listed. The exit status. */
int probe_source_functions(const struct invocation *inv, const char *path)
{
	struct function_list globs = { 0 };
	function_names names = { 0 };
	struct sym_module *m = NULL;
	struct err err;
	int status = globs_read(&globs, inv->questions, inv->n_questions, 0), fd;
	unsigned refused;

	if (status)
		return status;
	fd = file_open(path, &err);
	if (fd < 0 || sym_open_fd(fd, path, "", &m, &err) < 0) {
		status = say_error(&err);
	} else {
		refused = collect_names(m, fd, &globs, !inv->n_questions, &names);
		status = print_names(inv, path, &names, refused);
		sym_close(m);
	}
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < names.n; i++)
		free(names.at[i]);
	vec_free(&names);
	function_list_free(&globs);
	return status;
}

/* --- variables -------------------------------------------------------------------------------- */

/* "@<price+4>", and a line for each: its type, its name, why it cannot be fetched. */
static void print_scope(struct out *o, const struct sym_scope *sc, uint64_t vaddr,
			const sym_variables *v)
{
	uint64_t behind = 0;
	const char *function = sym_scope_function(sc, &behind);

	if (function)
		out_printf(o, "\t@<%s+%" PRIu64 ">\n", function, behind);
	else
		out_printf(o, "\t@<0x%" PRIx64 ">\n", vaddr);
	for (size_t i = 0; i < v->n; i++)
		out_printf(o, "\t\t%s\t%s%s%s%s\n", v->at[i].type, v->at[i].name,
			   v->at[i].why ? "\t(" : "", v->at[i].why ? v->at[i].why : "",
			   v->at[i].why ? ")" : "");
	if (!v->n)
		out_str(o, "\t\t(none)\n");
}

/* Each place of the question has its own variables: a function may be inlined in several. 0, or
 * -errno and *err. */
static int print_scopes(struct sym_source_info *s, const source_places *places, struct out *o,
			struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < places->n && r == 0; i++) {
		struct sym_scope *sc;
		sym_variables variables;

		r = sym_scope_at(s, places->at[i].vaddr, &sc, err);
		if (r < 0)
			break;
		sym_scope_variables(sc, &variables);
		print_scope(o, sc, places->at[i].vaddr, &variables);
		sym_variables_free(&variables);
		sym_scope_free(sc);
	}
	return r;
}

/* Says the error at the words that the user wrote. */
static int say_at(const char *words, struct err *err)
{
	const struct err why = *err;

	err_at(err, why.code, words, 0, "%s", why.text);
	return say_error(err);
}

/* Lines that were printed before a failure stay. */
static int list_variables(const struct invocation *inv, const struct sym_module *m,
			  struct sym_source_info *s)
{
	source_places places;
	struct screen o;
	struct err err;
	int r = source_probe_find(m, inv->of_probe.variables, &places, &err), status;

	if (r < 0)
		return say_at(inv->of_probe.variables, &err);
	screen_open(&o, inv, SCREEN_PAGED, NULL);
	out_printf(&o.text, "Available variables at %s\n", inv->of_probe.variables);
	r = print_scopes(s, &places, &o.text, &err);
	status = screen_close(&o, 0);
	vec_free(&places);
	return r < 0 ? say_error(&err) : status;
}

/* Opens the file and its debug information for one list. */
static int with_source(const struct invocation *inv, const char *path,
		       int (*list)(const struct invocation *, const struct sym_module *,
				   struct sym_source_info *))
{
	struct sym_source_info *s = NULL;
	struct sym_module *m;
	struct err err;
	int status;

	if (sym_open(path, &m, &err) < 0)
		return say_error(&err);
	status = sym_source_open(m, &s, &err) < 0 ? say_error(&err) : list(inv, m, s);
	sym_source_close(s);
	sym_close(m);
	return status;
}

/* The exit status; what is wrong has been said. */
int probe_source_variables(const struct invocation *inv, const char *path)
{
	return with_source(inv, path, list_variables);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The lines to be printed: the numbers of a function count from its own line. */
struct line_list {
	char *subject, *function, *path;
	uint32_t from, to, base;  /* lines of the file; to 0: behind the last one with code */
	sym_source_numbers numbers;
	const struct sym_module *m;
	int fd;                   /* the program's */
};

/* Moves behind the digits; a number beyond INT32_MAX is as good as that. False: no digit stands
 * here. */
static bool take_number(const char **at, uint32_t *out)
{
	char *rest;
	unsigned long n;

	if (!isdigit((unsigned char)**at))
		return false;
	n = strtoul(*at, &rest, 10);
	*at = rest;
	*out = n < INT32_MAX ? (uint32_t)n : INT32_MAX;
	return true;
}

/* Cuts :FROM[-TO] or :FROM+N off. False: it is malformed. */
static bool take_range(struct line_list *l)
{
	char *colon = strrchr(l->subject, ':');
	const char *at = colon ? colon + 1 : "";
	uint32_t n;

	if (!isdigit((unsigned char)*at))
		return true;
	take_number(&at, &l->from);
	l->to = l->from;
	if (*at == '-' || *at == '+') {
		bool plus = *at++ == '+';

		if (!take_number(&at, &n))
			return false;
		l->to = plus ? l->from + n : n;
	}
	*colon = '\0';
	return !*at && l->to >= l->from;
}

/* A file's name has a dot or a folder; all else is a function, perhaps of a file. */
static int find_lines(struct line_list *l, struct sym_source_info *s, struct err *err)
{
	struct sym_source_function f;
	char *at = strchr(l->subject, '@');
	int r;

	if (!at && strpbrk(l->subject, "./")) {
		/* Lines of a file are counted from 1 on; those of a function from 0, its own
		 * line. */
		l->from += !l->from;
		return sym_source_lines(s, l->subject, NULL, &l->numbers, &l->path, err);
	}
	if (at)
		/* FUNCTION@FILE: the subject is cut in two, and stays the owner of both. */
		*at = '\0';
	r = sym_source_function(s, l->subject, at ? at + 1 : NULL, &f, err);
	if (r < 0)
		return r;
	l->function = l->subject;
	l->base = f.line;
	l->from += f.line;
	l->to += l->to ? f.line : 0;
	r = sym_source_lines(s, f.path, l->function, &l->numbers, &l->path, err);
	free(f.path);
	return r;
}

/* Finds the source file: where it was compiled, or below the directory, with or without its first
 * folders. NULL and the error. */
static FILE *open_source(const char *path, const char *directory, struct err *err)
{
	FILE *source;
	int fd = -ENOENT;

	/* -s DIRECTORY: the compiler's path is tried whole below it, then without its first
	 * folders, one less each time, because a source tree is seldom where it was compiled. */
	for (const char *at = path; directory && at && fd < 0; at = strchr(at + 1, '/')) {
		char *there = mem_printf("%s/%s", directory, at);

		fd = file_open(there, NULL);
		free(there);
	}
	if (fd < 0)
		fd = file_open(path, err);
	source = fd < 0 ? NULL : fdopen(fd, "r");
	if (source)
		return source;
	if (fd >= 0)
		close(fd);
	err_set(err, ENOENT, "the source file %s cannot be read: -s DIRECTORY says where it is",
		path);
	return NULL;
}

/* Writes one line of the source as perf probe does. *next goes on from line to line, in numbers
 * that are sorted: the file is passed through once. Lines of a function are counted from its own
 * (base). */
static void print_line(struct out *o, const struct line_list *l, uint32_t line, const char *text,
		       size_t *next)
{
	const struct sym_source_number *n;
	uint64_t offset;
	bool fits;

	while (*next < l->numbers.n && l->numbers.at[*next].line < line)
		++*next;
	n = *next < l->numbers.n ? &l->numbers.at[*next] : NULL;
	if (!n || n->line != line) {
		out_printf(o, "         %s\n", text);
		return;
	}
	fits = sym_code_offset(l->m, n->vaddr, &offset) &&
	       probes_reason(l->fd, l->m->path, offset) == REASON_NONE;
	if (fits)
		out_printf(o, "%7u  %s\n", line - l->base, text);
	else
		out_printf(o, "      -  %s\n", text);
}

/* The lines of the file as far as the range goes. The source is read line by line: it may be any
 * file. */
static int print_source(const struct invocation *inv, const struct line_list *l)
{
	uint32_t last = l->numbers.n ? l->numbers.at[l->numbers.n - 1].line : l->from,
		 to = l->to ? l->to : last + LINES_BEHIND, line = 0;
	size_t cap = 0, next = 0;
	char *text = NULL;
	struct screen o;
	struct err err;
	FILE *source = open_source(l->path, inv->of_probe.source, &err);
	int status;

	if (!source)
		return say_error(&err);
	screen_open(&o, inv, SCREEN_PAGED, NULL);
	if (l->function)
		out_printf(&o.text, "<%s@%s:%u>\n", l->function, l->path, l->from - l->base);
	else
		out_printf(&o.text, "<%s:%u>\n", l->path, l->from);
	while (line < to && !screen_is_done(&o) && getline(&text, &cap, source) > 0) {
		text[strcspn(text, "\r\n")] = '\0';
		if (++line >= l->from)
			print_line(&o.text, l, line, text, &next);
	}
	free(text);
	fclose(source);
	status = screen_close(&o, 0);
	if (line >= l->from || line >= to)
		return status;
	err_set(&err, EINVAL, "%s has %u lines", l->path, line);
	return say_at(inv->of_probe.lines, &err);
}

/* The code's file is opened besides: whether a probe fits is asked of its bytes. */
static int list_lines(const struct invocation *inv, const struct sym_module *m,
		      struct sym_source_info *s)
{
	struct line_list l = { .subject = mem_strdup(inv->of_probe.lines), .m = m };
	struct err err;
	int status;

	/* Its failure is told behind that of the range, which is the user's own slip. */
	l.fd = file_open(m->path, &err);
	if (!take_range(&l))
		status = say_error((err_at(&err, EINVAL, inv->of_probe.lines, strlen(l.subject),
					   "a range of lines is FROM-TO or FROM+N"),
				    &err));
	else if (l.fd < 0)
		status = say_error(&err);
	else if (find_lines(&l, s, &err) < 0)
		status = say_at(inv->of_probe.lines, &err);
	else
		status = print_source(inv, &l);
	if (l.fd >= 0)
		close(l.fd);
	vec_free(&l.numbers);
	free(l.path);
	free(l.subject);
	return status;
}

/* Lines that have code and cannot be probed are marked with '-', which tells them from lines
 * without code. */
int probe_source_lines(const struct invocation *inv, const char *path)
{
	return with_source(inv, path, list_lines);
}
