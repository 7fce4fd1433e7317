/* SPDX-License-Identifier: MIT */
/* Objects by address and tasks by number are sorted arrays, because there are few at a time. An
 * object leaves the array when the function that ends it has returned, for the address may be
 * another one's with the next event, and lives on until its last call has returned. Nothing fails:
 * where events are missing, a return is alone, or an entry without its return. Called on brace's
 * thread. */
#include "follow/objects.h"

#include <string.h>

/* Lines kept in all, some 100 MB: then all objects' are given. */
#define LINES_MAX 500000u

/* A call that has not returned. */
struct object_call {
	struct follow_object *object;
	uint64_t ns, address;    /* the argument's */
	uint32_t function, depth;
	uint32_t line;           /* 1 + its entry's index in lines; 0: given already */
	bool same_call;          /* the call above it is the same one, with another object */
};

struct follow_task { uint64_t id; VEC(struct object_call) open; };

/* A group of the kernel that a program's object has been seen to lead to: its later calls are the
 * object's lines, too. */
struct object_join { uint64_t group; struct follow_object *to; };

struct follow_objects {
	struct follow_readers to;
	VEC(struct follow_object *) living; /* by address */
	VEC(struct follow_object *) ended;  /* with open calls */
	VEC(struct follow_task) tasks;      /* by id */
	VEC(struct object_join) joins;
	struct follow_totals totals;
	size_t lines;
};

struct follow_objects *follow_objects_new(const struct follow_readers *readers)
{
	struct follow_objects *all = mem_zalloc(sizeof(*all));

	all->to = *readers;
	return all;
}

struct follow_totals follow_objects_totals(const struct follow_objects *all)
{
	return all->totals;
}

/* --- objects ---------------------------------------------------------------------------- */

/* Where the object is among the living ones, or is to be. */
static size_t offset_of_object(const struct follow_objects *all, uint32_t space, uint64_t address)
{
	return vec_bisect(&all->living, o,
			  (*o)->space < space || ((*o)->space == space && (*o)->address < address));
}

/* NULL: no living object of that process has this address. */
static struct follow_object *find_object(const struct follow_objects *all, uint32_t space,
					 uint64_t address)
{
	size_t i = offset_of_object(all, space, address);
	struct follow_object *o = i < all->living.n ? all->living.at[i] : NULL;

	return o && o->space == space && o->address == address ? o : NULL;
}

/* A new object, in its place by address; numbers are given in the order of first calls. */
static struct follow_object *add_object(struct follow_objects *all, uint32_t space,
					uint64_t address)
{
	struct follow_object *o = mem_zalloc(sizeof(*o));
	size_t i = offset_of_object(all, space, address);

	o->space = space;
	o->address = address;
	o->number = (uint32_t)++all->totals.objects;
	vec_add(&all->living);
	memmove(all->living.at + i + 1, all->living.at + i,
		(all->living.n - 1 - i) * sizeof(*all->living.at));
	all->living.at[i] = o;
	return o;
}

/* Gives the lines, and forgets them: open calls know of no line any more. */
static void give_lines(struct follow_objects *all, struct follow_object *o)
{
	if (!o->lines.n)
		return;
	all->to.object(all->to.context, o);
	all->lines -= o->lines.n;
	vec_free(&o->lines);
	o->continued = true;
}

/* Its later calls in the kernel are nobody's. */
static void forget_joins(struct follow_objects *all, const struct follow_object *o)
{
	for (size_t i = all->joins.n; i-- > 0;)
		if (all->joins.at[i].to == o)
			all->joins.at[i] = all->joins.at[--all->joins.n];
}

/* Gives the lines that are left first. */
static void free_object(struct follow_objects *all, struct follow_object *o)
{
	give_lines(all, o);
	free(o);
}

/* Frees an ended object that no call is open of. */
static void let_go(struct follow_objects *all, struct follow_object *o)
{
	if (!o->ended_by || o->open)
		return;
	for (size_t i = 0; i < all->ended.n; i++)
		if (all->ended.at[i] == o) {
			all->ended.at[i] = all->ended.at[--all->ended.n];
			free_object(all, o);
			return;
		}
}

/* Takes the object out of the living ones: the address may be given anew. function: that ended
 * it. */
