/* SPDX-License-Identifier: MIT */
/* The kernel says of a thread that it stops or goes on, not who runs instead: that side of the event stays unknown. */
#include "collect/switches.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/tasks.h"
#include "collect/clock.h"
#include "collect/pending_sleeps.h"
#include "collect/perf_rings.h"
#include "collect/processes.h"
#include "collect/memories.h"
#include "shared/filter.h"
#include "shared/record.h"
#include "tracee/proc_status.h"

#define HEADS 4096u
#define NOBODY UINT32_MAX
#define RUN_WORDS 8192u         /* a run is passed on when it has so many */
#define WORDS (1 + sizeof(struct task_switch) / 8) /* at most */
#define UNKNOWN_COMM "<...>"    /* as ftrace calls whom it does not know */
#define UNKNOWN_PID (-1)
#define PRIORITY_NORMAL 120
#define PRIORITY_OFFSET 100     /* of /proc's from the kernel's */
#define STATE_WAITS 1           /* S; perf does not tell it from D */
#define STATE_PREEMPTED 0x100   /* R+ */

struct follower {
	uint32_t pid, tid;
	uint32_t next;              /* of the same head */
	char comm[TASK_COMM];
	int32_t prio;
	bool seen, runs;            /* what it did last */
	bool ended;
	uint64_t first_tsc, tsc;    /* of its first and last records */
	uint16_t cpu;
	uint64_t position;          /* records in earlier runs */
	uint32_t watched;           /* switches.watch, when news of it came last */
	struct pending_sleeps pending;
};

/* Of one thread; it may have several waiting. */
struct run {
	uint32_t follower;
	uint16_t cpu;
	uint64_t near_tsc, records;
	VEC(uint64_t) words;
};

/* Which of them. Ends are told by the threads too, if they can. */
enum { SWITCH, SIGNAL, END, SCHED_END, KINDS };
static const struct { const char *system, *name; enum event_owner owner; unsigned what; } kinds[KINDS] = {
	[SWITCH] = { "sched", "sched_switch", EVENT_OWNER_SCHED, PERF_SWITCHES },
	[SIGNAL] = { "signal", "signal_deliver", EVENT_OWNER_SCHED, PERF_SIGNALS },
	[END] = { "task", "task_exit", EVENT_OWNER_TASK, PERF_ENDS },
	[SCHED_END] = { "sched", "sched_process_exit", EVENT_OWNER_TASK, PERF_ENDS },
};

struct armed {
	bool is;
	uint32_t event;
	struct filter_program *filter;
};

struct switches {
	pthread_mutex_t lock;
	struct memories *memories;
	struct perf_rings *rings;   /* NULL: nothing is armed */
	unsigned what;              /* in the rings */
	bool sleeps;                /* what threads sleep is wanted */
	uint32_t watch;             /* how often that began; 0: never */
	struct armed armed[KINDS];
	VEC(pid_t) pids;            /* followed, and so are their children */
	VEC(struct follower) at;
	uint32_t heads[HEADS];      /* by tid, the newest first */
	VEC(struct perf_news) news; /* not looked at yet */
	VEC(struct run) runs;       /* to be passed on */
	uint64_t lost, unseen;      /* of events; while sleeps are wanted */
	uint64_t first_tsc, first_ns, tsc, ns; /* the same instants, when armed and now */
};

struct switches *switches_new(struct memories *memories)
{
	struct switches *s = mem_zalloc(sizeof(*s));

