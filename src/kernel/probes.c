/* SPDX-License-Identifier: MIT */
/* Writes lines of dynamic_events. Called on brace's one thread, before recording begins and after
 * the instance has gone: an event that is on anywhere cannot be removed. */
#include "kernel/probes.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kernel/functions.h"
#include "kernel/tracefs.h"

#define LIST "dynamic_events"
#define GROUP "brace_"
#define SYNTHETIC "s:synthetic/"

/* readme: the words by which the kernel's README says that it has the kind. */
static const struct probe_kind { char letter; const char *readme, *system, *needs; } kinds[] = {
	{ 'p', "p[:[<group>/]", "kprobes", "probes of the kernel take CONFIG_KPROBE_EVENTS" },
	{ 'r', "r[maxactive]", "kprobes", "probes of the kernel take CONFIG_KPROBE_EVENTS" },
	{ 'f', "f[:[<group>/]", "fprobes",
	  "f: takes Linux 6.5 with CONFIG_FPROBE_EVENTS; p: and r: probe a function, too" },
	{ 't', "t[:[<group>/]", "tracepoints",
	  "t: takes Linux 6.5 with CONFIG_FPROBE_EVENTS; the tracepoint's own event can be had by its name" },
	{ 'e', "e[:[<group>/]", "eprobes", "e: takes Linux 5.15 with CONFIG_PROBE_EVENTS" },
};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* A definition: LETTER[N][:[GROUP/]NAME] REST. */
struct definition {
	const struct probe_kind *kind;
	const char *text, *rest;   /* rest: from PLACE on */
	size_t number;             /* bytes of LETTER[N] */
	const char *name;          /* n_name 0: none */
	size_t n_name;
};

/* The name of an event has no blank, and a definition always has one: so -e tells the two apart. */
bool kernel_probes_is(const char *text) { return strchr(text, ' ') != NULL; }

static const struct probe_kind *kind_of(char letter)
{
	for (size_t k = 0; k < N_KINDS; k++)
		if (kinds[k].letter == letter)
			return &kinds[k];
	return NULL;
}

/* --- reading a definition --------------------------------------------------------------- */

/* The group is brace's alone: by it a later brace finds what a killed one left
 * (kernel_probes_sweep()). */
static int parse_name(struct definition *d, const char *at, struct err *err)
{
	size_t n = strcspn(at, " ");

	if (memchr(at, '/', n))
		return err_at(err, EINVAL, d->text, (size_t)(at - d->text),
			      "brace puts the kernel's probes into a group of its own: give the name alone");
	d->name = at;
	d->n_name = n;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)at[i]) && at[i] != '_')
			return err_at(err, EINVAL, d->text, (size_t)(at + i - d->text),
				      "a name has letters, digits and _ alone");
	return 0;
}

/* Takes apart what brace has to know, and leaves places and arguments to the kernel, whose
 * grammar differs between versions. d points into text. */
static int parse(const char *text, struct definition *d, struct err *err)
{
	const char *blank = strchr(text, ' ');
	int e = 0;

	*d = (struct definition){ .kind = kind_of(*text), .text = text };
	d->number = 1 + strspn(text + 1, "0123456789");
	if (!d->kind || (text[d->number] != ':' && text[d->number] != ' '))
		return err_at(err, EINVAL, text, 0,
			      "the kernel's events are defined by p:NAME FUNCTION ARGUMENT..., r: (its return), f: (a function), t: (a tracepoint) or e: (another event)");
	if (text[d->number] == ':')
		e = parse_name(d, text + d->number + 1, err);
	d->rest = blank + strspn(blank, " ");
	if (!e && !*d->rest)
		e = err_at(err, EINVAL, text, strlen(text), "a function is missing");
	return e;
}

/* The name that a definition without one gets: p_vfs_read_0, as the kernel's; for free(). brace
 * makes it, because the kernel's own would stand in a group of the kernel's. */
static char *made_name(const struct definition *d)
{
	size_t n = strcspn(d->rest, " ");
	char *name = mem_printf("%c_%.*s", d->kind->letter, (int)n, d->rest);

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return name;
}

