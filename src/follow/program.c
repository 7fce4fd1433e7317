/* SPDX-License-Identifier: MIT */
/* Each call's arguments are taken apart by its function's prototype, which the program's plan has
 * made (recorded.h); the numbers in them are the program's, and decide nothing but what is printed.
 * Returns are those of the stack of calls (trace/tracks.h). Objects are known by process and
 * address, because a fork's child has its own at the same one. Called on the thread that reads the
 * stream; nothing fails. */
#include "follow/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/prototype.h"
#include "report/names.h"
#include "trace/tracks.h"

#define OBJECTS_MOST 65536u
#define ADDRESS_LEAST 4096u
#define OBJECTS_OF_CALL 8u
#define RECORD_MOST 512u     /* bytes */
#define ERRORS_FROM (-4095ull)

/* A followed object. ending: 1 + the thread that is in the function that ends it; 0: it lives. */
struct living_object { uint64_t address; uint32_t space, ending; };

struct program_function {
	struct follow_function is;
	uint32_t image, id;
	char *text;              /* of the prototype, which points into it */
	struct prototype prototype;
};

/* A call with objects that has not returned. */
struct program_call {
	uint32_t depth, function, n;
	uint64_t objects[OBJECTS_OF_CALL];
};
struct program_stack { uint64_t key; VEC(struct program_call) open; };

struct follow_program {
	const struct trace_info *info;
	const struct follow_program_spec *spec;
	follow_sink *sink;
	void *context;
	struct sites sites;
	struct tracks tracks;
	struct names names;
	VEC(struct program_function *) functions;
	VEC(uint32_t) known;     /* indices of functions, by image and id */
	VEC(struct living_object) objects; /* by process and address */
	VEC(struct program_stack) stacks;  /* by key */
	uint64_t calls;
	struct follow_program_losses losses;
};

struct follow_program *follow_program_new(const struct trace_info *info,
					  const struct follow_program_spec *spec,
					  follow_sink *sink, void *context)
{
	struct follow_program *p = mem_zalloc(sizeof(*p));

	p->info = info;
	p->spec = spec;
	p->sink = sink;
	p->context = context;
	sites_init(&p->sites, info);
	tracks_init(&p->tracks, info, &p->sites);
	names_init(&p->names, info);
	return p;
}

/* --- functions -------------------------------------------------------------------------------- */

/* The form of the result, by the prototype. FOLLOW_VOID is 0: without a prototype there is
 * none. */
static void describe_result(const struct prototype_value *v, struct follow_function *f)
{
	static const uint8_t returns[PROTOTYPE_TYPES_N] = {
		[PROTOTYPE_SIGNED] = FOLLOW_SIGNED, [PROTOTYPE_ENUM] = FOLLOW_SIGNED,
		[PROTOTYPE_UNSIGNED] = FOLLOW_UNSIGNED, [PROTOTYPE_CHAR] = FOLLOW_UNSIGNED,
		[PROTOTYPE_BOOL] = FOLLOW_UNSIGNED, [PROTOTYPE_POINTER] = FOLLOW_POINTER,
		[PROTOTYPE_STRING_AT] = FOLLOW_POINTER,
	};

	f->bytes = v->type == PROTOTYPE_STRING_AT || !v->size ? 8 : v->size;
	if (v->type < PROTOTYPE_TYPES_N)
		f->returns = returns[v->type];
}

/* Whether the value has exactly this name in the prototype. */
static bool is_named(const struct prototype_value *v, const char *name)
{
	return v->name && v->name_bytes == strlen(name) && !memcmp(v->name, name, v->name_bytes);
}

/* A function by its image and id. A prototype that does not parse has no parameters: its calls
 * are then of no object. */
