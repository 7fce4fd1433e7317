/* SPDX-License-Identifier: MIT */
/* uprobe_events, kprobe_events and synthetic_events, which define events at instructions of
 * files, at functions and synthetic ones, list them and remove them, and dynamic_events, which
 * does all. Any thread; the top's events_lock protects what is defined against instances that
 * begin to use it (dynamic_events_claim). A line that fails leaves those before it done. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/synthetic.h"
#include "image/dynamic_probes.h"
#include "image/source_probe.h"
#include "tree/instance_internal.h"

/* The kernel's names for the parsers, in the error_log. */
#define PROBE_LOCATION "trace_uprobe"
#define FUNCTION_LOCATION "trace_kprobe"
#define SYNTHETIC_LOCATION "synthetic_events"
#define EPROBE_LOCATION "event_probe"
#define FPROBE_LOCATION "trace_fprobe"

/* The kernel's sentence of a name that an event of another letter has. */
#define OTHER_TYPE "Probe type is different from existing probe"

/* Functions that one line may define an event at. */
#define FUNCTIONS_MOST 1000

/* The events that a file is about. */
enum defined_kind {
	DEFINED_PROBES = 1, DEFINED_SYNTHETIC = 2, DEFINED_FUNCTIONS = 4, DEFINED_EPROBES = 8,
	DEFINED_FPROBES = 16, DEFINED_ALL = 31
};

/* Definitions are common to all instances: the top one has them. */
static struct instance *top_of(const struct instance *in)
{
	return instance_top(in->tree);
}

static enum defined_kind kind_of(const struct event_entry *e)
{
	return e->eprobe	  ? DEFINED_EPROBES
	       : !e->probe	  ? DEFINED_SYNTHETIC
	       : e->probe->fprobe ? DEFINED_FPROBES
	       : e->probe->symbol ? DEFINED_FUNCTIONS
				  : DEFINED_PROBES;
}

/* Whether somebody defined the event, it is still there, and of the kind. */
static bool is_defined(const struct event_entry *e, enum defined_kind kind)
{
	return e->defined && !events_is_gone(e) && kind & kind_of(e);
}

/* Returns the place and the arguments, " PATH:OFFSET ARGUMENT..." or " SYMBOL ARGUMENT...", as the
 * kernel writes them; the caller frees them. */
static char *text_of_probe(const struct probe_definition *d)
{
	if (d->symbol)
		return mem_printf(" %s%s%s", d->symbol, d->fprobe && d->returns ? "%return" : "",
				  d->arguments);
	return mem_printf(" %s:0x%016llx%s", d->path, (unsigned long long)d->offset, d->arguments);
}

/* A definition: an event, or of a probe one of its places. */
struct defined { const struct event_entry *event; const struct probe_definition *place; };
typedef VEC(struct defined) defined_list;

/* Adds the event's definitions. */
static void add_definitions(defined_list *l, const struct event_entry *e)
{
	const struct probe_definition *d = e->probe ? probe_definition_first(e->probe) : NULL;

	if (!e->probe)
		*vec_add(l) = (struct defined){ e, NULL };
	for (; d; d = probe_definition_next(d))
		*vec_add(l) = (struct defined){ e, d };
}

static uint64_t order_of(const struct defined *d)
{
	return d->place ? d->place->order : d->event->order;
}

static int by_order(const void *a, const void *b)
{
	return order_of(a) < order_of(b) ? -1 : order_of(a) > order_of(b);
}

/* Returns what is defined, in the order in which it was; vec_free() it. */
static defined_list list_defined(struct event_catalogue *c, enum defined_kind kind)
{
	defined_list l = { 0 };
	uint32_t n = events_n(c);

	for (uint32_t i = 0; i < n; i++)
		if (is_defined(events_at(c, i), kind))
			add_definitions(&l, events_at(c, i));
	if (l.n)
		qsort(l.at, l.n, sizeof(l.at[0]), by_order);
	return l;
}

/* Returns what stands behind the event's name, as the kernel writes it; NULL: a synthetic event's
 * text is of another form. */
