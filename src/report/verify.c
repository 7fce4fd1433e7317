/* SPDX-License-Identifier: MIT */
/* Follows a model's objects by the records of a trace. Called by `brace rv`, by one thread for all
 * events. The trace may be anybody's: numbers of threads, functions and events are checked, and all
 * lists have a limit, behind which objects are not watched and faults only counted. */
#include "report/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/format.h"
#include "hook/plan.h"
#include "report/arguments.h"
#include "report/location.h"
#include "report/verify_internal.h"
#include "shared/record.h"

/* The keys are values of a program, which can make up as many as it likes: with more objects than
 * this the later ones are counted and not watched. A list of more faults is read by nobody. */
#define OBJECTS_MOST (UINT64_C(1) << 22)
#define FAULTS_MOST 65536u

struct verify *verify_new(const struct trace_info *info, const struct automaton *a,
			  const struct automaton_bindings *b, bool whole)
{
	struct verify *v = mem_zalloc(sizeof(*v));

	*v = (struct verify){ .info = info, .a = a, .b = b, .whole = whole,
			      .secret = keyed_hash_key() };
	sites_init(&v->sites_map, info);
	tracks_init(&v->tracks, info, &v->sites_map);
	names_init(&v->names, info);
	for (uint32_t i = 0; i < b->at.n; i++)
		if (b->at.at[i].handler)
			*vec_add(&v->handlers.bindings) = i;
	return v;
}

void verify_free(struct verify *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->images.n; i++) {
		for (size_t k = 0; k < v->images.at[i].functions.n; k++)
			vec_free(&v->images.at[i].functions.at[k].bindings);
		vec_free(&v->images.at[i].functions);
	}
	for (size_t i = 0; i < v->events.n; i++)
		vec_free(&v->events.at[i].bindings);
	vec_free(&v->handlers.bindings);
	vec_free(&v->images);
	vec_free(&v->events);
	vec_free(&v->threads);
	vec_free(&v->owners);
	vec_free(&v->faults);
	free(v->objects);
	number_map_free(&v->owner_of);
	names_free(&v->names);
	tracks_free(&v->tracks);
	sites_free(&v->sites_map);
	free(v);
}

/* --- objects --------------------------------------------------------------------------------- */

/* A process that was forked goes on in the middle of its parent's work. */
static uint32_t owner_of(struct verify *v, uint32_t thread)
{
	const struct trace_thread *t = &v->info->threads.at[thread];
	const bool all = v->a->by == AUTOMATON_BY_ALL && !v->b->keyed;
	const uint64_t key = all ? 1 : 2 + ((uint64_t)t->image << 32 | t->pid);
	const uint64_t known = number_map_get(&v->owner_of, key);
	bool forked;

	if (known != NUMBER_NONE)
		return (uint32_t)known;
	forked = t->image >= v->info->images.n || v->info->images.at[t->image].pid != t->pid;
	number_map_set(&v->owner_of, key, v->owners.n);
	*vec_add(&v->owners) = (struct verify_owner){ .any = !v->whole || (forked && !all) };
	return (uint32_t)v->owners.n - 1;
}

/* The keys are the program's, which may want them all in one bucket: each search would then pass
 * all objects. Hence the secret. */
static struct verify_object *bucket_of(const struct verify *v, uint32_t owner, uint64_t key)
{
	size_t i = (size_t)keyed_hash(&v->secret, key, owner);

	for (;; i++) {
		struct verify_object *o = &v->objects[i & (v->room - 1)];

		if (!o->states || (o->key == key && o->owner == owner))
			return o;
	}
}

/* Half of the places stay free, so that a search ends soon. An object is never removed: one that is
 * not seen again may still be in a state that is not final. */
static void grow(struct verify *v)
{
	struct verify_object *old = v->objects;
	const size_t n = v->room;

	v->room = n ? 2 * n : 256;
	v->objects = mem_zalloc(v->room * sizeof(*v->objects));
	for (size_t i = 0; i < n; i++)
		if (old[i].states)
			*bucket_of(v, old[i].owner, old[i].key) = old[i];
	free(old);
}

/* NULL: there are too many. */
static struct verify_object *object_of(struct verify *v, uint32_t owner, uint64_t key)
{
	const struct verify_owner *w = &v->owners.at[owner];
	struct verify_object *o;

