/* SPDX-License-Identifier: MIT */
/* The list of the events that a session knows. Any thread may call: the lock guards the list,
 * entries do not change once they are in it but for `gone`, and none ever leaves it. Adding fails
 * when the name is taken by another format, is no directory's name, or all numbers are taken. */
#include "event/catalogue.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"

/* Entries are allocated one by one, so that pointers to them stay valid when the list grows. */
struct event_catalogue {
	pthread_mutex_t lock;
	VEC(struct event_entry *) entries;
	void *by_name; /* a tree of tsearch(): those that are not gone */
	struct filter_context context;
	const struct trigger_kinds *kinds;
	uint64_t defined;      /* definitions so far */
	void (*grown)(void *arg, const struct event_entry *e);
	void *grown_arg;
};

/* Its events are written by tracers and markers. */
static const struct event_provider ftrace_provider = { .name = "ftrace" };

/* --- by name: programs choose their events' names, and a balanced tree is quick with any ---- */

/* By name first: names are asked for with and without a system. */
static int compare_names(const void *a, const void *b)
{
	const struct event_format *x = ((const struct event_entry *)a)->format;
	const struct event_format *y = ((const struct event_entry *)b)->format;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->system, y->system);
}

/* Returns the event, or NULL. With the lock. */
static struct event_entry *find_event(const struct event_catalogue *c, const char *system,
				      const char *name)
{
	const struct event_format format = { .system = system, .name = name };
	const struct event_entry key = { .format = &format };
	struct event_entry *const *found = tfind(&key, &c->by_name, compare_names);

	return found ? *found : NULL;
}

/* There is no event of that name. With the lock, except in events_new(). */
static void index_event(struct event_catalogue *c, struct event_entry *e)
{
	if (!tsearch(e, &c->by_name, compare_names))
		abort(); /* as mem_zalloc() without memory */
}

/* tdestroy() wants a function. */
static void keep_entry(void *entry)
{
	(void)entry; /* `entries` has it */
}

/* --- the list ------------------------------------------------------------------------------- */

/* Appends an event and takes over `format`. With the lock, except in events_new(). */
static const struct event_entry *append_event(struct event_catalogue *c,
					      const struct event_provider *of,
					      struct event_format *format)
{
	struct event_entry *e = mem_zalloc(sizeof(*e));

	e->index = (uint32_t)c->entries.n;
	if (of != &ftrace_provider)
		format->id = EVENT_ID_FIRST + e->index;
	e->provider = of;
	e->format = format;
	e->text = event_format_read(format);
	*vec_add(&c->entries) = e;
	index_event(c, e);
	return e;
}

/* Goes through the text, so that the copy owns its strings and has passed the parser's checks. The
 * caller frees it. */
static struct event_format *copy_of(const struct event_format *format, struct err *err)
{
	char *text = event_format_read(format);
	struct event_format *copy = event_format_parse(text, strlen(text), format->system, err);

	free(text);
	return copy;
}

/* Builtin events come first and keep ftrace's own ids, which are below EVENT_ID_FIRST. */
struct event_catalogue *events_new(void)
{
	struct event_catalogue *c = mem_zalloc(sizeof(*c));
	size_t n;
	const struct event_format *builtin = event_builtin(&n);

	pthread_mutex_init(&c->lock, NULL);
	for (size_t i = 0; i < n; i++) {
		struct event_format *copy = copy_of(&builtin[i], NULL);

		copy->own = builtin[i].own;
		append_event(c, &ftrace_provider, copy);
	}
	return c;
}