static char *listing_of(const struct defined *d)
{
	return d->place ? text_of_probe(d->place)
			: d->event->eprobe ? eprobe_text(d->event->eprobe) : NULL;
}

/* The letter with which the definition begins. */
static char letter_of(const struct defined *d)
{
	if (d->event->eprobe)
		return d->event->eprobe->tracepoint ? 't' : 'e';
	return d->event->probe->fprobe ? 'f' : d->place->returns ? 'r' : 'p';
}

/* Shows a line that defines the event. Probes and events on events have a letter before theirs
 * everywhere, synthetic events only in dynamic_events. */
static void show_event(const struct defined *d, enum defined_kind kind, struct out *text)
{
	const struct event_entry *e = d->event;
	char *listed = listing_of(d);

	if (listed) {
		out_char(text, letter_of(d));
		if (d->place && d->place->active)
			out_printf(text, "%u", d->place->active);
		out_printf(text, ":%s/%s%s\n", e->format->system, e->format->name, listed);
		free(listed);
		return;
	}
	if (kind == DEFINED_ALL)
		out_printf(text, "s:%s/", e->format->system);
	synthetic_show(e->format, text);
	out_char(text, '\n');
}

/* Lists what is defined, in the order in which it was; a line can be written back. */
static int show_defined(struct tree_file *f, enum defined_kind kind, struct out *text)
{
	defined_list l = list_defined(((struct instance *)f->owner)->events, kind);

	for (size_t i = 0; i < l.n; i++)
		if (!l.at[i].place || !l.at[i].place->follows)
			show_event(&l.at[i], kind, text);
	vec_free(&l);
	return 0;
}

static int show_probes(struct tree_file *f, struct out *text, struct err *err)
{
	return show_defined(f, DEFINED_PROBES, text);
}

static int show_functions(struct tree_file *f, struct out *text, struct err *err)
{
	return show_defined(f, DEFINED_FUNCTIONS, text);
}

static int show_synthetic(struct tree_file *f, struct out *text, struct err *err)
{
	return show_defined(f, DEFINED_SYNTHETIC, text);
}

static int show_all(struct tree_file *f, struct out *text, struct err *err)
{
	return show_defined(f, DEFINED_ALL, text);
}

/* --- hits ----------------------------------------------------------------------------------- */

static uint64_t hits_of(struct instance *top, uint32_t index)
{
	struct tree_target t = instance_lock(top);
	uint64_t n = t.ops->hits ? t.ops->hits(t.arg, index) : 0;

	instance_unlock(top);
	return n;
}

/* Shows how often each event was recorded, at all of its places; of functions also how often it was
 * missed, which nobody knows of a single event. */
static int show_hits(struct tree_file *f, enum defined_kind kind, struct out *text)
{
	struct instance *top = top_of((struct instance *)f->owner);
	uint32_t n = events_n(top->events);

	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(top->events, i);

		if (!is_defined(e, kind))
			continue;
		if (kind == DEFINED_FUNCTIONS)
			out_printf(text, "  %-44s %15llu %15u\n", e->format->name,
				   (unsigned long long)hits_of(top, i), 0);
		else
			out_printf(text, "  %s %-44s %15llu\n", e->probe->path, e->format->name,
				   (unsigned long long)hits_of(top, i));
	}
	return 0;
}

static int show_function_hits(struct tree_file *f, struct out *text, struct err *err)
{
	return show_hits(f, DEFINED_FUNCTIONS, text);
}

static int show_probe_hits(struct tree_file *f, struct out *text, struct err *err)
{
	return show_hits(f, DEFINED_PROBES, text);
}

const struct tree_file_ops kprobe_profile_file = { .show = show_function_hits };
const struct tree_file_ops uprobe_profile_file = { .show = show_probe_hits };

/* --- use ------------------------------------------------------------------------------------ */

/* With events_lock. */
static bool claims(const struct instance *in, uint32_t index)
{
	for (size_t i = 0; i < in->claimed.n; i++)
		if (in->claimed.at[i] == index)
			return true;
	return false;
}

/* Whether some instance records the event, or may, or an event is made of it that does not go with
 * it. With events_lock. */
