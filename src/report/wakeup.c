/* SPDX-License-Identifier: MIT */
/* Pairs waits with wakes. Called by one thread for all events. The trace may be anybody's:
 * numbers, places and lengths of a record are checked as they are read, threads are those of its
 * info, and all lists have a limit.
 *
 * A call stands in a table by each object that it waits for or wakes by, so that either finds the
 * other when it begins: a call has seen each wake that overlaps with it. A switch in makes a wait
 * of what the thread's call has seen. It is decided when its own call has ended, which tells a
 * timer from a wake, and when the wakes have returned, which tells how many they woke. */
#include "report/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/format.h"
#include "report/wakeup_internal.h"

#define PENDING_MOST 256u /* waits that are not decided; the oldest is, then, by what is known */
#define KEYS_MOST 64u
#define NODES_MOST 4096u
#define SKEW_NS 10000u    /* of the kernel's clock and the threads', at most */
#define SLEEPS 0xffu      /* of prev_state: those in which a thread waits */

#define NEED(system, name) { system, name, system ":" name }
const struct wakeup_need wakeup_needs[] = {
	NEED("raw_syscalls", "sys_enter"),  NEED("raw_syscalls", "sys_exit"),
	NEED("sched", "sched_switch"),      NEED("syscalls", "sys_exit_pipe"),
	NEED("syscalls", "sys_exit_pipe2"), NEED("syscalls", "sys_exit_socketpair"),
	NEED("syscalls", "sys_enter_poll"), NEED("syscalls", "sys_enter_ppoll"),
	{ NULL, NULL, NULL },
};

/* info grows while a session runs; everything here asks it anew, and keeps no address of its
 * rows. */
struct wakeup *wakeup_new(const struct trace_info *info, enum wakeup_by by)
{
	struct wakeup *w = mem_zalloc(sizeof(*w));

	w->info = info;
	w->by = by;
	w->functions = open_functions_new(info);
	w->files = wakeup_files_new();
	names_init(&w->names, info);
	return w;
}

void wakeup_watch(struct wakeup *w, void (*found)(void *arg, const struct wakeup_found *f),
		  void *arg)
{
	w->found = found;
	w->found_arg = arg;
}

/* --- wakes ---------------------------------------------------------------------------------- */

/* A wake is the call's, the waits' that saw it, and the signals' list's: the last one frees it. */
static void drop_wake(struct wakeup_wake *k)
{
	if (k && !--k->refs)
		free(k);
}

/* The call's wake, made at need. */
static struct wakeup_wake *wake_of(struct wakeup *w, uint32_t thread, struct wakeup_call *c,
				   uint64_t tsc, uint16_t cpu)
{
	struct wakeup_wake *k = mem_zalloc(sizeof(*k));

	k->refs = 1;
	k->thread = thread;
	k->enter = tsc;
	k->cpu = cpu;
	k->n = open_functions_copy(w->functions, thread, k->functions, WAKEUP_FUNCTIONS);
	c->wake = k;
	return k;
}

/* The latest ones of many wakes are kept. */
static void see_wake(struct wakeup_call *c, struct wakeup_wake *k, enum wakeup_way way)
{
	for (size_t i = 0; i < c->seen.n; i++)
		if (c->seen.at[i].wake == k)
			return;
	if (c->seen.n == WAKEUP_SEEN) {
		drop_wake(c->seen.at[0].wake);
		memmove(c->seen.at, c->seen.at + 1, (WAKEUP_SEEN - 1) * sizeof(*c->seen.at));
		c->seen.n--;
	}
	k->refs++;
	*vec_add(&c->seen) = (struct wakeup_candidate){ k, way };
}

/* By the object; the multiplier is that of Fibonacci hashing. */
static struct wakeup_bucket *bucket_of(struct wakeup *w, const struct wakeup_key *k)
{
	uint64_t h = (k->value ^ (uint64_t)k->space << 32 ^ (uint64_t)k->kind << 60) *
		     0x9e3779b97f4a7c15u;

	return &w->buckets[h >> 54 & (WAKEUP_BUCKETS - 1)];
}

static bool is_same(const struct wakeup_key *a, const struct wakeup_key *b)
{
	return a->kind == b->kind && a->space == b->space && a->value == b->value;
}