	if (2 * v->n_objects >= v->room && v->room < 2 * OBJECTS_MOST)
		grow(v);
	o = bucket_of(v, owner, key);
	if (!o->states && v->n_objects == OBJECTS_MOST) {
		v->unwatched++;
		return NULL;
	}
	if (!o->states) {
		v->n_objects++;
		*o = (struct verify_object){ .key = key, .owner = owner, .epoch = w->epoch,
					     .states = w->any || w->epoch ? automaton_all(v->a)
									  : v->a->first };
	} else if (o->epoch != w->epoch) {
		o->epoch = w->epoch;
		o->states = automaton_all(v->a);
	}
	return o;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* A thing that happened: an event of the model, and its object. */
struct verify_occurrence {
	uint32_t thread, event, site;
	uint64_t tsc;
	bool called, outside;
	bool excused; /* no fault, because it came from inside */
};

/* All faults are counted, and those that find room are kept for the list and for drop_doubtful(),
 * which may take them back. */
static void note_fault(struct verify *v, const struct verify_occurrence *c,
		       const struct verify_object *o)
{
	v->all_faults++;
	if (v->faults.n < FAULTS_MOST)
		*vec_add(&v->faults) = (struct verify_fault){
			.tsc = c->tsc, .step = v->steps, .key = o->key, .states = o->states,
			.thread = c->thread, .event = c->event, .owner = o->owner,
			.site = c->site, .called = c->called, .outside = c->outside
		};
}

/* After a fault the object may be in the state that it was in, or in any that the event leads
 * to. */
static void step(struct verify *v, const struct verify_occurrence *c, uint64_t key)
{
	struct verify_object *o = object_of(v, owner_of(v, c->thread), key);
	uint64_t after;

	v->seen++;
	if (!o)
		return;
	after = automaton_step(v->a, c->event, o->states);
	if (!after && !c->excused)
		note_fault(v, c, o);
	o->states = after ? after
			  : o->states | automaton_step(v->a, c->event, automaton_all(v->a));
}

/* The event has happened to an object that is not known: it may have been any. */
static void step_unknown(struct verify *v, const struct verify_occurrence *c)
{
	const uint32_t owner = owner_of(v, c->thread);

	v->unknown++;
	v->owners.at[owner].epoch++;
}

/* The object of a model without keys. The owner, one process or all of them, keeps equal numbers of
 * different processes apart. */
static uint64_t own_key(const struct verify *v, uint32_t thread)
{
	const struct trace_thread *t = &v->info->threads.at[thread];

	if (v->a->by == AUTOMATON_BY_ALL)
		return 0;
	return v->a->by == AUTOMATON_BY_THREAD ? t->tid : t->pid;
}

/* A value; known: it is one. */
struct verify_value { uint64_t number; bool known; };

/* The condition is told first: what it leaves out has no object. */
static void happen(struct verify *v, const struct verify_occurrence *c, const struct binding *b,
		   struct verify_value key, struct verify_value condition)
{
	if (b->condition.kind != BINDING_NOTHING && condition.known &&
	    !condition.number != b->negated)
		return;
	if (b->key.kind == BINDING_NOTHING)
		key = (struct verify_value){ own_key(v, c->thread), true };
	else if (key.known && !key.number)
		return;
	if (key.known && (b->condition.kind == BINDING_NOTHING || condition.known))
		step(v, c, key.number);
	else
		step_unknown(v, c);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* A symbol's version (`malloc@@GLIBC_2.2.5`) is no part of the name that a model's author
 * writes. */
static bool is_name(struct name name, const char *wanted)
{
	const char *version = memchr(name.text, '@', name.n);
	const size_t n = version ? (size_t)(version - name.text) : name.n;

	return n == strlen(wanted) && !memcmp(name.text, wanted, n);
}

/* The bindings of a function. NULL: the record is damaged. */
static const struct verify_of_function *function_of(struct verify *v, uint32_t thread, uint32_t fn)
{
	const uint32_t image = v->info->threads.at[thread].image;
	struct verify_of_function *f;
	struct name name;

	if (image >= v->info->images.n || !trace_info_function(v->info, image, fn, NULL))
		return NULL;
	while (v->images.n <= image)
		*vec_add(&v->images) = (struct verify_image){ 0 };
	while (v->images.at[image].functions.n <= fn)
		*vec_add(&v->images.at[image].functions) = (struct verify_of_function){ 0 };
	f = &v->images.at[image].functions.at[fn];
	if (f->known)
		return f;
	f->known = true;
	name = names_of(&v->names, image, fn);
	for (uint32_t i = 0; i < v->b->at.n; i++)
		if (v->b->at.at[i].function && is_name(name, v->b->at.at[i].function))
			*vec_add(&f->bindings) = i;
	return f;
}

/* The caller has compared the number with trace_info's threads: it is bounded by that. */
static struct verify_thread *thread_of(struct verify *v, uint32_t thread)
{
	while (v->threads.n <= thread)
		*vec_add(&v->threads) = (struct verify_thread){ 0 };
	return &v->threads.at[thread];
}

/* Numbers of arguments, as they are visited: members of structures are none. */
struct visit { struct verify_call *to; unsigned n, depth; };

static void take_argument(void *context, const struct argument_told *a)
{
	struct visit *w = context;
	const bool number = a->kind == ARGUMENT_SIGNED || a->kind == ARGUMENT_UNSIGNED ||
			    a->kind == ARGUMENT_POINTER || a->kind == ARGUMENT_BOOL;

	if (a->kind == ARGUMENT_CLOSE || a->kind == ARGUMENT_LIST_END) {
		w->depth -= w->depth > 0;
		return;
	}
	if (!w->depth && w->n < VERIFY_ARGUMENTS) {
		w->to->arguments[w->n] = a->number;
		w->to->known |= (uint8_t)(number << w->n);
	}
	w->n += !w->depth;
	w->depth += a->kind == ARGUMENT_OPEN || a->kind == ARGUMENT_LIST;
}

/* An argument's value is that of the call's begin, as records have it; a returned value comes with
 * the end. A floating-point number is no key. */
static struct verify_value value_of(const struct binding_key *key, const struct verify_call *c,
				    const struct call_step *s)
{
	if (key->kind == BINDING_ARGUMENT && c)
		return (struct verify_value){ c->arguments[key->argument],
					      c->known >> key->argument & 1 };
	if (key->kind == BINDING_RETVAL)
		return (struct verify_value){ s->value, s->flags & CALL_VALUE &&
								!(s->flags & CALL_FLOAT) };
	return (struct verify_value){ 0, false };
}

/* Whether the call came from the module that has the function. Found by the return site alone,
 * which names the caller's module. */
static bool is_inside(const struct verify *v, const struct call_step *s)
{
	const uint32_t image = v->info->threads.at[s->thread].image;
	const struct trace_module *own = NULL;
	const struct location p = location_of_site(v->info, image, s->site, s->tsc);

	return trace_info_function(v->info, image, s->fn, &own) && own && p.module == own;
}

/* A return says who called. */
static void call_happens(struct verify *v, const struct verify_of_function *f,
			 const struct verify_call *c, const struct call_step *s, bool returns)
{
	for (size_t i = 0; i < f->bindings.n; i++) {
		const struct binding *b = &v->b->at.at[f->bindings.at[i]];
		const struct verify_occurrence o = {
			.thread = s->thread, .event = b->event, .site = s->site, .tsc = s->tsc,
			.called = true, .outside = b->outside,
			.excused = returns && b->outside && b->returns && is_inside(v, s),
		};

		if (b->returns == returns)
			happen(v, &o, b, value_of(&b->key, c, s), value_of(&b->condition, c, s));
	}
}

/* The oldest call is dropped when a stack is deeper than is kept: its end is then an event without
 * arguments. */
static void begin_call(struct verify *v, const struct call_step *s)
{
	const struct verify_of_function *f = function_of(v, s->thread, s->fn);
	struct verify_thread *t = thread_of(v, s->thread);
	struct verify_call c = { .fn = s->fn, .begin = ++v->steps };
	const uint64_t faults = v->all_faults;
	struct visit visit = { .to = &c };

	if (!f || !f->bindings.n)
		return;
	if (s->flags & CALL_ARGUMENTS)
		arguments_each(v->info, s->event, take_argument, &visit);
	call_happens(v, f, &c, s, false);
	c.faulty = v->all_faults != faults;
	if (s->kind != CALL_ENTER)
		return;
	if (t->n == VERIFY_CALLS)
		memmove(t->calls, t->calls + 1, --t->n * sizeof(*t->calls));
	t->calls[t->n++] = c;
}

/* The record of a call's begin does not say who called: its faults learn it now, and are taken back
 * if they are none of those that come from outside. */
static void tell_site(struct verify *v, const struct verify_call *c, const struct call_step *s)
{
	const bool inside = is_inside(v, s);
	size_t i = v->faults.n, first, kept;

	while (i && v->faults.at[i - 1].step >= c->begin)
		i--;
	for (first = kept = i; first < v->faults.n; first++) {
		struct verify_fault *f = &v->faults.at[first];
		const bool own = f->thread == s->thread && f->step == c->begin;

		if (own)
			f->site = s->site;
		if (!own || !f->outside || !inside)
			v->faults.at[kept++] = *f;
	}
	v->all_faults -= v->faults.n - kept;
	v->faults.n = kept;
}

/* A call that an exception or longjmp has left does not return. */
static void end_call(struct verify *v, const struct call_step *s)
{
	const struct verify_of_function *f = function_of(v, s->thread, s->fn);
	struct verify_thread *t = thread_of(v, s->thread);
	struct verify_call c;
	unsigned i = t->n;

	if (!f || !f->bindings.n)
		return;
	while (i && t->calls[i - 1].fn != s->fn)
		i--;
	if (i) {
		c = t->calls[i - 1];
		t->n = i - 1;
		if (c.faulty)
			tell_site(v, &c, s);
	}
	if (!(s->flags & (CALL_UNWOUND | CALL_UNFINISHED)))
		call_happens(v, f, i ? &c : NULL, s, true);
}

/* --- losses ---------------------------------------------------------------------------------- */

/* Whether nothing tells how long a loss lasted: in files of earlier versions, losses at a thread's
 * end have the time of its last record, or that at which it began. */
static bool is_open(const struct verify *v, uint32_t thread, uint64_t tsc)
{
	return tsc <= v->threads.at[thread].tsc || tsc <= v->info->threads.at[thread].tsc;
}

/* A thread's losses lie between its record before and this one: faults that were found meanwhile
 * may not be any. */
static void drop_doubtful(struct verify *v, uint32_t thread, uint64_t tsc)
{
	struct verify_thread *t = thread_of(v, thread);
	const uint32_t owner = owner_of(v, thread);
	size_t first = v->faults.n, kept;

	t->n = 0;
	v->owners.at[owner].epoch++;
	if (!t->losing && is_open(v, thread, tsc)) {
		v->owners.at[owner].losing++;
		t->losing = true;
	}
	while (first && v->faults.at[first - 1].step >= t->last)
		first--;
	kept = first;
	for (size_t i = first; i < v->faults.n; i++)
		if (v->faults.at[i].owner != owner)
			v->faults.at[kept++] = v->faults.at[i];
	v->doubtful += v->faults.n - kept;
	v->all_faults -= v->faults.n - kept;
	v->faults.n = kept;
}

/* Nothing is known of the objects of a process while a loss of its threads goes on: until the
 * thread has a record, or for good if it has ended. */
static void heed_open_losses(struct verify *v, uint32_t thread)
{
	const uint32_t owner = owner_of(v, thread); /* it may move the array */
	struct verify_owner *o = &v->owners.at[owner];
	struct verify_thread *t = thread_of(v, thread);

	o->epoch += o->losing > 0;
	o->losing -= t->losing;
	t->losing = false;
}

/* calls_emit */
static void take_step(void *arg, const struct call_step *s)
{
	struct verify *v = arg;

	const bool handler = s->flags & CALL_HANDLER;

	if (handler && s->kind == CALL_ENTER)
		call_happens(v, &v->handlers, NULL, s, false);
	if (s->kind == CALL_ENTER || s->kind == CALL_ONLY)
		begin_call(v, s);
	else if (s->kind == CALL_LEAVE)
		end_call(v, s);
	if (handler && s->kind == CALL_LEAVE && !(s->flags & CALL_UNFINISHED))
		call_happens(v, &v->handlers, NULL, s, true);
	if (s->kind == CALL_LOST)
		drop_doubtful(v, s->thread, s->tsc);
}

/* --- events ---------------------------------------------------------------------------------- */

/* The place of a field that is a number; 0 bytes: there is none. */
static void find_field(const struct event_format *f, const struct binding_key *key, uint16_t *at,
		       uint8_t *bytes)
{
	const struct event_field *field;
	enum event_field_kind kind;

	if (key->kind != BINDING_FIELD)
		return;
	field = event_find_field(f, key->field, strlen(key->field), &kind);
	if (!field || field->offset < EVENT_COMMON_BYTES ||
	    (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8))
		return;
	*at = (uint16_t)(field->offset - EVENT_COMMON_BYTES);
	*bytes = (uint8_t)field->size;
}

/* Learned at its first record: events of a live session may come later. */
static void learn_event(struct verify *v, struct verify_of_event *to, const struct trace_event *e)
{
	struct event_format *f = NULL;
	struct err ignored;

	to->known = true;
	for (uint32_t i = 0; i < v->b->at.n; i++) {
		const struct binding *b = &v->b->at.at[i];
		struct verify_event_fields p = { .binding = i };

		if (!b->name || strcmp(b->system, e->system) || strcmp(b->name, e->name))
			continue;
		f = f ? f : event_format_parse(e->format, strlen(e->format), e->system, &ignored);
		if (f) {
			find_field(f, &b->key, &p.at.key, &p.at.key_bytes);
			find_field(f, &b->condition, &p.at.condition, &p.at.condition_bytes);
		}
		*vec_add(&to->bindings) = p;
	}
	event_format_free(f);
}

/* bytes 0: the event has no such field; a shorter record may lack it. */
static struct verify_value field_of(const struct event *e, uint16_t at, uint8_t bytes)
{
	struct verify_value n = { 0, bytes && (uint64_t)at + bytes <= e->count };