static bool is_used(const struct instance *top, const struct event_entry *e, bool with_made)
{
	for (const struct instance *in = top; in; in = in->next)
		if (claims(in, e->index))
			return true;
	return !with_made && events_has_eprobes(top->events, e);
}

/* event_trigger's makes(): notes an event that a trigger makes records of. */
static void claim_made(void *arg, uint32_t index)
{
	struct instance *in = arg;

	if (!claims(in, index))
		*vec_add(&in->claimed) = index;
}

/* Claims what triggers make records of: these events are in use without being enabled. */
static void claim_all_made(struct instance *in, const struct event_setting *s)
{
	for (size_t i = 0; i < s->triggers.at.n; i++) {
		const struct event_trigger *t = s->triggers.at.at[i];

		if (t->kind->ops->makes)
			t->kind->ops->makes(t, claim_made, in);
	}
}

int dynamic_events_claim(struct instance *in, const struct event_set *set, struct err *err)
{
	struct instance *top = top_of(in);
	uint32_t n;
	int r = 0;

	pthread_mutex_lock(&top->events_lock);
	/* The settings are others now: what the former ones used is free. */
	in->claimed.n = 0;
	for (size_t i = 0; i < set->at.n; i++)
		claim_all_made(in, &set->at.at[i]);
	n = set->catalogue ? events_n(set->catalogue) : 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct event_entry *e = events_at(set->catalogue, i);

		if (!e->defined || !event_set_armed(set, i))
			continue;
		if (events_is_gone(e))
			r = err_set(err, ENODEV, "the event %s:%s was removed", e->format->system,
				    e->format->name);
		else
			*vec_add(&in->claimed) = e->index;
	}
	pthread_mutex_unlock(&top->events_lock);
	return r;
}

/* --- removal -------------------------------------------------------------------------------- */

/* Events to be removed. group NULL: of any; event NULL: all of the group, but for synthetic ones,
 * which the kernel does not find so. */
struct removal {
	enum defined_kind kind;
	const char *group, *event;
	const char *listed;     /* NULL: any; else only probes whose listing begins so, in words */
	bool all_or_none;       /* nothing goes if one is in use; else those before it are gone */
};

/* Whether it is listed with these words behind the event's name, and perhaps more. What an event is
 * made of may be written SYSTEM/EVENT, too. Of synthetic events the words are not looked at, as in
 * the kernel. */
static bool is_listed(const struct defined *d, const char *words)
{
	char *listed = listing_of(d), *wanted = mem_strdup(words), *slash = strchr(wanted, '/');
	size_t n = strlen(words);
	bool is;

	if (d->event->eprobe && slash)
		*slash = '.';
	is = !listed || (!strncmp(listed, wanted, n) && (!listed[n] || listed[n] == ' '));
	free(listed);
	free(wanted);
	return is;
}

static bool is_named(const struct event_entry *e, const struct removal *what)
{
	return is_defined(e, what->kind) &&
	       (!what->group || !strcmp(e->format->system, what->group)) &&
	       (what->event ? !strcmp(e->format->name, what->event)
			    : e->probe || e->eprobe || what->all_or_none);
}

/* Notes the event's definitions that are to go. True: these are all. */
static bool find_named(const struct event_entry *e, const struct removal *what, defined_list *go)
{
	defined_list all = { 0 };
	size_t before = go->n;
	bool is_all;

	if (!is_named(e, what))
		return false;
	add_definitions(&all, e);
	for (size_t i = 0; i < all.n; i++)
		if (!what->listed || is_listed(&all.at[i], what->listed))
			*vec_add(go) = all.at[i];
	is_all = go->n - before == all.n;
	vec_free(&all);
	return is_all;
}

/* Removes the event, and its directories. With events_lock. */
static void remove_event(struct instance *top, const struct event_entry *e)
{
	events_remove(top->events, e);
	for (struct instance *in = top; in; in = in->next)
		event_files_remove(in, e);
}

static int refuse_removal(const struct instance *top, const struct event_entry *e, struct err *err)
{
	return err_set(err, EBUSY, "%s:%s is in use: %s first", e->format->system, e->format->name,
		       events_has_eprobes(top->events, e) ? "remove the events on its fields"
							   : "disable it");
}