/* NULL: the call has ended. */
static struct wakeup_call *call_of(struct wakeup *w, const struct wakeup_node *n)
{
	struct wakeup_thread *t = &w->threads.at[n->thread];

	for (unsigned i = 0; i < t->n; i++)
		if (t->open[i].serial == n->serial)
			return &t->open[i];
	return NULL;
}

/* Adds the call to the table; false: it has too many objects. Where there are too many calls, one
 * of the first makes room: a thread's last one stays for ever. */
static bool add_node(struct wakeup *w, struct wakeup_call *c, const struct wakeup_node *n)
{
	struct wakeup_bucket *b = bucket_of(w, &n->key);

	if (c->keys.n >= KEYS_MOST)
		return false;
	*vec_add(&c->keys) = n->key;
	if (b->nodes.n >= NODES_MOST)
		b->nodes.at[0] = b->nodes.at[--b->nodes.n];
	*vec_add(&b->nodes) = *n;
	return true;
}

/* Both orders are looked for, here and in wakeup_wake_by(): a wake that has begun already may
 * still be on its way to the sleeper. */
void wakeup_wait_for(struct wakeup *w, struct wakeup_call *c, struct wakeup_key key,
		     enum wakeup_way way)
{
	const struct wakeup_bucket *b = bucket_of(w, &key);

	for (size_t i = 0; i < b->nodes.n; i++)
		if (b->nodes.at[i].wake && b->nodes.at[i].thread != c->thread &&
		    is_same(&b->nodes.at[i].key, &key))
			see_wake(c, b->nodes.at[i].wake, way);
	add_node(w, c, &(struct wakeup_node){ key, c->thread, c->serial, way, NULL });
}

/* A thread does not wake itself: its own nodes are passed over. WAY_FUTEX stands for "it wakes";
 * the way is that of the waiter's node. */
void wakeup_wake_by(struct wakeup *w, struct wakeup_call *c, struct wakeup_key key)
{
	const struct wakeup_bucket *b = bucket_of(w, &key);

	if (!add_node(w, c, &(struct wakeup_node){ key, c->thread, c->serial, WAY_FUTEX, c->wake }))
		return;
	for (size_t i = 0; i < b->nodes.n; i++) {
		const struct wakeup_node *n = &b->nodes.at[i];
		struct wakeup_call *waits = NULL;

		if (!n->wake && n->thread != c->thread && is_same(&n->key, &key))
			waits = call_of(w, n);
		if (waits)
			see_wake(waits, c->wake, n->way);
	}
}

/* Whether a signal is for the thread: by its own number, or, if tid is 0, by its process's. */
static bool is_for(const struct wakeup *w, const struct wakeup_thread *of, uint32_t tid,
		   uint32_t pid)
{
	const struct trace_thread *t = &w->info->threads.at[of->number];

	return tid ? t->tid == tid : t->pid == pid;
}

/* A signal has no object by which its receiver could be found in the table. It is seen by the
 * threads that it is for, and kept for those that have not begun to wait. */
void wakeup_signal(struct wakeup *w, struct wakeup_call *c, uint32_t tid, uint32_t pid)
{
	if (w->signals.n >= PENDING_MOST)
		return;
	c->wake->refs++;
	*vec_add(&w->signals) = (struct wakeup_signalled){ tid, pid, c->wake };
	for (size_t i = 0; i < w->threads.n; i++) {
		struct wakeup_thread *t = &w->threads.at[i];

		if (i != c->thread && t->n && is_for(w, t, tid, pid))
			see_wake(&t->open[t->n - 1], c->wake, WAY_SIGNAL);
	}
}

/* Signals that were sent before the call began, and still are under way. */
static void see_signals(struct wakeup *w, struct wakeup_call *c)
{
	for (size_t i = 0; i < w->signals.n; i++)
		if (is_for(w, &w->threads.at[c->thread], w->signals.at[i].tid,
			   w->signals.at[i].pid))
			see_wake(c, w->signals.at[i].wake, WAY_SIGNAL);
}

/* --- waits ---------------------------------------------------------------------------------- */

/* Gives back what begin_wait() took: a reference to each wake that was seen. */
static void free_wait(struct wakeup_wait *wait)
{
	for (size_t i = 0; i < wait->seen.n; i++)
		drop_wake(wait->seen.at[i].wake);
	vec_free(&wait->seen);
	free(wait);
}

