/* SPDX-License-Identifier: MIT */
/* The `trigger` files: parsing, showing, and the table of kinds. instance/triggers.c runs triggers
 * on its thread. A trigger is shared by all copies of its list, which threads may hold: `users` and
 * `count` are atomic, all else is constant once written. Errors are the kernel's. */
#include "event/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "event/outside.h"

/* A part of the line. at NULL: absent. */
struct part {
	const char *at;
	size_t n;
};

/* Splits *rest at the first of the characters: returns the part before it; *rest is then the part
 * after it, or absent. An empty part is not an absent one: "enable_event:a:b:" has an empty count
 * and is refused, "enable_event:a:b" has none. */
static struct part split_part(struct part *rest, const char *ends_at)
{
	struct part first = { rest->at, 0 };

	if (!rest->at)
		return first;
	while (first.n < rest->n && !strchr(ends_at, first.at[first.n]))
		first.n++;
	if (first.n == rest->n)
		*rest = (struct part){ NULL, 0 };
	else
		*rest = (struct part){ first.at + first.n + 1, rest->n - first.n - 1 };
	return first;
}

/* Returns the line without the blanks at both ends. */
static struct part strip_line(const char *line)
{
	struct part p;

	while (isspace((unsigned char)*line))
		line++;
	p = (struct part){ line, strlen(line) };
	while (p.n && isspace((unsigned char)p.at[p.n - 1]))
		p.n--;
	return p;
}

/* Strips blanks at the front; an empty part becomes absent. */
static struct part strip_front(struct part p)
{
	while (p.n && isspace((unsigned char)*p.at)) {
		p.at++;
		p.n--;
	}
	return p.n ? p : (struct part){ NULL, 0 };
}

/* True if the part is this word, all of it. */
static bool part_equals(struct part p, const char *word)
{
	return p.n == strlen(word) && !memcmp(p.at, word, p.n);
}

/* Drops one user; the last one frees. */
static void trigger_free(struct event_trigger *t)
{
	/* Release and acquire: each pairs with the others' calls, so that the thread that frees has
	 * seen the last use by all others. */
	if (atomic_fetch_sub_explicit(&t->users, 1, memory_order_acq_rel) != 1)
		return;
	if (t->own)
		t->kind->ops->free(t->own);
	free(t->system);
	free(t->event);
	free(t->filter);
	free(t->program);
	free(t);
}

/* Returns a trigger of one user, without a limit. */
static struct event_trigger *trigger_new(const struct trigger_kind *kind)
{
	struct event_trigger *t = mem_zalloc(sizeof(*t));

	t->kind = kind;
	t->needs_stack = kind->action == TRIGGER_STACKTRACE;
	t->takes_snapshots = kind->action == TRIGGER_SNAPSHOT;
	atomic_init(&t->count, TRIGGER_UNLIMITED);
	atomic_init(&t->users, 1);
	return t;
}

/* Reads "SYSTEM:EVENT[:...]" off the front of the parameters. */
static int set_target(struct event_trigger *t, struct part *parameters,
		      const struct trigger_context *c)
{
	struct part system = split_part(parameters, ":"), event = split_part(parameters, ":");

	if (!event.at)
		return -EINVAL;
	t->system = mem_strndup(system.at, system.n);
	t->event = mem_strndup(event.at, event.n);
	return c->event_exists && c->event_exists(c->filter.arg, t->system, t->event) ? 0 : -EINVAL;
}

/* Reads an unsigned long in C's notations, all of the part. The kernel's kstrtoul() takes no minus
 * and no blank before it, which strtoul() would. */
static int parse_count(struct event_trigger *t, struct part parameters)
{
	struct part number = split_part(&parameters, ":");
	char *text, *end;
	int r = 0;

	if (!number.at)
		return 0;
	if (!number.n || !isdigit((unsigned char)*number.at))
		return -EINVAL;
	text = mem_strndup(number.at, number.n);
	errno = 0;
	atomic_init(&t->count, strtoul(text, &end, 0));
	if (*end || errno)
		r = *end ? -EINVAL : -ERANGE;
	free(text);
	return r;
}

int trigger_parse_filter(struct event_trigger *t, const struct trigger_line *line, const char *at,
			 size_t n, struct filter_fault *fault)
{
	struct part text = { at, n }, word = split_part(&text, " \t");
	int r;

	if (!word.at)
		return 0;
	if (!part_equals(word, "if") || !text.at)
		return -EINVAL;
	r = filter_compile(line->event, text.at, text.n, &line->context->filter, &t->program,
			   fault);
	if (r == 0)
		t->filter = mem_strndup(text.at, text.n);
	return r;
}

/* Returns the place of the trigger in l that excludes t; -1: none. */
static int find_excluding(const struct trigger_list *l, const struct event_trigger *t)
{
	for (size_t i = 0; i < l->at.n; i++) {
		const struct event_trigger *other = l->at.at[i];

		if (other->kind->type == t->kind->type && t->kind->ops->same(other, t))
			return (int)i;
	}
	return -1;
}