static void end_object(struct follow_objects *all, struct follow_object *o, uint32_t function)
{
	size_t i = offset_of_object(all, o->space, o->address);

	forget_joins(all, o);
	o->ended_by = function + 1;
	o->ending = false;
	memmove(all->living.at + i, all->living.at + i + 1,
		(--all->living.n - i) * sizeof(*all->living.at));
	*vec_add(&all->ended) = o;
}

/* --- tasks ------------------------------------------------------------------------------ */

/* Idle tasks all have the number 0, one on each CPU. */
static struct follow_task *task_of(struct follow_objects *all, const struct follow_event *e)
{
	uint64_t id = e->tid ? e->tid : 1ull << 32 | e->cpu;
	size_t i = vec_bisect(&all->tasks, t, t->id < id);

	if (i == all->tasks.n || all->tasks.at[i].id != id) {
		vec_add(&all->tasks);
		memmove(all->tasks.at + i + 1, all->tasks.at + i,
			(all->tasks.n - 1 - i) * sizeof(*all->tasks.at));
		all->tasks.at[i] = (struct follow_task){ .id = id };
	}
	return &all->tasks.at[i];
}

/* The number of the object's calls that are open on the task: its own depth, not the stack's. */
static uint32_t depth_of(const struct follow_task *t, const struct follow_object *o)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < t->open.n; i++)
		depth += t->open.at[i].object == o;
	return depth;
}

/* --- graphs ----------------------------------------------------------------------------- */

/* The graph that a program's object has with this group, or NULL. */
static struct follow_object *joined(const struct follow_objects *all, uint64_t group)
{
	for (size_t i = 0; i < all->joins.n; i++)
		if (all->joins.at[i].group == group)
			return all->joins.at[i].to;
	return NULL;
}

/* Lines that were added before stay in the graph that they are in: the newest one gets what comes
 * from here on. */
static void join(struct follow_objects *all, uint64_t group, struct follow_object *to)
{
	for (size_t i = 0; i < all->joins.n; i++)
		if (all->joins.at[i].group == group) {
			all->joins.at[i].to = to;
			return;
		}
	*vec_add(&all->joins) = (struct object_join){ group, to };
}

/* The program's object in whose call the task is, or NULL. */
static struct follow_object *program_object(const struct follow_task *t)
{
	for (size_t i = t->open.n; i-- > 0;) {
		struct follow_object *o = t->open.at[i].object;

		if (o->space && o->space != FOLLOW_GROUPS && !o->ended_by)
			return o;
	}
	return NULL;
}

/* The graph of an entry. An object of the kernel is shown within the program's object in whose call
 * it is met, from then on; a group has one graph. NULL: there is none yet. */
static struct follow_object *graph_of(struct follow_objects *all, const struct follow_task *t,
				      const struct follow_event *e)
{
	uint64_t group = e->group ? e->group : e->object;
	struct follow_object *o = e->beyond ? program_object(t) : NULL;

	if (o)
		join(all, group, o);
	else if (e->beyond)
		o = joined(all, group);
	if (o)
		return o;
	return e->group ? find_object(all, FOLLOW_GROUPS, e->group)
			: find_object(all, e->space, e->object);
}

/* The object that a new one is made of: a copy of a buffer, a part of a packet, a bio of an inode's
 * data. NULL: there is none. */
static const struct follow_object *parent_of(const struct follow_objects *all,
					     const struct follow_event *e)
{
	if (e->why == FOLLOW_BY_COPY)
		return find_object(all, FOLLOW_GROUPS, e->result);
	return e->why == FOLLOW_BY_PART || e->why == FOLLOW_BY_DATA
		       ? find_object(all, e->space, e->result) : NULL;
}

static struct follow_object *add_graph(struct follow_objects *all, const struct follow_event *e)
{
	const struct follow_object *parent = parent_of(all, e);
	struct follow_object *o = e->group ? add_object(all, FOLLOW_GROUPS, e->group)
					   : add_object(all, e->space, e->object);

	o->kind = e->kind;
	if (parent) {
		o->parent = parent->number;
		o->made_by = e->function + 1;
	}
	return o;
}

/* Not that of another object, which this one is shown within. */
static bool is_own_graph(const struct follow_object *o, const struct follow_event *e)
{
	return e->group ? o->space == FOLLOW_GROUPS && o->address == e->group
			: o->space == e->space && o->address == e->object;
}

/* --- lines ------------------------------------------------------------------------------ */