/* Whether the wake may have ended the wait, if it has woken anybody. */
static bool may_be(const struct wakeup *w, const struct wakeup_wait *wait,
		   const struct wakeup_candidate *c)
{
	const struct wakeup_wake *k = c->wake;

	if (k->enter > wait->in ||
	    (k->closed && k->leave < wait->out && wait->out - k->leave > w->skew))
		return false;
	/* The child's number is the result, but of waitid(). */
	return c->way != WAY_CHILD || !wait->returned || wait->result <= 0 ||
	       w->info->threads.at[k->thread].pid == (uint64_t)wait->result;
}

/* A signal has ended the call. */
static bool is_interrupted(const struct wakeup_wait *wait)
{
	return wait->returned && wait->result == -EINTR;
}

/* Signals where the call says so, or where nothing else can have been. NULL: nobody. */
static struct wakeup_candidate *latest(struct wakeup *w, struct wakeup_wait *wait, bool signals)
{
	struct wakeup_candidate *best = NULL;

	for (size_t i = 0; i < wait->seen.n; i++) {
		struct wakeup_candidate *c = &wait->seen.at[i];

		if ((c->way == WAY_SIGNAL) == signals && may_be(w, wait, c) && c->wake->left &&
		    (!best || c->wake->enter >= best->wake->enter))
			best = c;
	}
	return best;
}

/* poll() and its like return 0 when their time is over. */
static bool is_timer(const struct wakeup_wait *wait)
{
	return wait->role == ROLE_TIMER ||
	       (wait->returned && (wait->result == -ETIMEDOUT ||
				   (!wait->result && (wait->role == ROLE_EPOLL ||
						      wait->role == ROLE_POLL))));
}

/* Finds who ended the wait, or that a timer or nobody in the trace did. A wake that woke so many
 * counts for so many waits. */
static void decide(struct wakeup *w, struct wakeup_wait *wait)
{
	struct wakeup_candidate *c = is_interrupted(wait) ? NULL : latest(w, wait, false);

	if (is_timer(wait) && !is_interrupted(wait))
		c = NULL;
	else if (!c)
		c = latest(w, wait, true);
	if (c && c->wake->left != UINT64_MAX)
		c->wake->left--;
	if (c)
		wakeup_rows_add(w, wait, c->wake, c->way);
	else if (is_timer(wait))
		w->timers++;
	else
		w->unseen++;
}

/* Whether all is known: the call has ended, and so have the wakes that may have been it. */
static bool is_ready(const struct wakeup *w, const struct wakeup_wait *wait)
{
	if (!wait->over)
		return false;
	for (size_t i = 0; i < wait->seen.n; i++)
		if (!wait->seen.at[i].wake->closed && may_be(w, wait, &wait->seen.at[i]))
			return false;
	return true;
}

/* In the order of their switches in. all: there is nothing more to know, or no room. */
static void decide_pending(struct wakeup *w, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->pending.n; i++) {
		struct wakeup_wait *wait = w->pending.at[i];

		if (!is_ready(w, wait) && !all &&
		    !(wait->over && w->pending.n - i + kept > PENDING_MOST)) {
			w->pending.at[kept++] = wait;
			continue;
		}
		decide(w, wait);
		free_wait(wait);
	}
	w->pending.n = kept;
}

/* The thread's last wait has no more to tell. */
static void end_wait(struct wakeup_thread *t, const int64_t *result)
{
	if (!t->last)
		return;
	t->last->over = true;
	t->last->returned = result != NULL;
	t->last->result = result ? *result : 0;
	t->last = NULL;
}

/* The innermost call's thread runs again. */
static void begin_wait(struct wakeup *w, struct wakeup_thread *t, const struct event *e)
{
	const struct wakeup_call *c = &t->open[t->n - 1];
	struct wakeup_wait *wait = mem_zalloc(sizeof(*wait));

	*wait = (struct wakeup_wait){ .thread = t->number, .cpu = e->cpu, .role = c->role,
				      .out = t->out, .in = e->tsc };
	for (size_t i = 0; i < c->seen.n; i++) {
		c->seen.at[i].wake->refs++;
		*vec_add(&wait->seen) = c->seen.at[i];
	}
	wait->n = open_functions_copy(w->functions, t->number, wait->functions, WAKEUP_FUNCTIONS);
	*vec_add(&w->pending) = wait;
	t->last = wait;
	t->out = 0;
}