/* --- what the kernel refuses ------------------------------------------------------------ */

/* The function of a probe is not there: which is the nearest, or why it cannot be probed. Offsets
 * and %return are cut off: the kernel's error is about the function. */
static int explain_place(const struct definition *d, const char *top, struct err *err)
{
	char *place = mem_strndup(d->rest, strcspn(d->rest, " +%"));
	int e = kernel_functions_explain(top, place, err);

	free(place);
	return e;
}

/* written: the line as the kernel got it, from whose column that of the user's text is made. The
 * line has the group, and perhaps a name, that the user did not write: a column in it is moved
 * back by as much, and one within brace's part becomes the place's. */
static int explain(const struct definition *d, const char *top, const char *written, int e,
		   struct err *err)
{
	const size_t moved = strlen(written) - strlen(d->text), from = (size_t)(d->rest - d->text);
	size_t column;
	char *text = kernel_tracefs_error(top, &column);
	bool place = text && (strstr(text, "symbol") || strstr(text, "not found"));

	if (column == SIZE_MAX || column < moved + from)
		column = from;
	else
		column -= moved;
	if (place && strchr("prf", d->kind->letter) && column == from)
		e = explain_place(d, top, err);
	else
		e = err_at(err, -e, d->text, column, "the kernel refuses this: %s",
			   text ? text : strerror(-e));
	free(text);
	return e;
}

/* The README of tracefs lists the grammar that this kernel takes: the one place that tells
 * features which a distribution carried back. */
static bool has_kind(const char *top, const struct probe_kind *k)
{
	char *readme = kernel_tracefs_read(top, "README");
	/* An unreadable README says nothing. */
	bool has = !readme || strstr(readme, k->readme);

	free(readme);
	return has && kernel_tracefs_has(top, LIST);
}

/* --- defining --------------------------------------------------------------------------- */

/* "brace-12-graph" is the group brace_12's instance. */
static char *group_of(const struct kernel_instance *i)
{
	const char *name = strrchr(kernel_instance_dir(i), '/') + strlen("/brace-");

	return mem_printf(GROUP "%.*s", (int)strcspn(name, "-"), name);
}

/* *event is GROUP:NAME, as set_event takes it, for free(). The event is defined but off, until
 * the instance enables it. */
int kernel_probes_define(const struct kernel_instance *i, const char *text, char **event,
			 struct err *err)
{
	const char *top = kernel_instance_top(i);
	char *group, *name, *line;
	struct definition d;
	int e = parse(text, &d, err);

	if (e)
		return e;
	if (!has_kind(top, d.kind))
		return err_at(err, ENOTSUP, text, 0, "this kernel cannot do that: %s",
			      d.kind->needs);
	group = group_of(i);
	name = d.n_name ? mem_strndup(d.name, d.n_name) : made_name(&d);
	line = mem_printf("%.*s:%s/%s %s", (int)d.number, text, group, name, d.rest);
	/* Appended: what is written otherwise removes everybody's. */
	e = kernel_tracefs_write(top, LIST, line, true);
	if (e == -EEXIST)
		e = err_at(err, EEXIST, text, 0, "there is an event %s already: give it another name",
			   name);
	else if (e)
		e = explain(&d, top, line, e, err);
	else
		*event = mem_printf("%s:%s", group, name);
	free(line);
	free(name);
	free(group);
	return e;
}

/* --- those that are defined ------------------------------------------------------------- */

/* "brace_12", of a process, or "brace_session": another's group may begin like these. */
static bool is_ours(const char *group, size_t n)
{
	static const char session[] = GROUP "session";
	const size_t digits = n > strlen(GROUP) ? strspn(group + strlen(GROUP), "0123456789") : 0;

	return (digits && strlen(GROUP) + digits == n) ||
	       (n == strlen(session) && !strncmp(group, session, n));
}

/* Takes a line of dynamic_events apart: "p:brace_12/name place...". False: it is none of ours.
 * The pointers are into the line: group with n_group bytes, and behind its '/' the event with
 * n_event. */