/* A line with what every one has of its event; the caller adds depth, result and their kin. */
static struct follow_line line_of(const struct follow_event *e)
{
	struct follow_line l = {
		.ns = e->ns, .function = e->function, .cpu = e->cpu, .pid = e->pid, .tid = e->tid,
		.is_return = e->is_return, .why = e->why, .valid = e->valid, .kind = e->kind,
		.kinds = (uint16_t)(1u << e->kind), .beyond = e->beyond, .object = e->object,
	};

	memcpy(l.comm, e->comm, sizeof(l.comm));
	memcpy(l.shown, e->shown, sizeof(l.shown));
	return l;
}

/* Returns 1 + the line's index, or 0 if lines are not kept. */
static uint32_t add_line(struct follow_objects *all, struct follow_object *o,
			 const struct follow_line *l)
{
	if (all->to.line)
		all->to.line(all->to.context, o, l);
	if (!all->to.object)
		return 0;
	*vec_add(&o->lines) = *l;
	all->lines++;
	return (uint32_t)o->lines.n;
}

/* Open calls keep no line: their returns are lines of a later part. */
static void give_all(struct follow_objects *all)
{
	for (size_t i = 0; i < all->living.n; i++)
		give_lines(all, all->living.at[i]);
	for (size_t i = 0; i < all->ended.n; i++)
		give_lines(all, all->ended.at[i]);
	for (size_t i = 0; i < all->tasks.n; i++)
		for (size_t k = 0; k < all->tasks.at[i].open.n; k++)
			all->tasks.at[i].open.at[k].line = 0;
}

/* --- events ----------------------------------------------------------------------------- */

/* Whether the graph ends with this object: a descriptor's with its file, which a packet outlives; a
 * program's with its own. */
static bool ends_graph(const struct follow_object *o, const struct follow_event *e)
{
	return o->space == FOLLOW_GROUPS ? e->kind == FOLLOW_FILE
					 : o->space == e->space && o->address == e->object;
}

/* One more object of a call whose line is in the graph already: the line tells of both. False: it
 * is no such one. */
static bool is_told(const struct follow_task *t, struct follow_object *o,
		    const struct follow_event *e)
{
	const struct object_call *c = t->open.n ? &t->open.at[t->open.n - 1] : NULL;

	if (!e->single || !e->group || !c || c->object != o || c->function != e->function)
		return false;
	if (c->line)
		o->lines.at[c->line - 1].kinds |= (uint16_t)(1u << e->kind);
	return true;
}

/* The call is open from now on. One more object of the kernel's latest call lies below it: that
 * one's return is both's. */
static void open_call(struct follow_task *t, struct object_call c, const struct follow_event *e)
{
	size_t n = t->open.n;

	c.same_call = e->single && n && t->open.at[n - 1].function == e->function;
	*vec_add(&t->open) = c;
	if (!c.same_call)
		return;
	t->open.at[n] = t->open.at[n - 1];
	t->open.at[n - 1] = c;
}

static void take_entry(struct follow_objects *all, const struct follow_event *e)
{
	const struct follow_function *f = all->to.function(all->to.context, e->function);
	struct follow_task *t = task_of(all, e);
	struct follow_object *o = graph_of(all, t, e);
	struct follow_line l = line_of(e);
	uint32_t line;

	/* The function that ends it has not told its return, and the memory is another's. */
	if (o && o->ending && e->first && is_own_graph(o, e)) {
		end_object(all, o, o->ending_in);
		let_go(all, o);
		o = NULL;
	}
	if (!o)
		o = add_graph(all, e);
	if (is_told(t, o, e))
		return;
	l.depth = depth_of(t, o);
	o->calls++;
	all->totals.calls++;
	line = add_line(all, o, &l);
	if (e->single && e->space)
		return;
	o->open++;
	open_call(t, (struct object_call){ o, e->ns, e->object, e->function, l.depth, line, false },
		  e);
	if (f && f->flags & FOLLOW_ENDS && ends_graph(o, e)) {
		o->ending = true;
		o->ending_in = e->function;
	}
}

/* Whether the return can be of this call. */
static bool is_of(const struct object_call *c, const struct follow_event *e)
{
	return c->function == e->function && c->address == e->object;
}

/* Takes the latest open call that the return may be of. What was called later and has not told its
 * return never will. False: there is none. */