/* --- how far all is known ------------------------------------------------------------------- */

/* Whether the wake may still turn out to have ended a wait that began at `out`. */
static bool is_open(const struct wakeup *w, const struct wakeup_wake *k, uint64_t out)
{
	if (k->closed && (!k->left || (k->leave < out && out - k->leave > w->skew)))
		return false;
	return true;
}

struct wakeup_limits { uint64_t until, patience, horizon; };

/* Moves the horizon to the time that a wait from `out` to `in` by one of these wakes would have,
 * unless that is later, or patience with it is at its end. */
static void hold_horizon(const struct wakeup *w, const struct wakeup_candidate *seen, size_t n,
			 uint64_t out, uint64_t in, struct wakeup_limits *l)
{
	for (size_t i = 0; i < n; i++) {
		const struct wakeup_wake *k = seen[i].wake;
		const uint64_t from = wakeup_time(k, out);
		/* Nobody knows how many such a call has woken. */
		const bool vague = k->closed && k->left == UINT64_MAX;

		if (from < l->horizon && from <= in && is_open(w, k, out) &&
		    l->until - from <= (vague ? l->patience / 10 : l->patience))
			l->horizon = from;
	}
}

/* Threads that are asleep, or may be by now, and waits that are not decided. */
uint64_t wakeup_horizon(const struct wakeup *w, uint64_t until, uint64_t patience)
{
	struct wakeup_limits l = { until, patience, until };

	for (size_t i = 0; i < w->threads.n; i++) {
		const struct wakeup_thread *t = &w->threads.at[i];
		const struct wakeup_call *c = t->n ? &t->open[t->n - 1] : NULL;

		if (c)
			hold_horizon(w, c->seen.at, c->seen.n, t->out ? t->out : until,
				     UINT64_MAX, &l);
	}
	for (size_t i = 0; i < w->pending.n; i++) {
		const struct wakeup_wait *p = w->pending.at[i];

		hold_horizon(w, p->seen.at, p->seen.n, p->out, p->in, &l);
	}
	return l.horizon;
}

/* --- records -------------------------------------------------------------------------------- */

/* A trace has a thread twice: by what it has recorded itself, and by what the kernel tells of
 * it. */
static uint32_t index_of(struct wakeup *w, uint32_t thread)
{
	const struct trace_thread *t = &w->info->threads.at[thread];
	uint64_t index;

	while (w->indices.n <= thread)
		*vec_add(&w->indices) = 0;
	if (w->indices.at[thread])
		return w->indices.at[thread] - 1;
	index = number_map_get(&w->by_id, (uint64_t)t->tid << 32 | t->pid);
	if (index == NUMBER_NONE) {
		index = w->threads.n;
		*vec_add(&w->threads) = (struct wakeup_thread){ .number = thread };
		number_map_set(&w->by_id, (uint64_t)t->tid << 32 | t->pid, index);
	}
	w->indices.at[thread] = (uint32_t)index + 1;
	return (uint32_t)index;
}

/* The number is one of the trace's threads: wakeup_event() has checked it. */
static struct wakeup_thread *thread_of(struct wakeup *w, uint32_t thread)
{
	const uint32_t index = index_of(w, thread); /* it may move the threads */

	return &w->threads.at[index];
}

/* Takes the call out of all tables, before its memory is another's. */
static void forget_call(struct wakeup *w, struct wakeup_call *c)
{
	for (size_t i = 0; i < c->keys.n; i++) {
		struct wakeup_bucket *b = bucket_of(w, &c->keys.at[i]);

		for (size_t k = b->nodes.n; k-- > 0;)
			if (b->nodes.at[k].serial == c->serial)
				b->nodes.at[k] = b->nodes.at[--b->nodes.n];
	}
	for (size_t i = w->signals.n; c->wake && i-- > 0;)
		if (w->signals.at[i].wake == c->wake) {
			drop_wake(c->wake);
			w->signals.at[i] = w->signals.at[--w->signals.n];
		}
	for (size_t i = 0; i < c->seen.n; i++)
		drop_wake(c->seen.at[i].wake);
	drop_wake(c->wake);
	vec_free(&c->keys);
	vec_free(&c->seen);
	*c = (struct wakeup_call){ 0 };
}