/* Removes what is named of one event, or, with `only_look`, would do so. Returns how many, or
 * -EBUSY and *err. With events_lock. */
static int remove_of_event(struct instance *top, const struct event_entry *e,
			   const struct removal *what, bool only_look, struct err *err)
{
	defined_list go = { 0 };
	bool all = find_named(e, what, &go);
	int n = (int)go.n;

	if (n && is_used(top, e, what->all_or_none && what->kind & DEFINED_EPROBES))
		n = refuse_removal(top, e, err);
	else if (n && all && !only_look)
		remove_event(top, e);
	for (size_t i = 0; n > 0 && !all && !only_look && i < go.n; i++)
		events_remove_place(top->events, e, go.at[i].place);
	vec_free(&go);
	return n;
}

/* Removes what is named. Returns how many, or -EBUSY and *err. */
static int remove_named(struct instance *top, const struct removal *what, struct err *err)
{
	uint32_t n;
	int removed = 0, r = 0;

	pthread_mutex_lock(&top->events_lock);
	n = events_n(top->events);
	/* Pass 0 only looks, so that all or none can go. */
	for (unsigned pass = what->all_or_none ? 0 : 1; pass < 2 && r >= 0; pass++) {
		for (uint32_t i = 0; i < n && r >= 0; i++) {
			r = remove_of_event(top, events_at(top->events, i), what, !pass, err);
			removed += r > 0 && pass ? r : 0;
		}
	}
	pthread_mutex_unlock(&top->events_lock);
	return r < 0 ? r : removed;
}

/* `> uprobe_events` and its like remove all. */
static int clear_defined(struct tree_file *f, enum defined_kind kind, struct err *err)
{
	const struct removal all = { .kind = kind, .all_or_none = true };
	int r = remove_named(top_of((struct instance *)f->owner), &all, err);

	return r < 0 ? r : 0;
}

static int clear_probes(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_PROBES, err);
}

static int clear_functions(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_FUNCTIONS, err);
}

static int clear_synthetic(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_SYNTHETIC, err);
}

static int clear_all(struct tree_file *f, struct err *err)
{
	return clear_defined(f, DEFINED_ALL, err);
}

/* Removes what a line names: nothing to remove is a mistake of the line. */
static int remove_event_of(struct instance *top, const struct removal *what, const char *line,
			   struct err *err)
{
	struct err why;
	int r = remove_named(top, what, &why);

	if (r < 0)
		return err_at(err, -r, line, 0, "%s", why.text);
	return r ? 0 : err_at(err, ENOENT, line, 0, "there is no such event to remove");
}

/* --- lines ---------------------------------------------------------------------------------- */

/* The event's directory would stand where the tree has a file of its own. */
static int check_name(const char *group, const char *event, const char *line, size_t column,
		      struct err *err)
{
	if (!event_files_have(group, event))
		return 0;
	return err_at(err, EEXIST, line, column,
		      "a file in events has this name already: name the event otherwise");
}