/* Entries last until here: whoever has an index may ask for it without a lock. */
void events_free(struct event_catalogue *c)
{
	tdestroy(c->by_name, keep_entry);
	for (size_t i = 0; i < c->entries.n; i++) {
		struct event_entry *e = c->entries.at[i];

		event_format_free((struct event_format *)e->format);
		free((char *)e->text);
		probe_definition_free((struct probe_definition *)e->probe);
		eprobe_free((struct eprobe *)e->eprobe);
		free(e);
	}
	vec_free(&c->entries);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* True for a name that can be a directory's and a word of set_event, which a terminal shows as it
 * is. */
static bool is_name(const char *name)
{
	if (!*name || *name == '.' || *name == '!' || strlen(name) > 100)
		return false;
	return !name[strcspn(name, "/:*?[]\\ ")] &&
	       escape_line_run(name, strlen(name)) == strlen(name);
}

/* True if the two describe the same record. Both get the same id, since the text contains it. */
static bool is_same_event(const struct event_entry *e, struct event_format *f)
{
	char *text;
	bool is;

	f->id = e->format->id;
	text = event_format_read(f);
	is = !strcmp(text, e->text);
	free(text);
	return is;
}

/* With the lock. After the first time another event may have the name. */
static void forget_event(struct event_catalogue *c, const struct event_entry *e)
{
	if (!events_is_gone(e))
		tdelete(e, &c->by_name, compare_names);
	atomic_store_explicit(&c->entries.at[e->index]->gone, true, memory_order_relaxed);
}

/* Finds or adds the event; with the lock. Returns 1: it is new, and f is taken over; 0: it was
 * there. A defined event has to be new. */
static int enter_event(struct event_catalogue *c, const struct event_provider *of,
		       struct event_format *f, bool defined, const struct event_entry **entry,
		       struct err *err)
{
	*entry = find_event(c, f->system, f->name);
	if (*entry && !defined && (*entry)->provider->yields && of != (*entry)->provider) {
		forget_event(c, *entry);
		*entry = NULL;
	}
	if (*entry && defined)
		return err_set(err, EEXIST,
			       "Given group/event name is already used by another event");
	if (*entry && is_same_event(*entry, f))
		return 0;
	if (*entry)
		return err_set(err, EEXIST, "there is an event %s:%s with other fields already",
			       f->system, f->name);
	if (c->entries.n >= EVENTS_MAX)
		return err_set(err, ENOSPC, "there are %u events already, %s:%s is one too many",
			       EVENTS_MAX, f->system, f->name);
	*entry = append_event(c, of, f);
	return 1;
}

/* The origin of an event: somebody defined it, and with what; each definition may be NULL. */
struct event_origin {
	bool defined;
	struct probe_definition *probe;
	struct eprobe *eprobe;
};

static void drop_origin(const struct event_origin *o)
{
	probe_definition_free(o->probe);
	eprobe_free(o->eprobe);
}

/* Adds f, which it takes over also when it fails, with its definitions, and tells the watcher. */
static int add_event(struct event_catalogue *c, const struct event_provider *of,
		     struct event_format *f, const struct event_origin *origin,
		     const struct event_entry **entry, struct err *err)
{
	void (*grown)(void *arg, const struct event_entry *e);
	void *arg;
	int e;

	if (!is_name(f->system) || !is_name(f->name)) {
		e = err_set(err, EINVAL, "'%s:%s' is no name for an event", f->system, f->name);
		event_format_free(f);
		drop_origin(origin);
		return e;
	}
	pthread_mutex_lock(&c->lock);
	e = enter_event(c, of, f, origin->defined, entry, err);
	if (e == 1) {
		struct event_entry *added = c->entries.at[(*entry)->index];

		added->probe = origin->probe;
		added->eprobe = origin->eprobe;
		added->defined = origin->defined;
		added->order = ++c->defined;
		if (origin->probe)
			origin->probe->order = added->order;
	}
	grown = c->grown;
	arg = c->grown_arg;
	pthread_mutex_unlock(&c->lock);
	if (e != 1) {
		event_format_free(f);
		drop_origin(origin);
	} else if (grown) {
		/* Without the lock: the watcher looks at the catalogue. */
		grown(arg, *entry);
	}
	return e < 0 ? e : 0;
}

/* The text is a program's, or a file's: the parser checks it. 0: it was there already, or is
 * now. */
int events_add(struct event_catalogue *c, const struct event_provider *of, const char *system,
	       const char *text, size_t n, const struct event_entry **entry, struct err *err)
{
	struct event_format *f = event_format_parse(text, n, system, err);

	return f ? add_event(c, of, f, &(struct event_origin){ 0 }, entry, err)
		 : err_code(err, EINVAL);
}

int events_add_format(struct event_catalogue *c, const struct event_provider *of,
		      const struct event_format *format, const struct event_entry **entry,
		      struct err *err)
{
	struct event_format *f = copy_of(format, err);

	return f ? add_event(c, of, f, &(struct event_origin){ 0 }, entry, err)
		 : err_code(err, EINVAL);
}

void events_add_constants(struct event_catalogue *c, const struct event_provider *of,
			  const struct event_format *formats, size_t n)
{
	const struct event_entry *entry;
	struct err ignored;

	for (size_t i = 0; i < n; i++)
		events_add_format(c, of, &formats[i], &entry, &ignored);
}

/* A definition of the user's, which can be removed again. */
int events_define(struct event_catalogue *c, const struct event_provider *of,
		  const struct event_format *format, const struct event_entry **entry,
		  struct err *err)
{
	struct event_format *f = copy_of(format, err);

	return f ? add_event(c, of, f, &(struct event_origin){ .defined = true }, entry, err)
		 : err_code(err, EINVAL);
}

/* Adds a defined event from the text of its format; takes the definitions over. */
static int add_defined(struct event_catalogue *c, const struct event_provider *of,
		       const char *system, const char *text, const struct event_origin *origin,
		       struct err *err)
{
	struct event_format *f = event_format_parse(text, strlen(text), system, err);
	const struct event_entry *entry;

	if (f)
		return add_event(c, of, f, origin, &entry, err);
	drop_origin(origin);
	return err_code(err, EINVAL);
}

/* probe is taken over. */
int events_add_probe(struct event_catalogue *c, const struct event_provider *of,
		     const char *system, const char *text, struct probe_definition *probe,
		     struct err *err)
{
	const struct event_origin origin = { .defined = true, .probe = probe };

	return add_defined(c, of, system, text, &origin, err);
}

/* Readers go through the places without the lock: the new one is whole before it is linked. */
void events_add_place(struct event_catalogue *c, const struct event_entry *e,
		      struct probe_definition *place)
{
	struct probe_definition *last, *next;

	pthread_mutex_lock(&c->lock);
	last = (struct probe_definition *)e->probe;
	/* Relaxed: c->lock orders those that add. */
	while ((next = atomic_load_explicit(&last->next, memory_order_relaxed)))
		last = next;
	place->order = ++c->defined;
	/* Pairs with probe_definition_next(). */
	atomic_store_explicit(&last->next, place, memory_order_release);
	pthread_mutex_unlock(&c->lock);
}

/* The place stays in the list: a reader may stand on it. */
void events_remove_place(struct event_catalogue *c, const struct event_entry *e,
			 const struct probe_definition *place)
{
	struct probe_definition *p = (struct probe_definition *)place;

	pthread_mutex_lock(&c->lock);
	atomic_store_explicit(&p->gone, true, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
}

int events_add_eprobe(struct event_catalogue *c, const char *system, const char *text,
		      struct eprobe *eprobe, struct err *err)
{
	const struct event_origin origin = { .defined = true, .eprobe = eprobe };

	return add_defined(c, &eprobe_provider, system, text, &origin, err);
}

bool events_restore(struct event_catalogue *c, const struct event_entry *e)
{
	bool is_free;

	pthread_mutex_lock(&c->lock);
	is_free = events_is_gone(e) && !find_event(c, e->format->system, e->format->name);
	if (is_free) {
		atomic_store_explicit(&c->entries.at[e->index]->gone, false, memory_order_relaxed);
		index_event(c, c->entries.at[e->index]);
	}
	pthread_mutex_unlock(&c->lock);
	return is_free;
}

/* An event with eprobes on it cannot be removed: their records are made of its own. */
bool events_has_eprobes(struct event_catalogue *c, const struct event_entry *e)
{
	bool has = false;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->entries.n && !has; i++) {
		const struct event_entry *other = c->entries.at[i];

		has = other->eprobe && other->eprobe->base == e && !events_is_gone(other);
	}
	pthread_mutex_unlock(&c->lock);
	return has;
}

/* The number may have grown when the caller uses it; all events below it are there for good. */
uint32_t events_n(struct event_catalogue *c)
{
	uint32_t n;

	pthread_mutex_lock(&c->lock);
	n = (uint32_t)c->entries.n;
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* NULL: no event has this number yet. */
const struct event_entry *events_at(struct event_catalogue *c, uint32_t index)
{
	const struct event_entry *e;

	pthread_mutex_lock(&c->lock);
	e = index < c->entries.n ? c->entries.at[index] : NULL;
	pthread_mutex_unlock(&c->lock);
	return e;
}

/* NULL: there is none, or it is gone. */
const struct event_entry *events_find(struct event_catalogue *c, const char *system,
				      const char *name)
{
	const struct event_entry *e;

	pthread_mutex_lock(&c->lock);
	e = find_event(c, system, name);
	pthread_mutex_unlock(&c->lock);
	return e;
}

/* No lock is needed: `gone` is atomic, and nothing else of an entry changes. */
bool events_can_enable(const struct event_entry *e)
{
	return e->provider->can_enable && !events_is_gone(e);
}

/* ftrace:print, which no write enables. */
bool events_is_marker(const struct event_entry *e)
{
	return !e->provider->can_enable && !strcmp(e->format->name, "print") &&
	       !strcmp(e->format->system, "ftrace");
}

/* Only a row of event_builtin() says so: formats that are read from text do not. */
bool events_is_own(const struct event_entry *e)
{
	return e->format->own;
}

/* Markers have triggers, though they cannot be switched. */
bool events_can_trigger(const struct event_entry *e)
{
	return events_can_enable(e) || events_is_marker(e);
}

/* Relaxed: who has to know whether an event goes meanwhile has a lock of its own
 * (tree/dynamic_remove.c). */
bool events_is_gone(const struct event_entry *e)
{
	return atomic_load_explicit(&e->gone, memory_order_relaxed);
}

/* Relaxed: plans are made, and settings change, one at a time (session/turns.h). */
uint32_t events_generation(const struct event_entry *e)
{
	return atomic_load_explicit(&e->generation, memory_order_relaxed);
}

/* Plans that were made before know by the number that the event was off in between. */
void events_switched_off(struct event_catalogue *c, const struct event_entry *e)
{
	struct event_entry *entry;

	pthread_mutex_lock(&c->lock);
	entry = c->entries.at[e->index];
	atomic_fetch_add_explicit(&entry->generation, 1, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
}

/* The name is free at once; the entry and its number stay, because records have it. */
void events_remove(struct event_catalogue *c, const struct event_entry *e)
{
	pthread_mutex_lock(&c->lock);
	forget_event(c, e);
	pthread_mutex_unlock(&c->lock);
}

/* The context's function is called on whichever thread compiles a filter. */
void events_set_context(struct event_catalogue *c, const struct filter_context *context)
{
	pthread_mutex_lock(&c->lock);
	c->context = *context;
	pthread_mutex_unlock(&c->lock);
}

/* A copy: the caller holds no lock while it uses it. */
struct filter_context events_context(struct event_catalogue *c)
{
	struct filter_context context;

	pthread_mutex_lock(&c->lock);
	context = c->context;
	pthread_mutex_unlock(&c->lock);
	return context;
}

/* A call that began before may still come after this returns: add_event() calls without the
 * lock. */
void events_set_kinds(struct event_catalogue *c, const struct trigger_kinds *k)
{
	pthread_mutex_lock(&c->lock);
	c->kinds = k;
	pthread_mutex_unlock(&c->lock);
}

const struct trigger_kinds *events_kinds(struct event_catalogue *c)
{
	const struct trigger_kinds *k;

	pthread_mutex_lock(&c->lock);
	k = c->kinds;
	pthread_mutex_unlock(&c->lock);
	return k;
}

/* grown is called on the thread that adds, without the lock; NULL: nobody watches any more. */
void events_watch(struct event_catalogue *c, void (*grown)(void *arg, const struct event_entry *e),
		  void *arg)
{
	pthread_mutex_lock(&c->lock);
	c->grown = grown;
	c->grown_arg = arg;
	pthread_mutex_unlock(&c->lock);
}