/* The return is not in the trace: whom the call woke is not known. */
static void lose_call(struct wakeup *w, struct wakeup_call *c)
{
	wakeup_call_end(c, -EIO, 0);
	forget_call(w, c);
}

/* Opens a call within those that are open: a signal's handler may call while a call waits. */
static struct wakeup_call *push_call(struct wakeup *w, const struct event *e)
{
	struct wakeup_thread *t = thread_of(w, e->thread);

	end_wait(t, NULL);
	t->out = 0;
	if (t->n == WAKEUP_OPEN) { /* the outermost has not returned in a long time */
		lose_call(w, &t->open[0]);
		memmove(&t->open[0], &t->open[1], (WAKEUP_OPEN - 1) * sizeof(t->open[0]));
		t->n--;
	}
	t->number = e->thread; /* its functions are recorded by the same */
	t->open[t->n] = (struct wakeup_call){ .nr = (uint32_t)e->payload[0], .serial = ++w->serial,
					      .thread = index_of(w, e->thread) };
	return &t->open[t->n++];
}

/* The thread does not return from the call; who waits for that is woken. */
static void end_thread(struct wakeup *w, struct wakeup_call *c)
{
	wakeup_call_end(c, 0, UINT64_MAX);
	decide_pending(w, false);
}

/* Fewer arguments than the call has are taken as 0. */
static void begin_call(struct wakeup *w, const struct event *e)
{
	struct wakeup_call *c = push_call(w, e);

	w->calls = true;
	for (uint64_t i = 1; i < e->count / 8 && i <= SYSCALL_ARGS; i++)
		c->args[i - 1] = e->payload[i];
	c->role = wakeup_role_of(c->nr);
	wakeup_files_enter(w->files, w->info->threads.at[e->thread].pid, c);
	see_signals(w, c);
	if (c->role == ROLE_OTHER || c->role == ROLE_TIMER)
		return;
	wake_of(w, e->thread, c, e->tsc, e->cpu);
	wakeup_call_begin(w, e->thread, c);
	if (c->role == ROLE_EXIT || c->role == ROLE_EXIT_GROUP)
		end_thread(w, c);
}

/* Ends the innermost open call of that number: those within it have not returned. */
static void end_call(struct wakeup *w, const struct event *e)
{
	struct wakeup_thread *t = thread_of(w, e->thread);
	uint32_t nr = (uint32_t)e->payload[0];
	int64_t result = (int64_t)e->payload[1];
	unsigned i = t->n;

	/* The kernel's clock and the thread's differ by some microseconds: the switch in comes
	 * later. */
	if (t->n && t->out)
		begin_wait(w, t, e);
	while (i && t->open[i - 1].nr != nr)
		i--;
	if (!i) /* the begin of the call is not in the trace */
		return;
	end_wait(t, &result);
	while (t->n > i)
		lose_call(w, &t->open[--t->n]);
	t->n--;
	wakeup_call_end(&t->open[t->n], result, e->tsc);
	wakeup_files_leave(w->files, w->info->threads.at[e->thread].pid, &t->open[t->n], result);
	forget_call(w, &t->open[t->n]);
	decide_pending(w, false);
}

/* n bytes of the record at an offset from its common fields on; false: it has none. */
static bool take_bytes(const struct event *e, uint64_t offset, void *to, uint64_t n)
{
	if (offset < EVENT_COMMON_BYTES || offset - EVENT_COMMON_BYTES > e->count ||
	    n > e->count - (offset - EVENT_COMMON_BYTES))
		return false;
	memcpy(to, (const uint8_t *)e->payload + offset - EVENT_COMMON_BYTES, n);
	return true;
}

/* Copies the bytes that a __data_loc leads to, at most `most`; returns how many. */
static uint32_t take_copy(const struct event *e, uint16_t offset, void *to, uint32_t most)
{
	uint32_t loc, n;

	if (!take_bytes(e, offset, &loc, sizeof(loc)))
		return 0;
	n = loc >> 16 < most ? loc >> 16 : most;
	return take_bytes(e, loc & 0xffff, to, n) ? n : 0;
}