static struct program_function *make_function(struct follow_program *p, uint32_t image,
					      uint32_t id)
{
	struct program_function *f = mem_zalloc(sizeof(*f));
	const struct trace_module *m = NULL;
	const struct trace_function *t = trace_info_function(p->info, image, id, &m);
	struct name name = names_of(&p->names, image, id);

	f->image = image;
	f->id = id;
	f->is.name = mem_strndup(name.text, name.n);
	f->is.module = m ? m->name : "";
	if (t)
		f->is.address = m->base + t->vaddr;
	f->text = mem_strdup(t && t->prototype ? m->strings.at + t->prototype : "?");
	if (!prototype_parse(f->text, &f->prototype))
		f->prototype = (struct prototype){ 0 };
	describe_result(&f->prototype.returns, &f->is);
	for (uint32_t i = 0; i < f->prototype.n; i++)
		if (is_named(&f->prototype.parameters[i], FOLLOW_GIVER))
			f->is.flags |= FOLLOW_GIVES;
	if (glob_match_any(p->spec->ends, f->is.name))
		f->is.flags |= FOLLOW_ENDS;
	return f;
}

/* The order of `known`. */
static bool is_before(const struct program_function *f, uint32_t image, uint32_t id)
{
	return f->image < image || (f->image == image && f->id < id);
}

/* The function's number in events. */
static uint32_t function_of(struct follow_program *p, uint32_t image, uint32_t id)
{
	size_t i = vec_bisect(&p->known, k, is_before(p->functions.at[*k], image, id));
	const struct program_function *f = i < p->known.n ? p->functions.at[p->known.at[i]] : NULL;

	if (f && f->image == image && f->id == id)
		return p->known.at[i];
	*vec_add(&p->functions) = make_function(p, image, id);
	vec_add(&p->known);
	memmove(p->known.at + i + 1, p->known.at + i,
		(p->known.n - 1 - i) * sizeof(*p->known.at));
	return p->known.at[i] = (uint32_t)p->functions.n - 1;
}

const struct follow_function *follow_program_function(const struct follow_program *p, uint32_t n)
{
	return n < p->functions.n ? &p->functions.at[n]->is : NULL;
}

/* --- which objects ---------------------------------------------------------------------------- */

/* Where the object is among the followed ones, or is to be. */
static size_t offset_of_object(const struct follow_program *p, uint32_t space, uint64_t address)
{
	return vec_bisect(&p->objects, o,
			  o->space < space || (o->space == space && o->address < address));
}

/* Valid until an object is added or removed. */
static struct living_object *find_object(const struct follow_program *p, uint32_t space,
					 uint64_t address)
{
	size_t i = offset_of_object(p, space, address);
	struct living_object *o = i < p->objects.n ? &p->objects.at[i] : NULL;

	return o && o->space == space && o->address == address ? o : NULL;
}

/* Returns whether it is new: the memory of one that is ending may have another already. */
static bool add_object(struct follow_program *p, uint32_t space, uint64_t address)
{
	struct living_object *o = find_object(p, space, address);
	size_t i = offset_of_object(p, space, address);

	if (o) {
		bool ended = o->ending;

		o->ending = 0;
		return ended;
	}
	if (p->objects.n == OBJECTS_MOST) {
		p->losses.crowded++;
		return false;
	}
	vec_add(&p->objects);
	memmove(p->objects.at + i + 1, p->objects.at + i,
		(p->objects.n - 1 - i) * sizeof(*p->objects.at));
	p->objects.at[i] = (struct living_object){ address, space, 0 };
	return true;
}

/* Its address may be another object's from now on. */
static void remove_object(struct follow_program *p, struct living_object *o)
{
	size_t i = (size_t)(o - p->objects.at);

	memmove(o, o + 1, (--p->objects.n - i) * sizeof(*o));
}

/* --- fields ----------------------------------------------------------------------------------- */

/* A call's record, from its header on, of which the first bytes are zero. */
struct call_record { uint8_t bytes[RECORD_MOST + 8]; uint32_t n; };

/* False: it is longer than any that there can be. */
static bool take_record(const struct event *e, struct call_record *r)
{
	memset(r, 0, sizeof(*r));
	if (e->count > RECORD_MOST - PROTOTYPE_FIRST)
		return false;
	memcpy(r->bytes + PROTOTYPE_FIRST, e->payload, e->count);
	r->n = PROTOTYPE_FIRST + (uint32_t)e->count;
	return true;
}

