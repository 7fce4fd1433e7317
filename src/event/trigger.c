/* SPDX-License-Identifier: MIT */
/* The `trigger` files. */
#include "event/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { SLOT_ONOFF, SLOT_SNAPSHOT, SLOT_STACKTRACE, SLOT_ENABLE };

static const struct trigger_kind kinds[] = {
	{ "traceon", TRIGGER_TRACEON, SLOT_ONOFF, .settles = true },
	{ "traceoff", TRIGGER_TRACEOFF, SLOT_ONOFF, .settles = true },
	{ "snapshot", TRIGGER_SNAPSHOT, SLOT_SNAPSHOT, .switches = false },
	{ "stacktrace", TRIGGER_STACKTRACE, SLOT_STACKTRACE, .after = true },
	{ "enable_event", TRIGGER_ENABLE, SLOT_ENABLE, .switches = true, .settles = true },
	{ "disable_event", TRIGGER_DISABLE, SLOT_ENABLE, .switches = true, .settles = true },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A part of the line. at NULL: it is not there. */
struct part {
	const char *at;
	size_t n;
};

/* Takes what stands before the first of the characters off the front of *rest; *rest is then behind that one, or
 * not there. */
static struct part split(struct part *rest, const char *ends_at)
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

static struct part strip(const char *line)
{
	struct part p;

	while (isspace((unsigned char)*line))
		line++;
	p = (struct part){ line, strlen(line) };
	while (p.n && isspace((unsigned char)p.at[p.n - 1]))
		p.n--;
	return p;
}

/* Without blanks before it; empty is not there. */
static struct part present(struct part p)
{
	while (p.n && isspace((unsigned char)*p.at)) {
		p.at++;
		p.n--;
	}
	return p.n ? p : (struct part){ NULL, 0 };
}

static bool equal(struct part p, const char *word)
{
	return p.n == strlen(word) && !memcmp(p.at, word, p.n);
}

static const struct trigger_kind *kind_named(struct part name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (equal(name, kinds[i].name))
			return &kinds[i];
	return NULL;
}

static void trigger_free(struct event_trigger *t)
{
	if (--t->users)
		return;
	free(t->system);
	free(t->event);
	free(t->filter);
	free(t->program);
	free(t);
}

static struct event_trigger *trigger_new(const struct trigger_kind *kind)
{
	struct event_trigger *t = mem_zalloc(sizeof(*t));

	t->kind = kind;
	t->count = TRIGGER_UNLIMITED;
	t->users = 1;
	return t;
}

/* "SYSTEM:EVENT[:...]" off the front of the parameters. */
static int target(struct event_trigger *t, struct part *parameters, const struct trigger_context *c)
{
	struct part system = split(parameters, ":"), event = split(parameters, ":");

	if (!event.at)
		return -EINVAL;
	t->system = mem_strndup(system.at, system.n);
	t->event = mem_strndup(event.at, event.n);
	return c->event_exists && c->event_exists(c->filter.arg, t->system, t->event) ? 0 : -EINVAL;
}

/* An unsigned long in C's notations, all of the part. */
static int count(struct event_trigger *t, struct part parameters)
{
	struct part number = split(&parameters, ":");
	char *text, *end;
	int r = 0;

	if (!number.at)
		return 0;
	if (!number.n || !isdigit((unsigned char)*number.at))
		return -EINVAL;
	text = mem_strndup(number.at, number.n);
	errno = 0;
	t->count = strtoul(text, &end, 0);
	if (*end || errno)
		r = *end ? -EINVAL : -ERANGE;
	free(text);
	return r;
}

/* "if FILTER" */
static int filter(struct event_trigger *t, const struct event_format *e, struct part text,
		  const struct trigger_context *c, struct filter_fault *fault)
{
	struct part word = split(&text, " \t");
	int r;

	if (!word.at)
		return 0;
	if (!equal(word, "if") || !text.at)
		return -EINVAL;
	r = filter_compile(e, text.at, text.n, &c->filter, &t->program, fault);
	if (r == 0)
		t->filter = mem_strndup(text.at, text.n);
	return r;
}

/* The trigger of l that stands where t would; -1: none. */
static int taken(const struct trigger_list *l, const struct event_trigger *t)
{
	for (size_t i = 0; i < l->at.n; i++) {
		const struct event_trigger *other = l->at.at[i];

		if (other->kind->slot == t->kind->slot &&
		    (!t->kind->switches || (!strcmp(other->system, t->system) && !strcmp(other->event, t->event))))
			return (int)i;
	}
	return -1;
}

static void take_out(struct trigger_list *l, int i)
{
	if (i < 0)
		return;
	trigger_free(l->at.at[i]);
	l->at.n--;
	memmove(&l->at.at[i], &l->at.at[i + 1], (l->at.n - (size_t)i) * sizeof(l->at.at[0]));
}

/* What follows the name: parameters (behind a `:` or a blank) if they begin with a digit or have to be there, then
 * the filter. */
static int parse(struct event_trigger *t, const struct event_format *e, struct part rest, bool remove,
		 const struct trigger_context *c, struct filter_fault *fault)
{
	struct part parameters = { NULL, 0 };
	int r;

	if (t->kind->switches && !rest.at)
		return -EINVAL;
	if (rest.at && (t->kind->switches || isdigit((unsigned char)*rest.at)))
		parameters = split(&rest, " \t");
	if (t->kind->switches) {
		r = target(t, &parameters, c);
		if (r < 0)
			return r;
	}
	if (remove)
		return 0;
	r = count(t, parameters);
	return r < 0 ? r : filter(t, e, present(rest), c, fault);
}

int trigger_write(struct trigger_list *l, const struct event_format *e, const char *line,
		  const struct trigger_context *c, struct filter_fault *fault)
{
	struct part rest = strip(line), name = split(&rest, ": \t");
	bool remove = name.n && *name.at == '!';
	const struct trigger_kind *kind = kind_named((struct part){ name.at + remove, name.n - remove });
	struct event_trigger *t;
	int r;

	*fault = (struct filter_fault){ 0 };
	if (strlen(line) >= FILTER_TEXT_MAX || !kind)
		return -EINVAL;
	t = trigger_new(kind);
	r = parse(t, e, present(rest), remove, c, fault);
	if (r == 0 && !remove && taken(l, t) >= 0)
		r = -EEXIST;
	if (r == 0 && remove)
		take_out(l, taken(l, t));
	if (r < 0 || remove)
		trigger_free(t);
	else
		*vec_add(&l->at) = t;
	return r;
}

static void show(FILE *to, const struct event_trigger *t)
{
	fputs(t->kind->name, to);
	if (t->kind->switches)
		fprintf(to, ":%s:%s", t->system, t->event);
	if (t->count == TRIGGER_UNLIMITED)
		fputs(":unlimited", to);
	else
		fprintf(to, ":count=%ld", (long)t->count);
	if (t->filter)
		fprintf(to, " if %s", t->filter);
	fputc('\n', to);
}

static void show_kinds(FILE *to)
{
	fputs("# Available triggers:\n#", to);
	for (size_t i = 0; i < KINDS; i++)
		fprintf(to, " %s", kinds[i].name);
	fputc('\n', to);
}

char *trigger_read(const struct trigger_list *l)
{
	char *text = NULL;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	for (size_t i = l->at.n; i-- > 0;)
		show(to, l->at.at[i]);
	if (!l->at.n)
		show_kinds(to);
	fclose(to);
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
		from->at.at[i]->users++;
		*vec_add(&to->at) = from->at.at[i];
	}
}

bool trigger_due(struct event_trigger *t, bool so)
{
	if (!t->count || (t->kind->settles && so))
		return false;
	if (t->count != TRIGGER_UNLIMITED)
		t->count--;
	return true;
}