/* Removes the trigger in place i. No error if there is none (i < 0). */
static void take_out(struct trigger_list *l, int i)
{
	if (i < 0)
		return;
	trigger_free(l->at.at[i]);
	l->at.n--;
	memmove(&l->at.at[i], &l->at.at[i + 1], (l->at.n - (size_t)i) * sizeof(l->at.at[0]));
}

/* --- kinds with a count and nothing else -------------------------------------------------- */

/* Reads parameters (after a `:` or a blank) if they begin with a digit or are required, then the
 * filter. */
static int parse_counted(struct event_trigger *t, const struct trigger_line *line,
			 struct filter_fault *fault)
{
	struct part rest = { line->rest, line->n }, parameters = { NULL, 0 };
	int r;

	if (t->kind->switches && !rest.at)
		return -EINVAL;
	if (rest.at && (t->kind->switches || isdigit((unsigned char)*rest.at)))
		parameters = split_part(&rest, " \t");
	if (t->kind->switches) {
		r = set_target(t, &parameters, line->context);
		if (r < 0)
			return r;
	}
	/* A removal names a type; its count and filter do not matter and are not read. */
	if (line->remove)
		return 0;
	r = parse_count(t, parameters);
	rest = strip_front(rest);
	return r < 0 ? r : trigger_parse_filter(t, line, rest.at, rest.n, fault);
}

/* Shows the line as the kernel does. trigger_write() takes it back only without `unlimited` and
 * `count=`. A count is shown with a sign there (event_trigger_print()), so beyond LONG_MAX as a
 * negative one. */
static void show_counted(const struct event_trigger *t, FILE *to)
{
	/* Relaxed: a number that the pump counts down, and nothing is read by it. */
	const unsigned long count = atomic_load_explicit(&t->count, memory_order_relaxed);

	fputs(t->kind->name, to);
	if (t->kind->switches)
		fprintf(to, ":%s:%s", t->system, t->event);
	if (count == TRIGGER_UNLIMITED)
		fputs(":unlimited", to);
	else
		fprintf(to, ":count=%ld", (long)count);
	if (t->filter)
		fprintf(to, " if %s", t->filter);
}

/* An event has one trigger of each type, for each event that they switch. */
static bool is_same_counted(const struct event_trigger *a, const struct event_trigger *b)
{
	return !b->kind->switches ||
	       (!strcmp(a->system, b->system) && !strcmp(a->event, b->event));
}

const struct trigger_ops trigger_counted = { .parse = parse_counted,
					     .show = show_counted,
					     .same = is_same_counted };

