/* SPDX-License-Identifier: MIT */
/* Takes apart the lines that define events at tracepoints, and compiles them to programs over the
 * tracepoint's record, as events on events have them (eprobe.c). tree/dynamic_files.c calls it, on
 * the thread that writes; nothing is kept here. The lines come from anybody who may write
 * dynamic_events. The order in which parts are looked at, sentences and columns are the kernel's
 * (__trace_fprobe_create). A fault is -errno and such a sentence. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/catalogue.h"
#include "event/eprobe.h"
#include "event/probe_command.h"
#include "event/probe_line.h"

#define MARKER_GROUP "sdt_" /* before a marker's provider */

/* --- the tracepoint's arguments --------------------------------------------------------------- */

/* Fields that brace and the kernel add to what happens: __probe_ip, __syscall_nr, __path_val. */
static bool is_argument(const struct event_field *f)
{
	return strncmp(f->name, "__", 2) != 0;
}

/* fetch_build.argument. n counts from 1. Number 0 becomes the greatest one by --n, and meets no
 * field. */
static bool find_argument(struct fetch_build *b, unsigned n)
{
	const struct event_format *e = b->field_arg;

	for (size_t i = 0; i < e->n; i++) {
		if (!is_argument(&e->fields[i]) || --n)
			continue;
		eprobe_emit_field(b, &e->fields[i]);
		return true;
	}
	return false;
}

/* Number of the field of that name, n characters, among the arguments; 0: there is none. */
static unsigned number_of(const struct event_format *e, const char *name, size_t n)
{
	unsigned number = 0;

	for (size_t i = 0; i < e->n; i++) {
		number += is_argument(&e->fields[i]);
		if (is_argument(&e->fields[i]) && strlen(e->fields[i].name) == n &&
		    !memcmp(e->fields[i].name, name, n))
			return number;
	}
	return 0;
}

/* The type that the field has as an argument: its width and sign, or a string. A field of another
 * width is an array or a struct: x64 is its first word, as eprobe_emit_field() fetches it. */
static const char *type_of(const struct event_field *f)
{
	enum event_field_kind kind = event_field_kind(f);

	if (kind == EVENT_STRING || kind == EVENT_DYNAMIC || kind == EVENT_RELATIVE)
		return "string";
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8
		       ? fetch_type_number(f->size, f->is_signed)->name
		       : "x64";
}

/* "a=$arg1:s32", of argument number n; free() it. text, n characters, NULL: what stands before. */
static char *argument_text(const struct event_format *e, const char *head, size_t n_head,
			   unsigned number, const char *type)
{
	unsigned n = number;
	size_t i = 0;

	for (; i < e->n; i++)
		if (is_argument(&e->fields[i]) && !--n)
			break;
	return mem_printf("%.*s=$arg%u:%s", (int)n_head, head, number,
			  type ? type : type_of(&e->fields[i]));
}

/* Writes all arguments: "a=$arg1:s32 b=$arg2:string". */
static char *all_arguments(const struct event_format *e)
{
	char *all = mem_strdup("");
	unsigned number = 0;

	for (size_t i = 0; i < e->n; i++) {
		const char *name = e->fields[i].name;
		char *one, *more;

		if (!is_argument(&e->fields[i]))
			continue;
		one = argument_text(e, name, strlen(name), ++number, NULL);
		more = mem_printf("%s%s%s", all, *all ? " " : "", one);
		free(all);
		free(one);
		all = more;
	}
	return all;
}

/* Makes $argN alone that with the field's name. */
static void name_number(const struct event_format *e, const char *word, char **out)
{
	unsigned long number = strtoul(word + strlen("$arg"), NULL, 10);

	for (size_t i = 0; i < e->n && number; i++)
		if (is_argument(&e->fields[i]) && !--number)
			*out = argument_text(e, e->fields[i].name, strlen(e->fields[i].name),
					     number_of(e, e->fields[i].name,
						       strlen(e->fields[i].name)),
					     NULL);
}

/* line_words.translate: a field's bare name. */
static int translate_argument(void *arg, const char *word, char **out, struct err *err)
{
	const struct event_format *e = arg;
	const char *equals = strchr(word, '='), *name = equals ? equals + 1 : word;
	size_t n = strcspn(name, ":");
	unsigned number;

	*out = NULL;
	if (probe_line_is_number(word))
		name_number(e, word, out);
	if (!isalpha((unsigned char)*name) && *name != '_')
		return 0;
	number = number_of(e, name, n);
	if (!number)
		return err_at(err, EINVAL, word, (size_t)(name - word),
			      "This variable is not found at this probe point");
	*out = argument_text(e, equals ? word : name, equals ? (size_t)(equals - word) : n, number,
			     name[n] ? name + n + 1 : NULL);
	return 0;
}

/* line_words.all */
static char *expand_all(void *arg, struct err *err)
{
	return all_arguments(arg);
}

/* --- parts of the line ------------------------------------------------------------------------ */