/* at: prev_pid, more: prev_state. A thread's switches are among its own records. */
static void take_switch(struct wakeup *w, const struct event *e, const struct wakeup_record *r)
{
	struct wakeup_thread *t = thread_of(w, e->thread);
	uint32_t prev;
	int64_t state;

	w->switches = true;
	if (!take_bytes(e, r->at, &prev, sizeof(prev)) ||
	    !take_bytes(e, r->more, &state, sizeof(state)) || !t->n)
		return;
	if (prev == w->info->threads.at[e->thread].tid) {
		end_wait(t, NULL);
		t->out = state & SLEEPS ? e->tsc : 0;
	} else if (t->out) {
		begin_wait(w, t, e);
	}
	decide_pending(w, false);
}

/* The call's own record, beside the raw one: at: the copy of its two descriptors. */
static void take_pair(struct wakeup *w, const struct event *e, const struct wakeup_record *r)
{
	const struct wakeup_thread *t = thread_of(w, e->thread);
	int32_t fds[2];

	if (e->count < 16 || (int64_t)e->payload[1] < 0 ||
	    take_copy(e, r->at, fds, sizeof(fds)) != sizeof(fds))
		return;
	/* pipe2()'s flags are those of the call, if it is still open; other programs close. */
	wakeup_files_pair(w->files, w->info->threads.at[e->thread].pid, fds,
			  r->kind == RECORD_SOCKETPAIR,
			  t->n && t->open[t->n - 1].args[1] & O_CLOEXEC);
}

/* The copy of the descriptors that the call waits for, which comes beside the raw record. */
static void take_poll(struct wakeup *w, const struct event *e, const struct wakeup_record *r)
{
	struct wakeup_thread *t = thread_of(w, e->thread);
	uint32_t words[64], n = take_copy(e, r->at, words, sizeof(words)) / 4;

	if (t->n && t->open[t->n - 1].role == ROLE_POLL && t->open[t->n - 1].wake)
		wakeup_call_poll(w, e->thread, &t->open[t->n - 1], words, n);
}

/* --- the trace's events ---------------------------------------------------------------------- */

/* 0: there is no such field. */
static uint16_t offset_of_field(const struct event_format *f, const char *name)
{
	enum event_field_kind kind;
	const struct event_field *field = event_find_field(f, name, strlen(name), &kind);

	return field ? field->offset : 0;
}

/* By system and name; a part of the name for the functions that wait, whose events have a number
 * behind it if there are several. */
static const struct known_event {
	const char *system, *name, *field, *more;
	enum wakeup_event_kind kind;
	enum wakeup_way way;
} known_events[] = {
	{ "raw_syscalls", "sys_enter", NULL, NULL, RECORD_ENTER, 0 },
	{ "raw_syscalls", "sys_exit", NULL, NULL, RECORD_EXIT, 0 },
	{ "sched", "sched_switch", "prev_pid", "prev_state", RECORD_SWITCH, 0 },
	{ "syscalls", "sys_exit_pipe", "__fildes_val", NULL, RECORD_PIPE, 0 },
	{ "syscalls", "sys_exit_pipe2", "__fildes_val", NULL, RECORD_PIPE, 0 },
	{ "syscalls", "sys_exit_socketpair", "__usockvec_val", NULL, RECORD_SOCKETPAIR, 0 },
	{ "syscalls", "sys_enter_poll", "__ufds_val", NULL, RECORD_POLL, 0 },
	{ "syscalls", "sys_enter_ppoll", "__ufds_val", NULL, RECORD_POLL, 0 },
	{ NULL, "pthread_cond_", "arg1", NULL, RECORD_OBJECT, WAY_COND },
	{ NULL, "pthread_barrier_wait", "arg1", NULL, RECORD_OBJECT, WAY_BARRIER },
};

/* NULL: the event means nothing here. */
static const struct known_event *known_event_of(const struct trace_event *e)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(*known_events); i++) {
		const struct known_event *k = &known_events[i];

		if (k->system ? !strcmp(e->system, k->system) && !strcmp(e->name, k->name)
			      : !strncmp(e->name, k->name, strlen(k->name)))
			return k;
	}
	return NULL;
}

/* Where the fields are that are needed; an event that lacks one means nothing. */
static void learn_event(struct wakeup_record *r, const struct trace_event *e)
{
	const struct known_event *k = known_event_of(e);
	struct event_format *f;
	struct err ignored;

	if (!k || !(f = event_format_parse(e->format, strlen(e->format), e->system, &ignored)))
		return;
	r->at = k->field ? offset_of_field(f, k->field) : 0;
	r->more = k->more ? offset_of_field(f, k->more) : 0;
	r->way = k->way;
	r->kind = k->field && !r->at ? RECORD_OTHER : k->kind;
	event_format_free(f);
}

