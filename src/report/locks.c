/* SPDX-License-Identifier: MIT */
/* From calls of the functions that take and release locks to sums. Called by one thread for all
 * events. The trace may be anybody's: arguments are checked to lie in their record, threads are
 * those of the info, and all lists have a limit. Nothing fails: what is beyond a limit is
 * counted. */
#include "report/locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/format.h"
#include "report/locks_internal.h"
#include "shared/record.h"

/* A spin lock does not tell whether it was taken already: a call that lasted at least this long, in
 * ns, counts as one that waited. */
#define SPUN_NS 1000u
/* Addresses are a program's to choose: it must not fill our memory with rows. */
#define ROWS_MOST (1u << 20)

const char *const locks_by_words[LOCKS_BY_N] = { "lock", "site" };
const char *const locks_kind_words[LOCK_KINDS_N] = { "mutex", "rwlock", "spinlock", "condition",
						     "semaphore" };
const char *const locks_column_words[LOCKS_COLUMNS_N] = {
#define X(id, word) [LOCKS_##id] = word,
	LOCKS_COLUMNS(X)
#undef X
};

/* info grows while a session runs, and outlives this. */
struct locks *locks_new(const struct trace_info *info)
{
	struct locks *l = mem_zalloc(sizeof(*l));

	l->info = info;
	sites_init(&l->sites_map, info);
	tracks_init(&l->tracks, info, &l->sites_map);
	names_init(&l->names, info);
	return l;
}

void locks_free(struct locks *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->images.n; i++)
		vec_free(&l->images.at[i].functions);
	vec_free(&l->images);
	vec_free(&l->threads);
	vec_free(&l->locks);
	vec_free(&l->sites);
	vec_free(&l->orders);
	vec_free(&l->circles);
	vec_free(&l->events);
	number_map_free(&l->by_address);
	number_map_free(&l->by_site);
	number_map_free(&l->by_order);
	names_free(&l->names);
	tracks_free(&l->tracks);
	sites_free(&l->sites_map);
	free(l);
}

/* --- what is called ------------------------------------------------------------------------- */

/* NULL: it is none that takes or releases a lock. A name is compared with the table once for each
 * function: all of a program's calls come here. */
static const struct lock_function *function_of(struct locks *l, uint32_t thread, uint32_t fn)
{
	uint32_t image = l->info->threads.at[thread].image;
	const struct lock_function *f;
	uint8_t *known;

	/* Only damaged records have other numbers. */
	if (image >= l->info->images.n || !trace_info_function(l->info, image, fn, NULL))
		return NULL;
	while (l->images.n <= image)
		*vec_add(&l->images) = (struct lock_image){ 0 };
	while (l->images.at[image].functions.n <= fn)
		*vec_add(&l->images.at[image].functions) = 0;
	known = &l->images.at[image].functions.at[fn];
	if (!*known) {
		const struct name name = names_of(&l->names, image, fn);

		f = lock_function_find(name.text, name.n);
		*known = f ? (uint8_t)(2 + (f - lock_functions)) : 1;
	}
	return *known < 2 ? NULL : &lock_functions[*known - 2];
}