	if (n.known)
		memcpy(&n.number, (const uint8_t *)e->payload + at, bytes);
	return n;
}

static void take_event(struct verify *v, const struct event *e)
{
	const struct trace_event *of = trace_info_event(v->info, e->fn);
	const struct verify_of_event *known;

	if (!of)
		return;
	while (v->events.n <= e->fn)
		*vec_add(&v->events) = (struct verify_of_event){ 0 };
	if (!v->events.at[e->fn].known)
		learn_event(v, &v->events.at[e->fn], of);
	known = &v->events.at[e->fn];
	for (size_t i = 0; i < known->bindings.n; i++) {
		const struct verify_event_fields *p = &known->bindings.at[i];
		const struct binding *b = &v->b->at.at[p->binding];
		const struct verify_occurrence o = { .thread = e->thread, .event = b->event,
						      .tsc = e->tsc };

		happen(v, &o, b, field_of(e, p->at.key, p->at.key_bytes),
		       field_of(e, p->at.condition, p->at.condition_bytes));
	}
}

/* The order matters: losses of this thread end first, then the event happens, then calls that the
 * record begins or ends, and the step counts for all of them. */
void verify_event(struct verify *v, const struct event *e)
{
	struct verify_thread *of;

	if (e->thread >= v->info->threads.n)
		return;
	v->last = *e;
	v->steps++;
	if (e->kind != EVENT_LOST)
		heed_open_losses(v, e->thread);
	if (e->kind == EVENT_TRACE && e->fn != EVENT_LOCK_ROW)
		take_event(v, e);
	tracks_feed(&v->tracks, tracks_lane(&v->tracks, e->thread), e, take_step, v);
	of = thread_of(v, e->thread);
	of->last = v->steps;
	of->tsc = e->tsc;
}

void verify_end(struct verify *v)
{
	tracks_end(&v->tracks, &v->last, take_step, v);
}

/* --- sums ------------------------------------------------------------------------------------ */

uint64_t verify_events(const struct verify *v)
{
	return v->seen + v->unknown;
}

uint64_t verify_faults(const struct verify *v)
{
	return v->all_faults;
}

/* An object counts only where its state is known: after a loss (its epoch is old) it may have
 * become final unseen. A model without final states has none that are unfinished. */
uint64_t verify_unfinished(const struct verify *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->room && v->a->final; i++) {
		const struct verify_object *o = &v->objects[i];

		n += o->states && !(o->states & v->a->final) &&
		     o->epoch == v->owners.at[o->owner].epoch;
	}
	return n;
}

/* Whether any program of the trace has the function, and records all calls of it, with their
 * returns if these are asked for. */
static bool is_recorded(struct verify *v, const struct binding *b)
{
	for (size_t m = 0; m < v->info->modules.n; m++) {
		const struct trace_module *of = &v->info->modules.at[m];

		for (uint32_t i = 0; of->first_id != TRACE_MADE_ID && i < of->functions.n; i++) {
			const struct trace_function *f = &of->functions.at[i];

			if (f->hook != HOOK_NONE &&
			    !(f->flags & TRACE_FUNCTION_CONDITIONAL) &&
			    !(b->returns && f->flags & TRACE_FUNCTION_ENTRY_ONLY) &&
			    is_name(names_of(&v->names, of->image, of->first_id + i), b->function))
				return true;
		}
	}
	return false;
}

/* An event that the trace's session knew, though it may have no record: then it did not happen. */
static bool is_event_known(const struct verify *v, const struct binding *b)
{
	for (size_t i = 0; i < v->info->events.n; i++)
		if (!strcmp(v->info->events.at[i].system, b->system) &&
		    !strcmp(v->info->events.at[i].name, b->name))
			return true;
	return false;
}

/* A model is compared with what was recorded: an event that nothing recorded would make every trace
 * right, or every trace wrong. */
const char *verify_unrecorded(struct verify *v)
{
	for (size_t i = 0; i < v->b->at.n; i++) {
		const struct binding *b = &v->b->at.at[i];

		if (b->function && !b->optional && !is_recorded(v, b))
			return b->function;
		if (b->name && !is_event_known(v, b))
			return b->name;
	}
	return NULL;
}