static bool close_call(struct follow_objects *all, struct follow_task *t,
		       const struct follow_event *e, struct object_call *out)
{
	size_t i = t->open.n;

	while (i && !is_of(&t->open.at[i - 1], e))
		i--;
	if (!i)
		return false;
	while (t->open.n > i) {
		struct follow_object *lost = t->open.at[--t->open.n].object;

		lost->open--;
		if (lost != t->open.at[i - 1].object)
			let_go(all, lost);
	}
	*out = t->open.at[--t->open.n];
	return true;
}

/* The value that the function returned is an object, too, followed from here on, unless it is one
 * already. In a graph of several it is one more of them. */
static void make_child(struct follow_objects *all, const struct follow_object *o,
		       const struct follow_event *e, struct follow_line *l)
{
	struct follow_object *child;

	bool of_buffer = o->space == FOLLOW_GROUPS && o->address & FOLLOW_IS_BUFFER;

	if (!of_buffer && o->space != e->space)
		return;
	child = find_object(all, e->space, e->result);
	if (!child) {
		child = add_object(all, e->space, e->result);
		child->parent = o->number;
		child->made_by = e->function + 1;
		child->kind = of_buffer ? FOLLOW_PACKET : o->kind;
	}
	l->child = child->number;
}

/* The call is found among the open ones, or the return is alone: tracing began within it. Lines
 * know of each other, so that a leaf is printed as one. */
static void take_one_return(struct follow_objects *all, struct follow_task *t,
			    const struct follow_event *e)
{
	struct object_call call = { 0 };
	struct follow_line l = line_of(e);
	bool known = close_call(all, t, e, &call);
	struct follow_object *o = known ? call.object : find_object(all, e->space, e->object);
	uint32_t at;

	if (!o)
		o = add_object(all, e->space, e->object);
	l.result = e->result;
	l.is_alone = !known;
	l.unwound = e->unwound;
	l.depth = known ? call.depth : depth_of(t, o);
	l.duration = known && e->ns > call.ns ? e->ns - call.ns : 0;
	o->returns++;
	o->open -= known;
	all->totals.returns++;
	if (e->child)
		make_child(all, o, e, &l);
	at = add_line(all, o, &l);
	if (at && call.line)
		o->lines.at[call.line - 1].other = at;
	if (o->ending && o->ending_in == e->function)
		end_object(all, o, e->function);
	let_go(all, o);
}

/* The return is also told of the call's other objects. */
static void take_return(struct follow_objects *all, const struct follow_event *e)
{
	struct follow_task *t = task_of(all, e);
	struct follow_event other = *e;

	take_one_return(all, t, e);
	other.child = 0;
	while (t->open.n && t->open.at[t->open.n - 1].same_call &&
	       t->open.at[t->open.n - 1].function == e->function) {
		other.object = t->open.at[t->open.n - 1].address;
		take_one_return(all, t, &other);
	}
}

/* Memory is bounded: with too many lines all that there are go out, and objects continue in
 * later parts. */
void follow_objects_event(struct follow_objects *all, const struct follow_event *e)
{
	if (e->is_return)
		take_return(all, e);
	else
		take_entry(all, e);
	if (all->lines > LINES_MAX)
		give_all(all);
}

/* In the order of their numbers, which is that of their first calls. */
static int by_number(const void *a, const void *b)
{
	const struct follow_object *const *x = a, *const *y = b;

	return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* All objects are given, those with open calls, too. */
void follow_objects_end(struct follow_objects *all)
{
	while (all->ended.n)
		*vec_add(&all->living) = all->ended.at[--all->ended.n];
	if (all->living.n)
		qsort(all->living.at, all->living.n, sizeof(struct follow_object *), by_number);
	for (size_t i = 0; i < all->living.n; i++)
		free_object(all, all->living.at[i]);
	all->living.n = 0;
	for (size_t i = 0; i < all->tasks.n; i++)
		vec_free(&all->tasks.at[i].open);
	all->tasks.n = 0;
}

/* Gives nothing: for an end after a fault. */
void follow_objects_free(struct follow_objects *all)
{
	for (size_t i = 0; i < all->living.n; i++) {
		vec_free(&all->living.at[i]->lines);
		free(all->living.at[i]);
	}
	for (size_t i = 0; i < all->ended.n; i++) {
		vec_free(&all->ended.at[i]->lines);
		free(all->ended.at[i]);
	}
	for (size_t i = 0; i < all->tasks.n; i++)
		vec_free(&all->tasks.at[i].open);
	vec_free(&all->living);
	vec_free(&all->ended);
	vec_free(&all->tasks);
	vec_free(&all->joins);
	free(all);
}