/* Learned at its first record: events of a live session may come later. */
static struct wakeup_record record_of(struct wakeup *w, uint32_t index)
{
	const struct trace_event *e = trace_info_event(w->info, index);

	if (!e)
		return (struct wakeup_record){ 0 };
	while (w->records.n <= index)
		*vec_add(&w->records) = (struct wakeup_record){ 0 };
	if (!w->records.at[index].known) {
		w->records.at[index].known = true;
		learn_event(&w->records.at[index], e);
	}
	return w->records.at[index];
}

/* One record of an event, by what it means. */
static void take_record(struct wakeup *w, const struct event *e)
{
	const struct wakeup_record r = record_of(w, e->fn);
	struct wakeup_thread *t = thread_of(w, e->thread);

	if (r.kind == RECORD_ENTER && e->count >= 8)
		begin_call(w, e);
	else if (r.kind == RECORD_EXIT && e->count >= 16)
		end_call(w, e);
	else if (r.kind == RECORD_SWITCH)
		take_switch(w, e, &r);
	else if (r.kind == RECORD_PIPE || r.kind == RECORD_SOCKETPAIR)
		take_pair(w, e, &r);
	else if (r.kind == RECORD_POLL)
		take_poll(w, e, &r);
	else if (r.kind == RECORD_OBJECT && take_bytes(e, r.at, &t->object, sizeof(t->object)))
		t->object_way = r.way;
}

/* Returns may be among what was lost: nothing is known of the calls that are open now. */
static void lose_calls(struct wakeup *w, uint32_t thread)
{
	struct wakeup_thread *t = thread_of(w, thread);

	end_wait(t, NULL);
	while (t->n)
		lose_call(w, &t->open[--t->n]);
	t->out = t->object = 0;
	decide_pending(w, false);
}

/* The skew is in ticks: the clock's rate is known when the first event comes. */
void wakeup_event(struct wakeup *w, const struct event *e)
{
	if (e->thread >= w->info->threads.n)
		return;
	if (!w->first) {
		w->first = e->tsc;
		w->skew = w->info->clock.hz / (1000000000 / SKEW_NS);
	}
	open_functions_event(w->functions, e);
	if (e->kind == EVENT_LOST)
		lose_calls(w, e->thread);
	else if (e->kind == EVENT_TRACE)
		take_record(w, e);
}

/* Waits whose calls have not returned are decided by what is known. */
void wakeup_end(struct wakeup *w)
{
	for (size_t i = 0; i < w->threads.n; i++)
		end_wait(&w->threads.at[i], NULL);
	decide_pending(w, true);
}

/* NULL: the trace has both. A constant sentence for the user; without this the answer would be an
 * empty table, which looks like a program that never waited. */
const char *wakeup_lacks(const struct wakeup *w)
{
	if (w->calls && w->switches)
		return NULL;
	return w->calls ? "no context switch is in the trace: record with -e sched:sched_switch, for which "
			  "kernel.perf_event_paranoid has to be 2 or less"
			: "no system call is in the trace: record with -e 'raw_syscalls:*' -e "
			  "sched:sched_switch, or run brace wakeup -- PROGRAM";
}

/* The order: calls hold wakes, and so do waits; the last of them frees each. */
void wakeup_free(struct wakeup *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->threads.n; i++)
		while (w->threads.at[i].n)
			forget_call(w, &w->threads.at[i].open[--w->threads.at[i].n]);
	for (size_t i = 0; i < w->pending.n; i++)
		free_wait(w->pending.at[i]);
	for (unsigned i = 0; i < WAKEUP_BUCKETS; i++)
		vec_free(&w->buckets[i].nodes);
	wakeup_rows_free(w);
	vec_free(&w->signals);
	vec_free(&w->pending);
	vec_free(&w->records);
	vec_free(&w->threads);
	vec_free(&w->indices);
	number_map_free(&w->by_id);
	names_free(&w->names);
	wakeup_files_free(w->files);
	open_functions_free(w->functions);
	free(w);
}