/* The 8 bytes at `at`; 0 where the record does not have them all. */
static uint64_t word_at(const struct call_record *r, uint32_t at)
{
	uint64_t v = 0;

	if (at + 8 <= r->n)
		memcpy(&v, r->bytes + at, 8);
	return v;
}

/* False: the program's memory could not be read there. */
static bool read_number(const struct call_record *r, const struct prototype_value *v,
			const struct follow_field *f, uint64_t *out)
{
	uint64_t n = 0;

	if ((uint32_t)v->block + v->bytes >= r->n || !r->bytes[v->block + v->bytes])
		return false;
	memcpy(&n, r->bytes + v->block, v->bytes < 8 ? v->bytes : 8);
	n = n >> (f->shift & 63) & f->mask;
	if (f->sign)
		n = (uint64_t)((int64_t)(n << ((64 - f->sign) & 63)) >> ((64 - f->sign) & 63));
	*out = n;
	return true;
}

/* A text of the record, by the offset and length that its 4 bytes say; false: it was not read, or
 * lies outside. */
static bool read_text(const struct call_record *r, const struct prototype_value *v,
		      char out[FOLLOW_TEXT])
{
	uint32_t where = 0, at, n;

	if (v->at + sizeof(where) <= r->n)
		memcpy(&where, r->bytes + v->at, sizeof(where));
	at = where & 0xffff;
	n = where >> 16;
	if (!n || at < PROTOTYPE_FIRST || at > r->n || n > r->n - at)
		return false;
	memcpy(out, r->bytes + at, n < FOLLOW_TEXT ? n : FOLLOW_TEXT);
	return true;
}

/* The value of an object's i-th field; the first one is at `at` of the prototype. */
static const struct prototype_value *field_at(const struct prototype *p, uint32_t at, uint32_t i)
{
	while (i-- && at < p->n)
		at += 1 + p->parameters[at].members;
	return at < p->n ? &p->parameters[at] : NULL;
}

/* Whether all conditions hold for the object whose fields begin at `at`. What could not be read
 * does not pass. */
static bool passes(const struct follow_plan *plan, const struct prototype *p, uint32_t at,
		   const struct call_record *r)
{
	for (uint32_t i = 0; i < plan->n_tests; i++) {
		const struct prototype_value *v = field_at(p, at, i);
		uint64_t n;

		if (!v || !read_number(r, v, &plan->tests[i].field, &n) ||
		    !follow_test_holds(&plan->tests[i], n & plan->tests[i].mask))
			return false;
	}
	return true;
}

/* Fields to be shown stand behind those of the conditions. A bit of e->valid each: it was read. */
static void show_fields(const struct follow_plan *plan, const struct prototype *p, uint32_t at,
		 const struct call_record *r, struct follow_event *e)
{
	for (uint32_t i = 0; i < plan->n_shown; i++) {
		const struct follow_field *f = &plan->shown[i];
		const struct prototype_value *v = field_at(p, at, plan->n_tests + i);
		bool read = v && (f->bytes ? read_number(r, v, f, &e->shown[i].number)
					   : read_text(r, v, e->shown[i].text));

		e->valid |= (uint8_t)(read << i);
	}
}

/* --- events ----------------------------------------------------------------------------------- */

/* The members that all events have. Objects' space is their process. */
static struct follow_event begin_event(const struct follow_program *p, const struct call_step *s,
				       uint32_t function, uint64_t object)
{
	const struct trace_thread *t = &p->info->threads.at[s->thread];
	struct follow_event e = {
		.ns = trace_clock_ns(&p->info->clock, s->tsc), .object = object,
		.function = function, .cpu = s->cpu, .pid = t->pid, .tid = t->tid, .space = t->pid,
	};

	memcpy(e.comm, trace_thread_name_at(t, s->tsc), FOLLOW_TEXT);
	return e;
}

/* The calls that are open on the stack that the step is of: a coroutine's, or the thread's. */
static struct program_stack *stack_of(struct follow_program *p, const struct call_step *s)
{
	uint64_t pid = p->info->threads.at[s->thread].pid;
	uint64_t key = s->track ? pid << 32 | s->track : 1ull << 63 | s->thread;
	size_t i = vec_bisect(&p->stacks, k, k->key < key);