static bool read_line(const char *line, const struct probe_kind **kind, const char **group,
		      size_t *n_group, size_t *n_event)
{
	const char *colon = strchr(line, ':'), *slash = colon ? strchr(colon, '/') : NULL;

	*kind = kind_of(*line);
	if (!*kind || !slash || strncmp(colon + 1, GROUP, strlen(GROUP)) != 0)
		return false;
	*group = colon + 1;
	*n_group = (size_t)(slash - *group);
	*n_event = strcspn(slash + 1, " ");
	return is_ours(*group, *n_group);
}

struct probe_search { const char *group, *event, *system; };

static bool look_for(void *context, const char *line)
{
	struct probe_search *s = context;
	const struct probe_kind *kind;
	const char *group;
	size_t n_group, n_event;

	if (!read_line(line, &kind, &group, &n_group, &n_event) || strlen(s->group) != n_group ||
	    strlen(s->event) != n_event || memcmp(group, s->group, n_group) ||
	    memcmp(group + n_group + 1, s->event, n_event))
		return true;
	s->system = kind->system;
	return false;
}

/* The name of the system that the kernel gives to events of that kind: a string that is never
 * freed; NULL: the group is no brace's. */
const char *kernel_probes_system(const char *top, const char *group, const char *event)
{
	struct probe_search s = { group, event, NULL };

	if (!strncmp(group, GROUP, strlen(GROUP)))
		kernel_tracefs_lines(top, LIST, look_for, &s);
	return s.system;
}

struct probe_sweep { const char *top; VEC(char *) lines; };

/* Whether there is the instance of a group: it has one of two names. An instance that a living
 * brace has is always made before its first probe, so that none is swept between the two. */
static bool is_alive(const char *top, const char *group, size_t n)
{
	static const char *const suffixes[] = { "", "-graph" };
	bool lives = false;

	for (size_t k = 0; k < 2; k++) {
		char *its = mem_printf("instances/brace-%.*s%s", (int)(n - strlen(GROUP)),
				       group + strlen(GROUP), suffixes[k]);

		lives |= kernel_tracefs_has(top, its);
		free(its);
	}
	return lives;
}

/* "s:synthetic/brace_12_NAME FIELDS": all synthetic events are of one group, so that ours have the
 * process in their names. */
static void note_synthetic(struct probe_sweep *s, const char *line)
{
	const char *name = line + strlen(SYNTHETIC), *number = name + strlen(GROUP);
	size_t digits;

	if (strncmp(line, SYNTHETIC GROUP, strlen(SYNTHETIC GROUP)) != 0)
		return;
	digits = strspn(number, "0123456789");
	if (digits && number[digits] == '_' && !is_alive(s->top, name, strlen(GROUP) + digits))
		*vec_add(&s->lines) = mem_printf("-:synthetic/%.*s", (int)strcspn(name, " "), name);
}

/* Notes what is to be written for it. Noted, not removed at once: the list would change while it
 * is read. */
static bool note_orphan(void *context, const char *line)
{
	struct probe_sweep *s = context;
	const struct probe_kind *kind;
	const char *group;
	size_t n_group, n_event;

	if (!read_line(line, &kind, &group, &n_group, &n_event))
		note_synthetic(s, line);
	else if (!is_alive(s->top, group, n_group))
		*vec_add(&s->lines) = mem_printf("-:%.*s", (int)(n_group + 1 + n_event), group);
	return true;
}

char *kernel_probes_synthetic(const char *name)
{
	return mem_printf(GROUP "%d_%s", (int)getpid(), name);
}

/* A probe that is still enabled in somebody's instance stays (EBUSY) and is not counted; the next
 * sweep finds it. */
unsigned kernel_probes_sweep(const char *top)
{
	struct probe_sweep s = { .top = top };
	unsigned n = 0;

	kernel_tracefs_lines(top, LIST, note_orphan, &s);
	for (size_t i = 0; i < s.lines.n; i++) {
		n += kernel_tracefs_write(top, LIST, s.lines.at[i], true) == 0;
		free(s.lines.at[i]);
	}
	vec_free(&s.lines);
	return n;
}