/* Argument number n, from 0 on. False: the record does not have it. */
static bool argument_of(const struct event *e, unsigned n, uint64_t *value)
{
	if (e->count < 8 * (n + 1))
		return false;
	*value = e->payload[n];
	return true;
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Several of one address are rows of their own: one process's each. NO_LOCK: there is no address,
 * or no room. */
uint32_t locks_row(struct locks *l, uint32_t pid, uint64_t address, enum lock_kind kind)
{
	uint64_t key = address ^ (uint64_t)pid << 48 ^ (uint64_t)kind << 60;
	uint64_t known = number_map_get(&l->by_address, key);

	if (known != NUMBER_NONE)
		return (uint32_t)known;
	if (!address || l->locks.n >= ROWS_MOST)
		return NO_LOCK;
	number_map_set(&l->by_address, key, l->locks.n);
	*vec_add(&l->locks) = (struct lock_row){ .kind = kind, .pid = pid, .address = address,
						 .site = NO_LOCK };
	return (uint32_t)l->locks.n - 1;
}

/* A place in the code is one of an image: two programs have different functions at one address.
 * tsc: when it was met, for modules that come and go. Where there is no room for another place, the
 * first one stands for it and has its times. */
uint32_t locks_site(struct locks *l, uint32_t image, uint64_t address, enum lock_kind kind,
		    uint64_t tsc)
{
	uint64_t key = (address ^ (uint64_t)image << 48) + 1 + ((uint64_t)kind << 60);
	uint64_t known = number_map_get(&l->by_site, key);

	if (known != NUMBER_NONE)
		return (uint32_t)known;
	if (l->sites.n >= ROWS_MOST)
		return 0;
	number_map_set(&l->by_site, key, l->sites.n);
	*vec_add(&l->sites) = (struct lock_row){ .kind = kind, .address = address, .image = image,
						 .tsc = tsc };
	return (uint32_t)l->sites.n - 1;
}

/* The address behind the call; 0 as its address: not known. */
static uint32_t site_of(struct locks *l, const struct call_step *s, enum lock_kind kind)
{
	uint32_t image = l->info->threads.at[s->thread].image;

	return locks_site(l, image, trace_info_site(l->info, image, s->site), kind, s->tsc);
}

/* ticks 0 for a lock that was free counts, too: the mean is that of all. */
static void add_wait(struct lock_sums *s, uint64_t ticks, bool contended)
{
	s->acquired++;
	s->contended += contended;
	s->wait += ticks;
	s->wait_max = ticks > s->wait_max ? ticks : s->wait_max;
}

/* Ends of holdings alone: a lock that is held at the end of the trace has a wait and no hold. */
static void add_hold(struct lock_sums *s, uint64_t ticks)
{
	s->held++;
	s->hold += ticks;
	s->hold_max = ticks > s->hold_max ? ticks : s->hold_max;
}

/* --- what is held --------------------------------------------------------------------------- */

/* Valid until a later thread is asked for. */
static struct lock_thread *thread_of(struct locks *l, uint32_t thread)
{
	while (l->threads.n <= thread)
		*vec_add(&l->threads) = (struct lock_thread){ 0 };
	return &l->threads.at[thread];
}

/* NULL: the thread does not hold it. The last one first: most locks are released in the reverse
 * order. */
static struct lock_holding *find_held(struct lock_thread *t, uint32_t lock)
{
	for (unsigned i = t->n_held; i-- > 0;)
		if (t->held[i].lock == lock)
			return &t->held[i];
	return NULL;
}

/* orders: it might have waited for the lock. A try did not wait, whether it succeeded or not: it
 * makes no order. More locks than LOCKS_HELD are not noted, and their releases count as foreign. */
static void take_lock(struct locks *l, uint32_t thread, uint32_t lock, uint32_t site, uint64_t tsc,
		      bool orders)
{
	struct lock_thread *t = thread_of(l, thread);
	struct lock_holding *h = find_held(t, lock);

	if (h) {
		h->depth++;
		return;
	}
	if (orders)
		locks_order_add(l, t, thread, lock, site, 1);
	if (t->n_held < LOCKS_HELD)
		t->held[t->n_held++] = (struct lock_holding){ lock, site, 1, tsc };
}

/* whole: however often the thread has taken it. False: it does not hold the lock. Holdings close
 * up, so that they stay in the order in which they were taken. The place that took the lock has its
 * time, not the one that gives it back. */
static bool release(struct locks *l, uint32_t thread, uint32_t lock, uint64_t tsc, bool whole)
{
	struct lock_thread *t = thread_of(l, thread);
	struct lock_holding *h = find_held(t, lock);
	uint64_t ticks;

	if (!h)
		return false;
	if (!whole && --h->depth)
		return true;
	ticks = tsc > h->since ? tsc - h->since : 0;
	add_hold(&l->locks.at[lock].sums, ticks);
	add_hold(&l->sites.at[h->site].sums, ticks);
	memmove(h, h + 1, (size_t)(&t->held[--t->n_held] - h) * sizeof(*h));
	return true;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* The arguments are those of the event that the step is made of. A spin lock's call is followed
 * without them: an event of a probe may tell its address (lock_thread.spin). pthread_cond_wait()
 * gives its mutex, the second argument, back for as long as it waits, however often it was taken.
 * Of many calls without an end the outermost is forgotten. */
static void begin_call(struct locks *l, const struct call_step *s)
{
	const struct lock_function *f = function_of(l, s->thread, s->fn);
	uint32_t pid = l->info->threads.at[s->thread].pid;
	struct lock_call c = { .f = f, .fn = s->fn, .lock = NO_LOCK, .other = NO_LOCK,
			       .begin = s->tsc };
	struct lock_thread *t = thread_of(l, s->thread);
	uint64_t address;

	if (!f)
		return;
	if (s->flags & CALL_ARGUMENTS && argument_of(s->event, 0, &address))
		c.lock = locks_row(l, pid, address, f->kind);
	else if (f->kind != LOCK_SPIN)
		return;
	if (f->act == ACT_RELEASE && c.lock != NO_LOCK) {
		if (!release(l, s->thread, c.lock, s->tsc, false) && f->kind != LOCK_SPIN)
			l->foreign++;
		return;
	}
	if (f->act == ACT_WAIT && argument_of(s->event, 1, &address))
		c.other = locks_row(l, pid, address, LOCK_MUTEX);
	if (c.other != NO_LOCK)
		c.released = release(l, s->thread, c.other, s->tsc, true);
	if (t->n_calls == LOCKS_CALLS)
		memmove(t->calls, t->calls + 1, --t->n_calls * sizeof(*t->calls));
	t->calls[t->n_calls++] = c;
}

/* Whether the call got what it was for. The owner of a robust mutex may have died. pthread
 * functions return 0 or an errno as an int, of which rax has the lower half. A wait has got its
 * mutex back in any case, also with ETIMEDOUT. Without a recorded value the call is taken for a
 * success. */
static bool is_got(const struct lock_call *c, const struct call_step *s)
{
	if (s->flags & (CALL_UNWOUND | CALL_UNFINISHED))
		return false;
	return c->f->act == ACT_WAIT || !(s->flags & CALL_VALUE) || !(uint32_t)s->value ||
	       (c->f->kind == LOCK_MUTEX && (uint32_t)s->value == EOWNERDEAD);
}

/* A lock is taken when the call returns, and released when the call begins: between the two nobody
 * can tell. So a holding is never told longer than it was. A wait's mutex counts as taken anew, at
 * the wait's own place; condition variables and semaphores belong to nobody, and are not held. */
static void end_call(struct locks *l, const struct call_step *s)
{
	struct lock_thread *t = thread_of(l, s->thread);
	struct lock_call c;
	uint64_t ticks;
	uint32_t site;

	/* Calls within it have not told their ends. */
	while (t->n_calls && t->calls[t->n_calls - 1].fn != s->fn)
		t->n_calls--;
	if (!t->n_calls)
		return;
	c = t->calls[--t->n_calls];
	if (c.lock == NO_LOCK)
		c.lock = locks_row(l, l->info->threads.at[s->thread].pid, t->spin, c.f->kind);
	if (c.lock == NO_LOCK)
		return;
	if (c.f->act == ACT_RELEASE) {
		release(l, s->thread, c.lock, c.begin, false);
		return;
	}
	site = site_of(l, s, c.f->kind);
	if (c.released)
		take_lock(l, s->thread, c.other, site, s->tsc, true);
	if (!l->sites.n || !is_got(&c, s))
		return;
	ticks = s->tsc > c.begin ? s->tsc - c.begin : 0;
	c.contended |= c.f->kind == LOCK_SPIN && ticks >= l->spun;
	add_wait(&l->locks.at[c.lock].sums, ticks, c.contended);
	add_wait(&l->sites.at[site].sums, ticks, c.contended);
	if (l->locks.at[c.lock].site == NO_LOCK)
		l->locks.at[c.lock].site = site;
	if (c.f->kind != LOCK_COND && c.f->kind != LOCK_SEM)
		take_lock(l, s->thread, c.lock, site, s->tsc, lock_act_waits(c.f->act));
}

/* Losses leave nothing known, and so not what the thread holds. Otherwise a lost release would make
 * a lock be held for ever, and an order out of each later one. */
static void forget(struct locks *l, uint32_t thread)
{
	struct lock_thread *t = thread_of(l, thread);

	t->n_calls = t->n_held = 0;
}

/* calls_emit */
static void take_step(void *arg, const struct call_step *s)
{
	struct locks *l = arg;

	if (s->kind == CALL_ENTER)
		begin_call(l, s);
	else if (s->kind == CALL_LEAVE && function_of(l, s->thread, s->fn))
		end_call(l, s);
	else if (s->kind == CALL_LOST)
		forget(l, s->thread);
}

/* Learned at its first record: events of a live session may come later. An event without a format
 * that can be read, or without an arg1 of 8 bytes, has offset 0: it tells nothing. */
static struct lock_event learn_event(const struct trace_event *e)
{
	struct lock_event known = { .known = true, .futex = !strcmp(e->system, "syscalls") &&
					     !strcmp(e->name, "sys_enter_futex") };
	const struct event_field *field;
	enum event_field_kind kind;
	struct event_format *f;
	struct err ignored;

	if (strncmp(e->name, "pthread_spin_", 13))
		return known;
	f = event_format_parse(e->format, strlen(e->format), e->system, &ignored);
	if (!f)
		return known;
	field = event_find_field(f, "arg1", 4, &kind);
	known.offset = field && field->size == 8 ? field->offset : 0;
	event_format_free(f);
	return known;
}

/* Two sorts of events count: a call of futex(), by which a mutex waits in the kernel, and probes
 * that tell a spin lock's address. */
static void take_event(struct locks *l, const struct event *e)
{
	struct lock_thread *t = thread_of(l, e->thread);
	struct lock_event known;

	if (!trace_info_event(l->info, e->fn))
		return;
	while (l->events.n <= e->fn)
		*vec_add(&l->events) = (struct lock_event){ 0 };
	if (!l->events.at[e->fn].known)
		l->events.at[e->fn] = learn_event(trace_info_event(l->info, e->fn));
	known = l->events.at[e->fn];
	if (known.futex && t->n_calls)
		t->calls[t->n_calls - 1].contended = true;
	/* Places count from the common fields on, which the payload lacks. */
	if (known.offset >= EVENT_COMMON_BYTES && known.offset <= e->count)
		memcpy(&t->spin, (const uint8_t *)e->payload + known.offset - EVENT_COMMON_BYTES,
		       sizeof(t->spin));
}

/* Ticks a second are known when the first event comes, not when the table is made. A row that a
 * thread has added up itself (EVENT_LOCK_ROW) is no step of a call, and goes its own way. */
void locks_event(struct locks *l, const struct event *e)
{
	if (e->thread >= l->info->threads.n)
		return;
	if (!l->spun)
		l->spun = l->info->clock.hz / (1000000000 / SPUN_NS);
	l->last = *e;
	if (e->kind == EVENT_TRACE && e->fn == EVENT_LOCK_ROW) {
		locks_take_row(l, e);
		return;
	}
	if (e->kind == EVENT_TRACE)
		take_event(l, e);
	tracks_feed(&l->tracks, tracks_lane(&l->tracks, e->thread), e, take_step, l);
}

/* Calls end before circles are looked for: the end of a wait takes its mutex again, which may make
 * orders. */
void locks_end(struct locks *l)
{
	tracks_end(&l->tracks, &l->last, take_step, l);
	locks_order_circles(l);
}

size_t locks_count(const struct locks *l)
{
	return l->locks.n;
}