	if (i == p->stacks.n || p->stacks.at[i].key != key) {
		vec_add(&p->stacks);
		memmove(p->stacks.at + i + 1, p->stacks.at + i,
			(p->stacks.n - 1 - i) * sizeof(*p->stacks.at));
		p->stacks.at[i] = (struct program_stack){ .key = key };
	}
	return &p->stacks.at[i];
}

/* enum follow_why, or 0. */
static uint8_t why_followed(struct follow_program *p, uint32_t space, uint64_t object,
			    uint32_t thread, bool has_passed, uint8_t *first)
{
	const struct living_object *o;
	bool known;

	*first = 0;
	if (!object)
		return 0;
	if (!p->spec->by_identity)
		return has_passed ? FOLLOW_BY_FIELD : 0;
	o = find_object(p, space, object);
	known = o && (!o->ending || o->ending == thread + 1);
	if (!has_passed)
		return known ? FOLLOW_BY_IDENTITY : 0;
	if (!known)
		*first = add_object(p, space, object);
	return FOLLOW_BY_FIELD;
}

/* Whether one argument of the call has been this object: it counts once. */
static bool has_object(const struct program_call *c, uint64_t object)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->objects[i] == object)
			return true;
	return false;
}

/* One argument that may be an object; at: of its fields in the prototype. */
static void take_argument(struct follow_program *p, const struct call_step *s,
			  const struct call_record *r, struct program_call *c, uint64_t object,
			  uint32_t at, bool has_passed)
{
	const struct program_function *f = p->functions.at[c->function];
	uint32_t space = p->info->threads.at[s->thread].pid;
	struct living_object *o;
	struct follow_event e;
	uint8_t why, first;

	/* A NULL of a derived class leads to its base behind 0. */
	if (object < ADDRESS_LEAST || c->n == OBJECTS_OF_CALL || has_object(c, object))
		return;
	why = why_followed(p, space, object, s->thread, has_passed, &first);
	if (!why)
		return;
	e = begin_event(p, s, c->function, object);
	e.why = why;
	e.first = first;
	e.single = s->kind == CALL_ONLY;
	if (p->spec->recording.type)
		show_fields(p->spec->recording.plan, &f->prototype, at, r, &e);
	c->objects[c->n++] = object;
	p->sink(p->context, &e);
	o = f->is.flags & FOLLOW_ENDS ? find_object(p, space, object) : NULL;
	if (o)
		o->ending = s->thread + 1;
}

/* The arguments that point to the type, each with its fields behind it. */
static void take_typed(struct follow_program *p, const struct call_step *s,
		       const struct call_record *r, struct program_call *c)
{
	const struct prototype *is = &p->functions.at[c->function]->prototype;
	const struct follow_plan *plan = p->spec->recording.plan;

	for (uint32_t i = 0; i < is->n; i += 1 + is->parameters[i].members) {
		const struct prototype_value *v = &is->parameters[i];

		/* Only an object that is followed already is known by this base. */
		if (is_named(v, FOLLOW_BASE))
			take_argument(p, s, r, c, word_at(r, v->at), i + 1, false);
		else if (is_named(v, FOLLOW_OBJECT) || is_named(v, FOLLOW_GIVER))
			take_argument(p, s, r, c, word_at(r, v->at), i + 1,
				      passes(plan, is, i + 1, r));
	}
}

/* By value: the argument registers as they were recorded, without a prototype. */
static void take_registers(struct follow_program *p, const struct call_step *s,
			   const struct call_record *r, struct program_call *c)
{
	const struct follow_recording *spec = &p->spec->recording;

	for (uint32_t i = 0; i < FOLLOW_ARGUMENTS; i++)
		if ((spec->nth == i || spec->nth == FOLLOW_ARGUMENTS) &&
		    word_at(r, PROTOTYPE_FIRST + 8 * i) == spec->value)
			take_argument(p, s, r, c, spec->value, 0, true);
}