/* A number behind the letter is a return's, which a tracepoint has not. */
static int check_active(const struct line_words *w)
{
	const char *behind = w->at[0] + 1;

	if (!*behind || *behind == ':')
		return 0;
	return probe_line_fault(w, behind,
				isdigit((unsigned char)*behind)
					? "Maxactive is only for function exit"
					: "behind the letter stands :[GRP/]EVENT");
}

/* Whether the word, [SYSTEM:]NAME, means the event; a marker's system is also its provider. */
static bool is_meant(const struct event_format *e, const char *word)
{
	const char *colon = strchr(word, ':');
	size_t n = colon ? (size_t)(colon - word) : 0, prefix = strlen(MARKER_GROUP);

	if (strcmp(e->name, colon ? colon + 1 : word) != 0)
		return false;
	return !colon || (strlen(e->system) == n && !memcmp(e->system, word, n)) ||
	       (!strncmp(e->system, MARKER_GROUP, prefix) && strlen(e->system) == prefix + n &&
		!memcmp(e->system + prefix, word, n));
}

/* Finds the tracepoint: an event that the session has and nobody defined. Events that users defined
 * are no tracepoints, as in the kernel. */
static int find_tracepoint(const struct line_words *w, struct event_catalogue *c, struct eprobe *e)
{
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *entry = events_at(c, i);

		if (entry->defined || events_is_gone(entry) || !events_can_enable(entry) ||
		    !is_meant(entry->format, w->at[1]))
			continue;
		if (e->base)
			return err_at(w->err, EINVAL, w->line, (size_t)(w->at[1] - w->copy),
				      "there are several tracepoints of this name, of %s and %s: write SYSTEM:NAME",
				      e->base->format->system, entry->format->system);
		e->base = entry;
	}
	return e->base ? 0 : probe_line_fault(w, w->at[1], "Tracepoint is not found");
}

/* Reads the second word, and looks for what only functions have. */
static int parse_tracepoint(const struct line_words *w, struct event_catalogue *c,
			    struct eprobe *e)
{
	const char *bad = w->at[1], *colon = strchr(bad, ':');

	if (strchr(w->at[1], '%'))
		return probe_line_fault(w, strchr(w->at[1], '%'), "Invalid probed address suffix");
	while (isalnum((unsigned char)*bad) || *bad == '_' || bad == colon)
		bad++;
	if (*bad)
		return probe_line_fault(w, bad, "Invalid character in tracepoint name");
	for (size_t i = 2; i < w->n; i++) {
		const char *at = strstr(w->at[i], "$retval");

		if (at && !isalnum((unsigned char)at[7]) && at[7] != '_')
			return probe_line_fault(w, at, "$retval is not available on probe");
	}
	return find_tracepoint(w, c, e);
}

/* Place of __probe_ip in programs; 0: the record has none. */
static uint64_t offset_of_ip(const struct event_format *e)
{
	return e->n && !strcmp(e->fields[0].name, "__probe_ip") && e->fields[0].size == 8
		       ? EPROBE_RECORD + e->fields[0].offset
		       : 0;
}

static int parse_arguments(struct line_words *w, struct eprobe_command *out)
{
	const struct event_format *of = out->eprobe->base->format;
	struct fetch_build b;

	w->translate = translate_argument;
	w->all = expand_all;
	w->arg = (void *)of;
	fetch_begin_tracepoint(&b, find_argument, (void *)of, offset_of_ip(of));
	return eprobe_arguments(w, out, &b);
}

static int parse_words(struct line_words *w, struct event_catalogue *c, struct eprobe_command *out)
{
	const char *name = strchr(w->at[0], ':');
	int r = check_active(w);

	if (r == 0 && name)
		r = probe_line_name(w, name + 1, &out->group, &out->event);
	if (r == 0)
		r = parse_tracepoint(w, c, out->eprobe);
	if (r < 0)
		return r;
	out->eprobe->tracepoint = mem_strdup(w->at[1]);
	if (!out->group)
		out->group = mem_strdup(TPROBE_SYSTEM);
	if (!out->event) {
		/* No event's name begins with a digit: it gets a `_`, as in the kernel. */
		name = out->eprobe->base->format->name;
		out->event = mem_printf("%s%s", isdigit((unsigned char)*name) ? "_" : "", name);
	}
	return parse_arguments(w, out);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Digits behind the t are taken here, so that check_active() can refuse them in the kernel's
 * words. */
bool tprobe_command_is(const char *line)
{
	return probe_command_is_of(line, 't', "0123456789");
}

int tprobe_command_parse(const char *line, struct event_catalogue *c, struct eprobe_command *out,
			 struct err *err)
{
	struct line_words w = { .err = err };
	int r = eprobe_line_cut(line, "the tracepoint is missing: t:NAME TRACEPOINT", &w, out);

	return eprobe_line_end(&w, out, r == 0 ? parse_words(&w, c, out) : r);
}