	s->memories = memories;
	memset(s->heads, 0xff, sizeof(s->heads));
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void free_runs(struct switches *s)
{
	for (size_t i = 0; i < s->runs.n; i++)
		vec_free(&s->runs.at[i].words);
	vec_free(&s->runs);
}

void switches_free(struct switches *s)
{
	if (!s)
		return;
	perf_rings_free(s->rings);
	free_runs(s);
	for (size_t i = 0; i < s->at.n; i++)
		pending_free(&s->at.at[i].pending);
	vec_free(&s->news);
	vec_free(&s->at);
	vec_free(&s->pids);
	for (unsigned k = 0; k < KINDS; k++)
		free(s->armed[k].filter);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* --- threads -------------------------------------------------------------------------------- */

static uint32_t find(const struct switches *s, uint32_t tid)
{
	uint32_t i = s->heads[tid % HEADS];

	while (i != NOBODY && s->at.at[i].tid != tid)
		i = s->at.at[i].next;
	return i;
}

static uint32_t add(struct switches *s, uint32_t pid, uint32_t tid)
{
	struct follower f = { .pid = pid, .tid = tid, .next = s->heads[tid % HEADS], .comm = UNKNOWN_COMM,
			      .prio = PRIORITY_NORMAL };

	s->heads[tid % HEADS] = (uint32_t)s->at.n;
	*vec_add(&s->at) = f;
	return s->heads[tid % HEADS];
}

/* What there is of it in /proc. */
static void look_up(struct follower *f)
{
	struct proc_status status;
	struct proc_stat stat;

	if (proc_status_read((pid_t)f->tid, &status) == 0)
		snprintf(f->comm, sizeof(f->comm), "%.15s", status.name);
	if (proc_stat_read((pid_t)f->pid, (pid_t)f->tid, &stat) == 0)
		f->prio = stat.priority + PRIORITY_OFFSET;
}

static uint32_t find_or_add(struct switches *s, uint32_t pid, uint32_t tid)
{
	uint32_t i = find(s, tid);

	if (i == NOBODY) {
		i = add(s, pid, tid);
		look_up(&s->at.at[i]);
	}
	return i;
}

/* --- records -------------------------------------------------------------------------------- */

static uint64_t tsc_of(const struct switches *s, uint64_t ns)
{
	double rate = s->ns > s->first_ns ? (double)(s->tsc - s->first_tsc) / (double)(s->ns - s->first_ns) : 0;

	return s->tsc + (uint64_t)(int64_t)((double)(int64_t)(ns - s->ns) * rate);
}

static void fill(struct task_switch *r, const struct follower *f, enum perf_news_kind kind)
{
	bool runs = kind == PERF_RUNS;

	*r = (struct task_switch){ .prev_pid = UNKNOWN_PID, .prev_comm = UNKNOWN_COMM, .next_pid = UNKNOWN_PID, .next_comm = UNKNOWN_COMM };
	memcpy(runs ? r->next_comm : r->prev_comm, f->comm, sizeof(f->comm));
	*(runs ? &r->next_pid : &r->prev_pid) = (int32_t)f->tid;
	*(runs ? &r->next_prio : &r->prev_prio) = f->prio;
	if (!runs)
		r->prev_state = kind == PERF_PREEMPTED ? STATE_PREEMPTED : STATE_WAITS;
}

static bool passes(const struct armed *a, const struct follower *f, uint16_t cpu, uint64_t *words, size_t n)
{
	struct { uint16_t type; uint8_t flags, preempt_count; int32_t pid; } common = { (uint16_t)(EVENT_ID_FIRST + a->event), 0, 0,
											(int32_t)f->tid };
	const struct filter_record r = { .bytes = (const uint8_t *)words, .size = (uint32_t)(8 * n), .cpu = cpu, .comm = f->comm };

	if (!a->filter)
		return true;
	memcpy(words, &common, sizeof(common));
	return filter_run(a->filter, a->filter->bytes, &r);
}

static struct run *run_of(struct switches *s, uint32_t follower, uint64_t tsc, uint16_t cpu)
{
	for (size_t i = s->runs.n; i-- > 0;)
		if (s->runs.at[i].follower == follower) {
			if (s->runs.at[i].words.n < RUN_WORDS)
				return &s->runs.at[i];
			break;
		}
	*vec_add(&s->runs) = (struct run){ .follower = follower, .cpu = cpu, .near_tsc = tsc };
	s->at.at[follower].cpu = cpu;
	return &s->runs.at[s->runs.n - 1];
}

/* words: the event's record, n of them, the first for its header. */
static void write_record(struct switches *s, uint32_t i, const struct perf_news *n, const struct armed *a, uint64_t *words, size_t n_words)
{
	struct follower *f = &s->at.at[i];
	uint64_t tsc = tsc_of(s, n->ns);
	struct run *run;

	if (!a->is || !passes(a, f, n->cpu, words, n_words))
		return;
	if (tsc < f->tsc)
		tsc = f->tsc; /* the clocks were compared again */
	f->tsc = tsc;
	f->first_tsc = f->first_tsc ? f->first_tsc : tsc;
	run = run_of(s, i, tsc, n->cpu);
	if (f->cpu != n->cpu) {
		*vec_add(&run->words) = record_word(tsc, record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT);
		*vec_add(&run->words) = n->cpu;
		f->cpu = n->cpu;
	}
	words[0] = record_word(tsc, record_event_id((unsigned)n_words - 1, RECORD_EVENT_TRACE + a->event), RECORD_EVENT);
	for (size_t k = 0; k < n_words; k++)
		*vec_add(&run->words) = words[k];
	run->records++;
}

/* Who stood still when it began to be watched did so at least since then. */
static void take_sleep(struct switches *s, struct follower *f, const struct perf_news *n)
{
	if (n->kind != PERF_RUNS) {
		pending_stop(&f->pending, tsc_of(s, n->ns));
	} else {
		if (f->watched != s->watch)
			pending_stop(&f->pending, s->first_tsc);
		pending_go_on(&f->pending, tsc_of(s, n->ns));
	}
	f->watched = s->watch;
}

/* Who was thought to stand still may have run meanwhile. */
static void take_lost(struct switches *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		pending_stop(&s->at.at[i].pending, 0);
}

/* What is followed twice tells twice; a thread stops and goes on by turns. */
static void take_switch(struct switches *s, const struct perf_news *n)
{
	uint32_t i = find_or_add(s, n->pid, n->tid);
	struct follower *f = &s->at.at[i];
	bool runs = n->kind == PERF_RUNS;
	uint64_t words[WORDS];

	if (s->sleeps)
		take_sleep(s, f, n);
	if (f->seen && f->runs == runs)
		return;
	f->seen = true;
	f->runs = runs;
	fill((struct task_switch *)(words + 1), f, n->kind);
	write_record(s, i, n, &s->armed[SWITCH], words, WORDS);
}

static void take_signal(struct switches *s, const struct perf_news *n)
{
	uint64_t words[1 + sizeof(n->signal) / 8];

	memcpy(words + 1, &n->signal, sizeof(n->signal));
	write_record(s, find_or_add(s, n->pid, n->tid), n, &s->armed[SIGNAL], words, 1 + sizeof(n->signal) / 8);
}

static void take_end(struct switches *s, const struct perf_news *n)
{
	uint32_t i = find_or_add(s, n->pid, n->tid);
	struct { uint64_t header; struct task_exit r; } end = { 0 };
	struct follower *f = &s->at.at[i];

	if (f->ended)
		return; /* told twice */
	f->ended = true;
	if (memories_take_end(s->memories, n->tid))
		return;
	memcpy(end.r.comm, f->comm, sizeof(end.r.comm));
	end.r.pid = (int32_t)n->tid;
	end.r.prio = f->prio;
	write_record(s, i, n, &s->armed[END], (uint64_t *)&end, sizeof(end) / 8);
	write_record(s, i, n, &s->armed[SCHED_END], (uint64_t *)&end, sizeof(end) / 8);
}

/* Its first thread has ended if another one executes a program: that goes on by its number. */
static void take_name(struct switches *s, const struct perf_news *n)
{
	uint32_t i = find_or_add(s, n->pid, n->tid);
	int32_t prio = s->at.at[i].prio;

	if (s->at.at[i].ended) {
		i = add(s, n->pid, n->tid);
		s->at.at[i].prio = prio;
	}
	memcpy(s->at.at[i].comm, n->comm, sizeof(n->comm));
}

static void take_made(struct switches *s, const struct perf_news *n)
{
	uint32_t parent = find(s, n->parent), i = find(s, n->tid);

	if (i != NOBODY && s->at.at[i].pid == n->pid && !s->at.at[i].seen && !s->at.at[i].ended)
		return; /* twice */
	i = add(s, n->pid, n->tid);
	if (parent == NOBODY)
		return;
	memcpy(s->at.at[i].comm, s->at.at[parent].comm, sizeof(s->at.at[i].comm));
	s->at.at[i].prio = s->at.at[parent].prio;
}

static void take(struct switches *s, const struct perf_news *n)
{
	switch (n->kind) {
	case PERF_NAMED:
		take_name(s, n);
		break;
	case PERF_ENDED:
		take_end(s, n);
		break;
	case PERF_LOST:
		take_lost(s);
		break;
	case PERF_MADE:
		take_made(s, n);
		break;
	case PERF_SIGNAL:
		take_signal(s, n);
		break;
	default:
		take_switch(s, n);
	}
}

/* --- from the rings ------------------------------------------------------------------------- */

static void keep(void *context, const struct perf_news *n)
{
	struct switches *s = context;

	*vec_add(&s->news) = *n;
}

static int by_time(const void *a, const void *b)
{
	const struct perf_news *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static bool is_armed(const struct switches *s)
{
	bool is = false;

	for (unsigned k = 0; k < KINDS; k++)
		is |= s->armed[k].is;
	return is;
}

static void note_lost(struct switches *s, uint64_t n)
{
	s->lost += is_armed(s) ? n : 0;
	s->unseen += s->sleeps ? n : 0;
}

/* Rings are read one after the other, and threads move: what is later than the reading began waits for the next. */
static void gather(struct switches *s, bool all)
{
	uint64_t until;
	size_t i = 0;

	if (!s->rings)
		return;
	clock_instant(&s->tsc, &s->ns);
	until = all ? UINT64_MAX : s->ns;
	note_lost(s, perf_rings_read(s->rings, keep, s));
	if (s->news.n)
		qsort(s->news.at, s->news.n, sizeof(s->news.at[0]), by_time);
	for (; i < s->news.n && s->news.at[i].ns < until; i++)
		take(s, &s->news.at[i]);
	memmove(s->news.at, s->news.at + i, (s->news.n - i) * sizeof(s->news.at[0]));
	s->news.n -= i;
}

/* --- what is set ---------------------------------------------------------------------------- */

static void let_go(struct switches *s)
{
	if (s->rings)
		note_lost(s, perf_rings_full(s->rings));
	perf_rings_free(s->rings);
	s->rings = NULL;
	s->pids.n = 0;
}

/* What of it is to be had by perf. */
static unsigned set_armed(struct switches *s, const struct event_set *set)
{
	unsigned what = 0;
	struct err ignored;

	for (unsigned k = 0; k < KINDS; k++) {
		const struct event_entry *e = set->catalogue ? events_find(set->catalogue, kinds[k].system, kinds[k].name) : NULL;
		struct armed *a = &s->armed[k];
		const struct filter_program *f;

		free(a->filter);
		*a = (struct armed){ .is = e && e->owner == kinds[k].owner && event_set_armed(set, e->index) };
		if (!a->is)
			continue;
		what |= kinds[k].what;
		a->event = e->index;
		f = event_set_program(set, e->index);
		a->filter = f ? mem_zalloc(f->bytes) : NULL;
		if (f)
			memcpy(a->filter, f, f->bytes);
	}
	/* Ends are worth having where they can be had. */
	return what == PERF_ENDS && perf_rings_allowed(PERF_ENDS, &ignored) < 0 ? 0 : what;
}

/* It, or who made it. */
static bool is_followed(const struct switches *s, pid_t pid)
{
	for (int depth = 0; pid > 1 && depth < 64; depth++, pid = processes_parent(pid))
		for (size_t i = 0; i < s->pids.n; i++)
			if (s->pids.at[i] == pid)
				return true;
	return false;
}

/* Who does nothing before it ends is known by its name all the same. */
static void know_threads(struct switches *s, pid_t pid)
{
	char name[64];
	struct dirent *e;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	d = opendir(name);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			find_or_add(s, (uint32_t)pid, (uint32_t)strtoul(e->d_name, NULL, 10));
	if (d)
		closedir(d);
}

/* inherited: what a followed process has made is followed with it. */
static int follow(struct switches *s, pid_t pid, bool inherited, struct err *err)
{
	int r;

	if (!s->rings) {
		s->rings = perf_rings_new(s->what);
		clock_instant(&s->first_tsc, &s->first_ns);
	}
	if (inherited && is_followed(s, pid))
		return 0;
	r = perf_rings_cover(s->rings, pid, err);
	if (r == -ESRCH)
		r = 0;
	if (r < 0 && s->what == PERF_ENDS) {
		let_go(s);
		return 0;
	}
	if (r == 0)
		*vec_add(&s->pids) = pid;
	if (r == 0)
		know_threads(s, pid);
	return r;
}

/* Locked. True: from now on everything has to be followed anew. */
static bool watch(struct switches *s, const struct event_set *set, bool sleeps)
{
	unsigned what;
	bool anew;

	gather(s, true); /* by what was set until now */
	what = set_armed(s, set) | (sleeps ? PERF_SWITCHES : 0);
	s->watch += sleeps && !s->sleeps;
	s->sleeps = sleeps;
	anew = what != s->what;
	if (anew)
		let_go(s);
	s->what = what;
	return anew;
}

int switches_follow(struct switches *s, const struct event_set *set, bool sleeps, pid_t pid, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	watch(s, set, sleeps);
	if (s->what)
		r = follow(s, pid, true, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int switches_follow_all(struct switches *s, const struct event_set *set, bool sleeps, const pid_t *pids, size_t n, struct err *err)
{
	bool anew;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	anew = watch(s, set, sleeps);
	for (size_t i = 0; s->what && i < n && r == 0; i++)
		r = follow(s, pids[i], !anew, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* --- what threads sleep ---------------------------------------------------------------------- */

/* What came before the run was written is in the rings by now. */
bool switches_weave(struct switches *s, pid_t tid, const struct drain_run *run, record_words *words)
{
	bool woven = false;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	if (s->watch) {
		gather(s, false);
		i = find(s, (uint32_t)tid);
		woven = i != NOBODY && pending_weave(&s->at.at[i].pending, run, words);
	}
	pthread_mutex_unlock(&s->lock);
	return woven;
}

void switches_settle(struct switches *s, uint64_t tsc)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; s->watch && i < s->at.n; i++)
		pending_settle(&s->at.at[i].pending, tsc);
	pthread_mutex_unlock(&s->lock);
}

void switches_gather(struct switches *s)
{
	pthread_mutex_lock(&s->lock);
	gather(s, false);
	pthread_mutex_unlock(&s->lock);
}

uint64_t switches_unseen(struct switches *s)
{
	uint64_t unseen;

	pthread_mutex_lock(&s->lock);
	unseen = s->unseen;
	pthread_mutex_unlock(&s->lock);
	return unseen;
}

/* --- passing on ----------------------------------------------------------------------------- */

static int pass_on(struct switches *s, const struct run *run, uint64_t lost, drain_sink *sink, void *context, struct err *err)
{
	struct follower *f;
	struct drain_run out = { .slot = SLOT_FOLLOWED + run->follower, .cpu = run->cpu, .near_tsc = run->near_tsc, .lost = lost,
				 .words = run->words.at, .n = run->words.n, .records = run->records };

	pthread_mutex_lock(&s->lock);
	f = &s->at.at[run->follower];
	out.position = f->position;
	f->position += run->records + lost;
	pthread_mutex_unlock(&s->lock);
	return sink(context, &out, err);
}

/* What no run stands behind. */
static int tell_last_losses(struct switches *s, drain_sink *sink, void *context, struct err *err)
{
	struct run none = { .near_tsc = clock_tsc() };
	uint64_t lost;

	pthread_mutex_lock(&s->lock);
	lost = s->at.n ? s->lost : 0;
	s->lost -= lost;
	pthread_mutex_unlock(&s->lock);
	return lost ? pass_on(s, &none, lost, sink, context, err) : 0;
}

int switches_pass(struct switches *s, bool last, drain_sink *sink, void *context, struct err *err)
{
	struct switches taken = { 0 };
	int r = 0;

	pthread_mutex_lock(&s->lock);
	gather(s, last);
	if (last)
		let_go(s);
	taken.runs.at = s->runs.at;
	taken.runs.n = s->runs.n;
	taken.lost = s->runs.n ? s->lost : 0;
	s->lost -= taken.lost;
	memset(&s->runs, 0, sizeof(s->runs));
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < taken.runs.n && r >= 0; i++)
		r = pass_on(s, &taken.runs.at[i], i ? 0 : taken.lost, sink, context, err);
	if (r >= 0 && last && !taken.runs.n)
		r = tell_last_losses(s, sink, context, err);
	free_runs(&taken);
	return r;
}

bool switches_thread(struct switches *s, uint32_t slot, struct trace_thread *out)
{
	bool is;

	pthread_mutex_lock(&s->lock);
	is = slot_is_followed(slot) && slot - SLOT_FOLLOWED < s->at.n;
	if (is) {
		const struct follower *f = &s->at.at[slot - SLOT_FOLLOWED];

		*out = (struct trace_thread){ .pid = f->pid, .tid = f->tid, .tsc = f->first_tsc };
		memcpy(out->comm, f->comm, sizeof(out->comm));
	}
	pthread_mutex_unlock(&s->lock);
	return is;
}