/* A call whose arguments were not recorded may have had an object: it is counted as blind. Calls
 * without an object are not kept. */
static void enter_call(struct follow_program *p, const struct call_step *s)
{
	struct program_stack *stack;
	struct program_call c = { .depth = s->depth };
	struct call_record r;

	p->calls++;
	if (!(s->flags & CALL_ARGUMENTS) || !take_record(s->event, &r)) {
		p->losses.blind++;
		return;
	}
	c.function = function_of(p, p->info->threads.at[s->thread].image, s->fn);
	if (p->spec->recording.type)
		take_typed(p, s, &r, &c);
	else
		take_registers(p, s, &r, &c);
	if (!c.n || s->kind == CALL_ONLY)
		return;
	stack = stack_of(p, s);
	while (stack->open.n && stack->open.at[stack->open.n - 1].depth >= s->depth)
		stack->open.n--;
	*vec_add(&stack->open) = c;
}

/* Ends the object, and follows what the function gives for it. Returns whether that is new. */
static bool renew_objects(struct follow_program *p, const struct call_step *s, uint8_t flags,
			  uint64_t object)
{
	uint32_t space = p->info->threads.at[s->thread].pid;
	struct living_object *o = find_object(p, space, object);

	if (!p->spec->by_identity)
		return false;
	if (flags & FOLLOW_ENDS && o && o->ending == s->thread + 1)
		remove_object(p, o);
	if (!(flags & FOLLOW_GIVES) || !(s->flags & CALL_VALUE) || !s->value ||
	    s->value >= ERRORS_FROM || s->value == object || find_object(p, space, s->value))
		return false;
	return add_object(p, space, s->value);
}

/* The return of a call with objects, told for each of them. An end that brace made up (the
 * trace's) tells nothing. */
static void leave_call(struct follow_program *p, const struct call_step *s)
{
	struct program_stack *stack = stack_of(p, s);
	struct program_call c;

	while (stack->open.n && stack->open.at[stack->open.n - 1].depth > s->depth)
		stack->open.n--;
	if (!stack->open.n || stack->open.at[stack->open.n - 1].depth != s->depth ||
	    s->flags & CALL_UNFINISHED)
		return;
	c = stack->open.at[--stack->open.n];
	/* The last argument's entry was told last. */
	for (uint32_t i = c.n; i-- > 0;) {
		struct follow_event e = begin_event(p, s, c.function, c.objects[i]);

		e.is_return = 1;
		e.unwound = (s->flags & CALL_UNWOUND) != 0;
		e.result = s->flags & CALL_VALUE ? s->value : 0;
		e.child = renew_objects(p, s, p->functions.at[c.function]->is.flags, c.objects[i]);
		p->sink(p->context, &e);
	}
}

/* calls_emit */
static void take_step(void *arg, const struct call_step *s)
{
	struct follow_program *p = arg;

	switch ((enum call_kind)s->kind) {
	case CALL_ENTER: case CALL_ONLY: enter_call(p, s); return;
	case CALL_LEAVE: leave_call(p, s); return;
	case CALL_LOST: p->losses.records += s->count; return;
	default: return;
	}
}

/* Events come by time, from all threads. */
void follow_program_take(struct follow_program *p, const struct event *e)
{
	tracks_feed(&p->tracks, tracks_lane(&p->tracks, e->thread), e, take_step, p);
}

void follow_program_count(const struct follow_program *p, uint64_t *calls,
			  struct follow_program_losses *losses)
{
	*calls = p->calls;
	*losses = p->losses;
}

void follow_program_free(struct follow_program *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->functions.n; i++) {
		free(p->functions.at[i]->is.name);
		free(p->functions.at[i]->text);
		free(p->functions.at[i]);
	}
	for (size_t i = 0; i < p->stacks.n; i++)
		vec_free(&p->stacks.at[i].open);
	vec_free(&p->functions);
	vec_free(&p->known);
	vec_free(&p->objects);
	vec_free(&p->stacks);
	names_free(&p->names);
	tracks_free(&p->tracks);
	sites_free(&p->sites);
	free(p);
}
