/* SPDX-License-Identifier: MIT */
/* -e f:NAME GLOB: one event at many functions of a file, on the main thread. The file is opened to
 * look its functions up. Those that no probe fits are left out, and counted aloud.
 * probe_option.c calls it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/glob.h"
#include "image/probes.h"
#include "image/source_arguments.h"
#include "sym/module.h"
#include "ui/probe_option_internal.h"
#include "ui/say.h"

/* Functions at which one definition can be. */
#define FUNCTIONS_MOST 1000u

/* The functions of one file, as f: asks for them, by their offsets in it: several may have one
 * name, versions of a symbol or static functions. */
struct chosen_functions {
	VEC(uint64_t) offsets;
	unsigned matched, refused;
	const char *why;          /* of the first one that cannot be probed */
	/* asks: for the type of what they return, which *type is if they have one in common */
	bool asks;
	char *type;
	size_t nothing;           /* of those first asked about: they return nothing */
};

/* Notes the type that one more function returns; an event's field has one type. Called before the
 * function's offset is added: an empty list means the first one. Once two types differ nobody asks
 * any more, because the answer would not be used. */
static void note_type(struct source_place_of_arguments *p, const char *name,
		      struct chosen_functions *out)
{
	char *type = NULL;

	if (out->asks || (out->nothing && out->nothing == out->offsets.n))
		out->nothing += source_argument_returned(p, name, &type) == -ENODATA;
	if (!out->offsets.n) {
		out->type = type;
		out->asks = type != NULL;
		return;
	}
	out->asks = type && out->type && !strcmp(type, out->type);
	if (!out->asks) {
		free(out->type);
		out->type = NULL;
	}
	free(type);
}

/* Why no probe fits the function; NULL: one does. The text is a constant. At returns the code
 * around a return instruction may be what does not fit: bar.reason has the hook's reason then. */
static const char *refused_function(int fd, const char *path, uint64_t offset, bool returns)
{
	struct probe_returns bar;
	enum hook_reason reason;

	if (!returns) {
		reason = probes_reason(fd, path, offset);
		return reason ? hook_reason_texts[reason] : NULL;
	}
	bar = probes_returns(fd, path, offset);
	return bar.bar == RETURN_BAR_WINDOW ? hook_reason_texts[bar.reason]
	       : bar.bar		    ? return_bar_texts[bar.bar]
					    : NULL;
}

/* Chooses the functions that match and can be probed. 0, or -errno and *err. */
static int choose_functions(const char *path, const char *glob, bool returns,
			    struct chosen_functions *out, struct err *err)
{
	struct source_place_of_arguments place = { .at_return = true };
	struct sym_module *m;
	uint64_t offset;
	int r = sym_open(path, &m, err), fd;

	if (r < 0)
		return r;
	place.m = m;
	fd = file_open(path, err);
	for (size_t i = 0; fd >= 0 && i < m->functions.n; i++) {
		const struct sym_function *f = &m->functions.at[i];
		/* An entry of the PLT is another file's function, and a cold fragment is a part of
		 * one. */
		const char *name = f->plt || f->cold ? NULL : sym_name(m, f), *why;

		if (!name || !glob_match(glob, name) || !sym_code_offset(m, f->vaddr, &offset))
			continue;
		out->matched++;
		why = refused_function(fd, path, offset, returns);
		out->refused += why != NULL;
		if (!why) {
			place.vaddr = f->vaddr;
			note_type(&place, name, out);
			*vec_add(&out->offsets) = offset;
		} else if (!out->why) {
			out->why = why;
		}
	}
	source_arguments_end(&place);
	if (fd >= 0)
		close(fd);
	sym_close(m);
	return fd < 0 ? fd : 0;
}

/* Says what the event leaves out. */
static void tell_refused(const struct probe_option *o, const struct chosen_functions *c)
{
	if (c->refused && c->offsets.n && !o->inv->quiet)
		say_warning("%s: %u of %u functions cannot be probed, and are left out (%s)",
			    o->text, c->refused, c->matched, c->why);
}

/* From a column of the line for one function to the user's: words behind the place stand where they
 * stood, behind other words. The name's group may be brace's own. */
static size_t user_column(const struct probe_option *o, const struct source_definition *d,
			  size_t column)
{
	if (column < d->head)
		return 2;
	return column < d->arguments ? o->column : column - d->arguments + o->arguments;
}

/* Adds the lines of the event at one function: of p, or with %return of its return, in the group
 * that f has. */