/* Takes a line apart whose place is a function of the target's programs. */
static int parse_function(struct instance *top, const char *line, struct probe_command *c,
			  struct err *err)
{
	struct tree_target t = instance_lock(top);
	const struct probe_symbols symbols = { t.ops->find_symbol, t.ops->find_object,
					       t.ops->find_argument, t.ops->find_parameters,
					       t.arg };
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
	if (events_is_gone(e) || is_used(top, e, true)) {
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

static int define_probe(struct instance *top, struct probe_command *c, const char *line,
			struct err *err)
{
	const struct event_entry *append,
		*other = events_find(top->events, c->group, c->event);
	int r;

	if (c->definition->fprobe && other && other->eprobe && other->eprobe->tracepoint)
		return err_at(err, EEXIST, line, 0, "%s", OTHER_TYPE);
	r = dynamic_probes_define(top->events, c, line, &append, err);

	return r == 0 && append ? add_place(top, append, c, line, err) : r;
}

/* Runs a line of uprobe_events or kprobe_events: it defines a probe, removes one, or, empty, does
 * nothing. */
static int run_kernel_line(struct instance *top, const char *line, enum defined_kind kind,
			   struct err *err)
{
	struct probe_command c;
	bool of_file = kind == DEFINED_PROBES ||
		       (probe_command_is_of_file(line) && !probe_command_is_fprobe(line));
	int r = of_file ? probe_command_parse(line, &c, err) : parse_function(top, line, &c, err);
	const struct removal what = { .kind = kind, .group = c.group, .event = c.event,
				      .listed = c.listed };

	if (r < 0)
		return r;
	/* Names that the line does not give are never a file's: the column is right. */
	if (c.action == PROBE_DEFINE)
		r = check_name(c.group, c.event, line, strcspn(line, ":") + 1, err);
	if (r == 0 && c.action == PROBE_DEFINE) {
		hits_of(top, 0); /* they are counted from now on */
		r = define_probe(top, &c, line, err);
	}
	else if (c.action == PROBE_REMOVE)
		r = remove_event_of(top, &what, line, err);
	probe_command_free(&c);
	return r;
}

/* Removes what a line defined. */
static void undo_line(struct instance *top, const char *line)
{
	struct probe_command c;
	struct removal what = { .kind = DEFINED_PROBES };
	struct err ignored;
	char *listed;

	if (probe_command_parse(line, &c, &ignored) < 0)
		return;
	listed = text_of_probe(c.definition);
	what.group = c.group;
	what.event = c.event;
	what.listed = listed;
	remove_named(top, &what, &ignored);
	free(listed);
	probe_command_free(&c);
}

/* Runs a line that may have the source's words: it stands for one line of the kernel's, or for
 * several, of which all are defined or none. */
static int run_probe(struct instance *top, const char *line, enum defined_kind kind,
		     struct err *err)
{
	source_lines lines;
	struct err why;
	int n = kind == DEFINED_FUNCTIONS ? 0 : source_probe_line(line, &lines, err), r = 0;

	if (n <= 0)
		return n < 0 ? n : run_kernel_line(top, line, kind, err);
	for (size_t i = 0; i < lines.n && r == 0; i++) {
		const struct source_line *l = &lines.at[i];

		r = run_kernel_line(top, l->line, kind, &why);
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

/* --- f: one function or many ----------------------------------------------------------------- */

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
		*vec_add(&f->others) = mem_printf("%.*s:%s", (int)strcspn(module + 2, "]"),
						  module + 2, line);
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
	size_t at, n;           /* the pattern */
	/* Of the first function that has a probe, what removes it, and all that follow; else
	 * NULL. */
	char *group, *event, *listed;
};

/* Notes how the places of the line are removed. */
static void note_listed(struct fprobe_line *l, const struct probe_command *c)
{
	l->group = mem_strdup(c->group);
	l->event = mem_strdup(c->event);
	l->listed = text_of_probe(c->definition);
}

/* Removes the places that were defined so far. */
static void undo_functions(struct instance *top, const struct fprobe_line *l)
{
	const struct removal what = { .kind = DEFINED_FPROBES, .group = l->group,
				      .event = l->event, .listed = l->listed };
	struct err ignored;

	if (l->listed)
		remove_named(top, &what, &ignored);
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
	int r = parse_function(top, line, &c, &why);

	if (r == 0) {
		free(c.definition->symbol);
		c.definition->symbol = mem_strndup(l->line + l->at, l->n);
		c.definition->follows = l->listed;
		note_listed(&made, &c);
		r = check_name(c.group, c.event, line, strcspn(line, ":") + 1, &why);
		if (r == 0)
			r = define_probe(top, &c, line, &why);
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
	char *text = mem_printf("%zu of %zu functions are left out, the first one: %s", left_out,
				n, why->text);

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

/* Runs a line with f. */
static int run_fprobe(struct instance *top, const char *line, struct err *err)
{
	size_t head = strcspn(line, " \t"), at = head + strspn(line + head, " \t"),
	       n = strcspn(line + at, " \t%");
	struct fprobe_line l = { .line = line, .at = at, .n = n };
	struct found_functions found = { 0 };
	int r;

	if (!n || strcspn(line + at, "*?[") >= n)
		return run_kernel_line(top, line, DEFINED_ALL, err);
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

/* The kernel looks for the name in the line. */
static size_t column_of(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? (size_t)(at - line) : 0;
}

static int define_synthetic(struct instance *top, const struct synthetic_command *c,
			    const char *line, struct err *err)
{
	const struct event_entry *entry;
	struct err why;
	int r = check_name(SYNTHETIC_SYSTEM, c->name, line, column_of(line, c->name), err);

	if (r < 0)
		return r;
	r = events_define(top->events, &synthetic_provider, c->format, &entry, &why);
	if (r == 0)
		return 0;
	return err_at(err, -r, line, column_of(line, c->name), "%s",
		      r == -EEXIST ? "Event already exists" : why.text);
}

/* Runs a line of synthetic_events; dynamic: of dynamic_events, where `s:` stands before it. */
static int run_synthetic(struct instance *top, const char *line, bool dynamic, struct err *err)
{
	struct synthetic_command c;
	int r = dynamic ? synthetic_command_parse_dynamic(line, &c, err)
			: synthetic_command_parse(line, &c, err);
	const struct removal what = { .kind = DEFINED_SYNTHETIC,
				      .group = SYNTHETIC_SYSTEM,
				      .event = c.name };

	if (r < 0)
		return r;
	if (c.action == SYNTHETIC_DEFINE)
		r = define_synthetic(top, &c, line, err);
	else if (c.action == SYNTHETIC_REMOVE)
		r = remove_event_of(top, &what, line, err);
	synthetic_command_free(&c);
	return r;
}

/* The error_log's entry for a line that failed. */
struct blame {
	const char *location;
	char *text;             /* NULL: the line */
	size_t column;          /* in it; it may be behind its end */
};

/* Refuses a tracepoint's event whose name is taken, in the kernel's words. */
static int check_tprobe(struct instance *top, const struct eprobe_command *c, const char *line,
			struct err *err)
{
	const struct event_entry *other = events_find(top->events, c->group, c->event);
	const char *what = "There is already the exact same probe event";
	int r;

	if (!other || (!other->eprobe && !(other->probe && other->probe->fprobe)))
		return 0;
	if (!other->eprobe || !other->eprobe->tracepoint)
		return err_at(err, EEXIST, line, 0, "%s", OTHER_TYPE);
	r = dynamic_probes_alike(other, c->format, 1, line, err);
	if (r < 0)
		return r;
	if (other->eprobe->base != c->eprobe->base)
		what = "an event has one tracepoint: name this one otherwise";
	return err_at(err, EEXIST, line, 0, "%s", what);
}

/* Runs a line that defines an event on another event's records. *blame is filled if it fails. */
static int run_eprobe(struct instance *top, const char *line, struct blame *blame, struct err *err)
{
	bool tracepoint = tprobe_command_is(line);
	struct eprobe_command c;
	int r = (tracepoint ? tprobe_command_parse : eprobe_command_parse)(line, top->events, &c,
									   err);
	struct err why;

	if (r == 0)
		r = check_name(c.group, c.event, line, 0, err);
	if (r == 0 && tracepoint) {
		r = check_tprobe(top, &c, line, err);
		c.column = r < 0 ? err->column : 0;
	}
	if (r == 0) {
		r = events_add_eprobe(top->events, c.group, c.format, c.eprobe, &why);
		c.eprobe = NULL;
		if (r < 0)
			err_at(err, -r, line, 0, "%s", why.text);
	}
	*blame = (struct blame){ c.filter     ? FILTER_FAULT_LOCATION
				 : tracepoint ? FPROBE_LOCATION
					      : EPROBE_LOCATION,
				 c.filter, c.column };
	c.filter = NULL;
	eprobe_command_free(&c);
	return r;
}

/* `!ANYTHING:[GRP/]EVENT ...` is another way to write `-:[GRP/]EVENT ...`. */
static int run_negated(struct instance *top, const char *line, enum defined_kind kind,
		       struct err *err)
{
	const char *name = strchr(line, ':');
	struct err why;
	char *removal;
	int r;

	if (!name)
		return err_at(err, EINVAL, line, 0, "a removal names the event: -:[GRP/]EVENT");
	removal = mem_printf("-%s", name);
	r = run_probe(top, removal, kind, &why);
	if (r < 0)
		err_at(err, -r, line, 0, "%s", why.text);
	free(removal);
	return r;
}

/* Runs a line. *blame is filled if it fails. */
static int run_line(struct instance *top, const char *line, enum defined_kind kind,
		    struct blame *blame, struct err *err)
{
	bool dynamic = kind == DEFINED_ALL && !strncmp(line, "s:", 2);
	int r;

	if (kind == DEFINED_ALL && (eprobe_command_is(line) || tprobe_command_is(line)))
		return run_eprobe(top, line, blame, err);
	if (kind == DEFINED_ALL && probe_command_is_fprobe(line)) {
		r = run_fprobe(top, line, err);
		*blame = (struct blame){ .location = FPROBE_LOCATION, .column = err->column };
		return r;
	}
	*blame = (struct blame){ .location = SYNTHETIC_LOCATION };
	if (!dynamic && kind != DEFINED_SYNTHETIC) {
		blame->location = kind == DEFINED_FUNCTIONS || !probe_command_is_of_file(line)
				    ? FUNCTION_LOCATION
				    : PROBE_LOCATION;
		r = *line == '!' ? run_negated(top, line, kind, err)
				 : run_probe(top, line, kind, err);
		blame->column = err->column;
		return r;
	}
	if (strlen(line) > PROBE_LINE_MAX)
		return err_set(err, EINVAL, "a line has at most %u characters", PROBE_LINE_MAX);
	r = run_synthetic(top, line, dynamic, err);
	blame->column = err->column;
	return r;
}

/* Returns the next line, to be freed: without a comment, and without blanks at its begin. */
static char *next_line(const char *text, size_t *at)
{
	size_t end = *at + strcspn(text + *at, "\n"), bare;
	const char *begin = text + *at;

	while (begin < text + end && isspace((unsigned char)*begin))
		begin++;
	*at = end + 1;
	bare = (size_t)(text + end - begin);
	return mem_strndup(begin, strcspn(begin, "#") < bare ? strcspn(begin, "#") : bare);
}

/* Runs line by line. The error_log gets the line that failed, not the whole write. */
static ssize_t write_defined(struct tree_file *f, const char *text, size_t n,
			     enum defined_kind kind, struct err *err)
{
	struct instance *in = (struct instance *)f->owner;
	int r = 0;

	for (size_t at = 0; at < n && r == 0;) {
		char *line = next_line(text, &at);
		struct blame blame;

		r = run_line(top_of(in), line, kind, &blame, err);
		if (r < 0) {
			const char *of = blame.text ? blame.text : line;

			instance_log(in, blame.location, err->text, of, strlen(of), blame.column);
			f->told = true;
		}
		free(blame.text);
		free(line);
	}
	return r < 0 ? r : (ssize_t)n;
}

static ssize_t write_probes(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_PROBES, err);
}

static ssize_t write_functions(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_FUNCTIONS, err);
}

static ssize_t write_synthetic(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_SYNTHETIC, err);
}

static ssize_t write_all(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	return write_defined(f, text, n, DEFINED_ALL, err);
}

const struct tree_file_ops uprobe_events_file = {
	.location = PROBE_LOCATION, .truncate = clear_probes, .show = show_probes,
	.write = write_probes,
};

const struct tree_file_ops kprobe_events_file = {
	.location = FUNCTION_LOCATION, .truncate = clear_functions, .show = show_functions,
	.write = write_functions,
};

const struct tree_file_ops synthetic_events_file = {
	.location = SYNTHETIC_LOCATION, .truncate = clear_synthetic, .show = show_synthetic,
	.write = write_synthetic,
};

const struct tree_file_ops dynamic_events_file = {
	.location = PROBE_LOCATION, .truncate = clear_all, .show = show_all,
	.write = write_all,
};