static const struct trigger_kind kinds[] = {
	{ "traceon", TRIGGER_TRACEON, TRIGGER_TYPE_ONOFF, &trigger_counted, .sets_state = true },
	{ "traceoff", TRIGGER_TRACEOFF, TRIGGER_TYPE_ONOFF, &trigger_counted, .sets_state = true },
	{ "snapshot", TRIGGER_SNAPSHOT, TRIGGER_TYPE_SNAPSHOT, &trigger_counted, .switches = false },
	{ "stacktrace", TRIGGER_STACKTRACE, TRIGGER_TYPE_STACKTRACE, &trigger_counted, .after = true },
	{ "enable_event", TRIGGER_ENABLE, TRIGGER_TYPE_ENABLE, &trigger_counted, .switches = true,
	  .sets_state = true },
	{ "disable_event", TRIGGER_DISABLE, TRIGGER_TYPE_ENABLE, &trigger_counted, .switches = true,
	  .sets_state = true },
	{ "notify", TRIGGER_NOTIFY, TRIGGER_TYPE_NOTIFY, &outside_notify, .unlisted = true },
	{ "exec", TRIGGER_EXEC, TRIGGER_TYPE_EXEC, &outside_exec, .unlisted = true },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct trigger_kind *find_kind(const struct trigger_kind *of, size_t n,
					    struct part name)
{
	for (size_t i = 0; i < n; i++)
		if (part_equals(name, of[i].name))
			return &of[i];
	return NULL;
}

/* NULL: there is no trigger of that name. */
static const struct trigger_kind *kind_named(const struct trigger_kinds *more, struct part name)
{
	const struct trigger_kind *kind = find_kind(kinds, KINDS, name);

	return kind || !more ? kind : find_kind(more->at, more->n, name);
}

/* --- the file ------------------------------------------------------------------------- */

/* Puts t where `same` was (-1: nowhere yet), or where its kind belongs. The list is run and shown
 * from its end: the newest comes first, as by the kernel's list_add_rcu(), and a kind that is
 * `last` goes to the front. */
static void put_in(struct trigger_list *l, struct event_trigger *t, int same)
{
	if (same >= 0) {
		trigger_free(l->at.at[same]);
		l->at.at[same] = t;
		return;
	}
	*vec_add(&l->at) = t;
	if (!t->kind->last)
		return;
	memmove(&l->at.at[1], &l->at.at[0], (l->at.n - 1) * sizeof(l->at.at[0]));
	l->at.at[0] = t;
}

/* Whether others of the settings depend on the trigger, which then has to stay. */
static bool is_needed(const struct event_trigger *t, const struct trigger_context *c)
{
	return t->kind->ops->needed && t->kind->ops->needed(t, c);
}

/* Adds the trigger, or removes those that exclude it. A removal of what is not there is no error,
 * as in the kernel. */
static int apply_trigger(struct trigger_list *l, struct event_trigger *t,
			 const struct trigger_line *line, struct filter_fault *fault)
{
	int same = find_excluding(l, t), r = 0;

	if (line->remove) {
		if (same >= 0 && is_needed(l->at.at[same], line->context))
			return -EBUSY;
		take_out(l, same);
		return 0;
	}
	if (t->kind->ops->meet)
		r = t->kind->ops->meet(t, same >= 0 ? l->at.at[same] : NULL, line, fault);
	else if (same >= 0)
		r = -EEXIST;
	if (r == 0)
		put_in(l, t, same);
	return r;
}

int trigger_write(struct trigger_list *l, const struct event_format *e, const char *line,
		  const struct trigger_context *c, struct filter_fault *fault)
{
	struct part rest = strip_line(line), whole = rest, name = split_part(&rest, ": \t");
	bool remove = name.n && *name.at == '!';
	const struct trigger_kind *kind =
		kind_named(c->kinds, (struct part){ name.at + remove, name.n - remove });
	struct trigger_line of = { .event = e,
				   .context = c,
				   .whole = whole.at + remove,
				   .whole_n = whole.n - remove,
				   .remove = remove };
	struct event_trigger *t;
	int r;

	*fault = (struct filter_fault){ 0 };
	if (strlen(line) >= FILTER_TEXT_MAX || !kind)
		return -EINVAL;
	t = trigger_new(kind);
	rest = strip_front(rest);
	of.rest = rest.at;
	of.n = rest.n;
	r = kind->ops->parse(t, &of, fault);
	if (r == 0)
		r = apply_trigger(l, t, &of, fault);
	/* The trigger of a removal only told which one was meant. */
	if (r < 0 || remove)
		trigger_free(t);
	return r;
}

void trigger_list_wipe(struct trigger_list *l, const struct trigger_context *c)
{
	for (size_t i = 0; i < l->at.n; i++)
		/* All or none are wiped: one that has to stay keeps the others. */
		if (is_needed(l->at.at[i], c))
			return;
	for (size_t i = l->at.n; i-- > 0;)
		if (l->at.at[i]->kind->wiped)
			take_out(l, (int)i);
}

static void show_trigger(FILE *to, const struct event_trigger *t)
{
	t->kind->ops->show(t, to);
	fputc('\n', to);
}

/* An event without triggers shows which there are, as in ftrace. */
static void show_kinds(FILE *to, const struct trigger_kinds *more)
{
	fputs("# Available triggers:\n#", to);
	for (size_t i = 0; i < KINDS; i++)
		if (!kinds[i].unlisted)
			fprintf(to, " %s", kinds[i].name);
	for (size_t i = 0; more && i < more->n; i++)
		fprintf(to, " %s", more->at[i].name);
	fputc('\n', to);
}

char *trigger_line(const struct event_trigger *t)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	show_trigger(to, t);
	mem_stream_close(to, &text);
	return text;
}

char *trigger_read(const struct trigger_list *l, const struct trigger_kinds *more)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	for (size_t i = l->at.n; i-- > 0;)
		show_trigger(to, l->at.at[i]);
	if (!l->at.n)
		show_kinds(to, more);
	mem_stream_close(to, &text);
	return text;
}

void trigger_list_free(struct trigger_list *l)
{
	for (size_t i = 0; i < l->at.n; i++)
		trigger_free(l->at.at[i]);
	vec_free(&l->at);
}

void trigger_list_copy(struct trigger_list *to, const struct trigger_list *from)
{
	*to = (struct trigger_list){ 0 };
	for (size_t i = 0; i < from->at.n; i++) {
		/* Relaxed: `from` has a use, so the trigger stays. */
		atomic_fetch_add_explicit(&from->at.at[i]->users, 1, memory_order_relaxed);
		*vec_add(&to->at) = from->at.at[i];
	}
}

bool trigger_due(struct event_trigger *t, bool already)
{
	/* Relaxed, and test and decrement need not be one step: one thread runs the triggers of an
	 * event, and readers of the file `trigger` want nothing but the number. */
	const unsigned long count = atomic_load_explicit(&t->count, memory_order_relaxed);

	if (!count || (t->kind->sets_state && already))
		return false;
	if (count != TRIGGER_UNLIMITED)
		atomic_store_explicit(&t->count, count - 1, memory_order_relaxed);
	return true;
}