static int add_function(struct probe_option *o, const char *path, const char *place,
			const char *value_type, source_lines *out)
{
	const char *name = o->text + 2, *arguments = o->text + o->arguments;
	const char *group = memchr(name, '/', o->head - 2) ? "" : "fprobes/";
	char *text = mem_printf("p:%s%.*s %s%s", group, (int)(o->head - 2), name, place,
				arguments);
	size_t head = strlen(group) + o->head;
	struct source_definition d = { .text = text, .path = path, .place = place, .head = head,
				       .place_column = head + 1,
				       .arguments = head + 1 + strlen(place),
				       .value_type = value_type };
	source_lines lines = { 0 };
	struct err why;
	int r = source_probe_lines(&d, &lines, &why);

	if (r < 0)
		err_at(o->err, -r, o->text, user_column(o, &d, why.column), "%s", why.text);
	for (size_t i = 0; i < lines.n; i++) {
		for (size_t k = 0; k < lines.at[i].spans.n; k++) {
			struct source_span *span = &lines.at[i].spans.at[k];

			/* Only the words behind the place are the user's own, character by
			 * character; a fault in another one is told at the place. */
			span->same &= span->from >= d.arguments;
			span->from = user_column(o, &d, span->from);
		}
		*vec_add(out) = lines.at[i];
	}
	vec_free(&lines);
	free(text);
	return r;
}

/* Adds the lines of all functions. */
static int add_functions(struct probe_option *o, const char *path, const char *suffix,
			 const struct chosen_functions *c, source_lines *out)
{
	int r = 0;

	for (size_t i = 0; i < c->offsets.n && r == 0; i++) {
		/* By offset, not by name: of several functions with one name each gets its
		 * probe. */
		char *place = mem_printf("0x%llx%s",
					 (unsigned long long)c->offsets.at[i], suffix);

		r = add_function(o, path, place, c->type, out);
		free(place);
	}
	return r;
}

/* Whether an argument is $retval: the event is one of returns then, as in the kernel. */
static bool wants_value(const char *arguments)
{
	const char *at = strstr(arguments, "$retval");

	return at && !isalnum((unsigned char)at[7]) && at[7] != '_';
}

/* Whether $retval stands in a word of its own, or behind its name, without a type. */
static bool wants_type(const char *arguments)
{
	const char *at = arguments;

	/* A word of another beginning, $retval:u32 or +0($retval), brings its type, or needs
	 * none. */
	while ((at = strstr(at, "$retval")) && at[7] && !strchr(" \t", at[7]))
		at++;
	return at;
}

/* The kernel's sentence, where all functions that were chosen return nothing. */
static int refuse_value(const struct probe_option *o)
{
	const char *at = strstr(o->text + o->arguments, "$retval");

	return err_at(o->err, EINVAL, o->text, (size_t)(at - o->text),
		      "This function returns 'void' type");
}

int function_option_lines(struct probe_option *o, source_lines *out)
{
	char *glob, *suffix, *path;
	struct chosen_functions c = { 0 };
	bool returns;
	int r;

	if (o->head < 3)
		return err_at(o->err, EINVAL, o->text, 1,
			      "this event needs a name here: f:NAME FUNCTIONS");
	path = probe_option_file(o);
	if (!path)
		return -EINVAL;
	suffix = strchr(o->in_file, '%');
	glob = mem_strndup(o->in_file, suffix ? (size_t)(suffix - o->in_file)
					      : strlen(o->in_file));
	returns = suffix ? !strcmp(suffix, "%return")
			 : wants_value(o->text + o->arguments);
	c.asks = returns && wants_type(o->text + o->arguments);
	r = choose_functions(path, glob, returns, &c, o->err);
	if (r == 0 && suffix && !returns)
		r = probe_option_fault(o, "behind a function stands %return, not ", suffix);
	else if (r == 0 && !c.matched)
		r = probe_option_fault(o, "no function of this file matches: ", path);
	else if (r == 0 && !c.offsets.n)
		r = probe_option_fault(o, "no probe fits: ", c.why);
	else if (r == 0 && c.offsets.n > FUNCTIONS_MOST)
		r = probe_option_fault(o, "more than 1000 functions match: ", glob);
	else if (r == 0 && c.nothing == c.offsets.n)
		r = refuse_value(o);
	else if (r == 0)
		r = add_functions(o, path, returns ? "%return" : "", &c, out);
	if (r == 0)
		tell_refused(o, &c);
	vec_free(&c.offsets);
	free(c.type);
	free(glob);
	free(path);
	return r;
}
