/* SPDX-License-Identifier: MIT */
/* Owns the threads that are followed, and what the kernel's rings (perf_rings.c) told of them. The
 * session's thread gathers and passes on; planners and the thread that changes settings change what
 * is followed; s->lock protects every field. Sinks of runs are called without the lock.
 *
 * The kernel tells that a thread stops or goes on, not which one runs instead: that side of the
 * event stays unknown. If the rings cannot be opened, following fails; where only ends are
 * armed, they are left out. */
#include "collect/switches.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/event_set.h"
#include "event/tasks.h"
#include "collect/clock.h"
#include "collect/pending_sleeps.h"
#include "collect/perf_rings.h"
#include "collect/processes.h"
#include "collect/memories.h"
#include "collect/thread_runs.h"
#include "shared/filter.h"
#include "shared/record.h"
#include "tracee/proc_status.h"

#define HEADS 4096u
#define NOBODY UINT32_MAX
#define WORDS (1 + sizeof(struct task_switch) / 8) /* at most */
#define UNKNOWN_COMM "<...>"    /* ftrace's name for a thread that it does not know */
#define UNKNOWN_PID (-1)
#define PRIORITY_NORMAL 120
#define PRIORITY_OFFSET 100     /* from the kernel's priorities to those of /proc */
#define STATE_WAITS 1           /* S; perf does not tell S from D */

struct switched_thread {
	uint32_t pid, tid;
	uint32_t next;              /* with the same head */
	char first[TASK_COMM], comm[TASK_COMM]; /* its name when it was met, and now */
	int32_t prio;
	bool seen, runs;            /* kind of the last switch */
	bool ended;
	uint32_t watched;           /* switches.watch at its last notice */
	struct pending_sleeps pending;
};

/* The events made here. Threads tell of their ends themselves, if they can. The order is that of
 * the catalogue, from which events have their numbers. */
enum { SWITCH, FAULT, SIGNAL, END, SCHED_END, KINDS };
static const struct {
	const char *system, *name;
	const struct event_provider *of;
	unsigned what;
} kinds[KINDS] = {
	[SWITCH] = { "sched", "sched_switch", &switches_provider, PERF_SWITCHES },
	[FAULT] = { "exceptions", "page_fault_user", &switches_provider, PERF_FAULTS },
	[SIGNAL] = { "signal", "signal_deliver", &switches_provider, PERF_SIGNALS },
	[END] = { "task", "task_exit", &tasks_provider, PERF_ENDS },
	[SCHED_END] = { "sched", "sched_process_exit", &tasks_provider, PERF_ENDS },
};

struct armed {
	bool is;
	uint32_t event;
	struct filter_program *filter;
};

struct switches {
	struct producer producer;
	pthread_mutex_t lock;
	struct memories *memories;
	struct perf_rings *rings;   /* NULL: nothing is armed */
	unsigned what;              /* in the rings */
	bool sleeps;                /* threads' sleeps are wanted */
	uint32_t watch;             /* how often sleeps began to be wanted; 0: never */
	struct armed armed[KINDS];
	VEC(pid_t) pids;            /* followed, with their children */
	VEC(struct switched_thread) at;
	uint32_t heads[HEADS];      /* by tid, the newest first */
	VEC(struct perf_notice) notices; /* later than the last reading began */
	struct thread_runs runs;    /* to be passed on, with the losses of events */
	/* in the order in which they came; at most TRACE_RENAMES_MAX */
	VEC(struct producer_name) names;
	size_t names_taken;
	uint64_t unseen;            /* lost while sleeps are wanted */
	/* two instants on both clocks: when following began, and at the last gather_rings() */
	uint64_t first_tsc, first_ns, tsc, ns;
};

/* --- the kind of event ------------------------------------------------------------------------ */

/* event_provider.add_common: adds those events that the kernel lets this user have. */
static void add_events(struct event_catalogue *c)
{
	struct err ignored;

	for (unsigned k = 0; k < KINDS; k++)
		if (kinds[k].of == &switches_provider &&
		    perf_rings_allowed(kinds[k].what, &ignored) == 0)
			tasks_add_told(c, &switches_provider, kinds[k].name, &ignored);
}

/* Where perf may not tell signals, the agent does (signals_provider). */
static int check_allowed(const char *name, struct err *err)
{
	return strcmp(name, "signal:signal_deliver") != 0 ? perf_rings_allowed(PERF_SWITCHES, err) : 0;
}

const struct event_provider switches_provider = {
	.name = "kernel", .can_enable = true, .without_agent = true,
	.add_common = add_events, .allowed = check_allowed,
};

/* event_provider.add_common: without switches nobody knows when a thread has waited. */
static void add_wakes(struct event_catalogue *c)
{
	struct err ignored;

	if (perf_rings_allowed(PERF_SWITCHES, &ignored) < 0)
		return;
	tasks_add_told(c, &wakes_provider, "sched_waking", &ignored);
	tasks_add_told(c, &wakes_provider, "sched_wakeup", &ignored);
}

const struct event_provider wakes_provider = {
	.name = "wakes", .can_enable = true, .without_agent = true, .yields = true,
	.add_common = add_wakes,
};

/* --- threads -------------------------------------------------------------------------------- */

/* Returns the newest thread of that number; NOBODY: it is not known. Locked, as all that
 * follows. */
static uint32_t find_switched_thread(const struct switches *s, uint32_t tid)
{
	uint32_t i = s->heads[tid % HEADS];

	while (i != NOBODY && s->at.at[i].tid != tid)
		i = s->at.at[i].next;
	return i;
}

/* Threads beyond the numbers that a source has, 67 million, are told as the last one. */
static uint32_t add_switched_thread(struct switches *s, uint32_t pid, uint32_t tid)
{
	struct switched_thread f = { .pid = pid,
			      .tid = tid,
			      .next = s->heads[tid % HEADS],
			      .comm = UNKNOWN_COMM,
			      .prio = PRIORITY_NORMAL };

	if (s->at.n == PRODUCER_SLOTS)
		return PRODUCER_SLOTS - 1;
	s->heads[tid % HEADS] = (uint32_t)s->at.n;
	*vec_add(&s->at) = f;
	return s->heads[tid % HEADS];
}

/* Takes its name and priority from /proc. */
static void look_up(struct switched_thread *f)
{
	struct proc_status status;
	struct proc_stat stat;

	if (proc_status_read((pid_t)f->tid, &status) == 0)
		snprintf(f->comm, sizeof(f->comm), "%.15s", status.name);
	if (proc_stat_read((pid_t)f->pid, (pid_t)f->tid, &stat) == 0)
		f->prio = stat.priority + PRIORITY_OFFSET;
}

/* Notes the name that the thread has now as its first one, which the trace's table of threads
 * has. */
static void begin_named(struct switched_thread *f)
{
	memcpy(f->first, f->comm, sizeof(f->first));
}

/* A thread that is met for the first time may have been there before it was followed: /proc tells
 * its name. */
static uint32_t find_or_add(struct switches *s, uint32_t pid, uint32_t tid)
{
	uint32_t i = find_switched_thread(s, tid);

	if (i == NOBODY) {
		i = add_switched_thread(s, pid, tid);
		look_up(&s->at.at[i]);
		begin_named(&s->at.at[i]);
	}
	return i;
}

/* --- records -------------------------------------------------------------------------------- */

/* The rate between the clocks, from the two instants; before it is known, the last instant
 * itself. */
static uint64_t tsc_of(const struct switches *s, uint64_t ns)
{
	double rate = s->ns > s->first_ns
			      ? (double)(s->tsc - s->first_tsc) / (double)(s->ns - s->first_ns)
			      : 0;

	return s->tsc + (uint64_t)(int64_t)((double)(int64_t)(ns - s->ns) * rate);
}

/* The kernel tells one side of a switch: the other one is unknown, as the opening of this file
 * says. */
static void fill_switch(struct task_switch *r, const struct switched_thread *f,
			enum perf_notice_kind kind)
{
	bool runs = kind == PERF_RUNS;

	*r = (struct task_switch){ .prev_pid = UNKNOWN_PID,
				   .prev_comm = UNKNOWN_COMM,
				   .next_pid = UNKNOWN_PID,
				   .next_comm = UNKNOWN_COMM };
	memcpy(runs ? r->next_comm : r->prev_comm, f->comm, sizeof(f->comm));
	*(runs ? &r->next_pid : &r->prev_pid) = (int32_t)f->tid;
	*(runs ? &r->next_prio : &r->prev_prio) = f->prio;
	if (!runs)
		r->prev_state = kind == PERF_PREEMPTED ? TASK_STATE_PREEMPTED : STATE_WAITS;
}

static bool passes_filter(const struct armed *a, const struct switched_thread *f, uint16_t cpu,
			  uint64_t *words, size_t n)
{
	/* The filter sees a record as ftrace has it, with the common fields where our header will
	 * stand. */
	struct {
		uint16_t type;
		uint8_t flags, preempt_count;
		int32_t pid;
	} common = { (uint16_t)(EVENT_ID_FIRST + a->event), 0, 0, (int32_t)f->tid };
	const struct filter_record r = { .bytes = (const uint8_t *)words,
					 .size = (uint32_t)(8 * n),
					 .cpu = cpu,
					 .comm = f->comm };

	if (!a->filter)
		return true;
	/* The payload of the record comes behind these. */
	memcpy(words, &common, sizeof(common));
	return filter_run(a->filter, a->filter->bytes, &r);
}

/* words: n_words, of which the first one is no payload: a filter has its common fields there. */
static void write_record(struct switches *s, uint32_t i, const struct perf_notice *n,
			 const struct armed *a, uint64_t *words, size_t n_words)
{
	const struct cpu_record record = { .tsc = tsc_of(s, n->ns),
					   .thread = i,
					   .type = RECORD_EVENT_TRACE + a->event,
					   .cpu = n->cpu,
					   .payload = words + 1,
					   .n = n_words - 1 };

	if (a->is && passes_filter(a, &s->at.at[i], n->cpu, words, n_words))
		/* Its time may be before the last one's, by a new comparison of the clocks. */
		thread_runs_add(&s->runs, &record);
}

/* A thread that goes on with no notice before stood still at least since watching began. */
static void take_sleep(struct switches *s, struct switched_thread *f, const struct perf_notice *n)
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

/* After a loss, a thread that seemed to stand still may have run meanwhile. */
static void take_lost(struct switches *s)
{
	for (size_t i = 0; i < s->at.n; i++)
		pending_stop(&s->at.at[i].pending, 0);
}

/* A thread that is followed twice is told twice. A thread stops and goes on by turns, so a second
 * equal notice is such a double. */
static void take_switch(struct switches *s, const struct perf_notice *n)
{
	uint32_t i = find_or_add(s, n->pid, n->tid);
	struct switched_thread *f = &s->at.at[i];
	bool runs = n->kind == PERF_RUNS;
	uint64_t words[WORDS];

	if (s->sleeps)
		take_sleep(s, f, n);
	if (f->seen && f->runs == runs)
		return;
	f->seen = true;
	f->runs = runs;
	fill_switch((struct task_switch *)(words + 1), f, n->kind);
	write_record(s, i, n, &s->armed[SWITCH], words, WORDS);
}

/* The kernel's record is the event's payload as it is. */
static void take_signal(struct switches *s, const struct perf_notice *n)
{
	uint64_t words[1 + sizeof(n->signal) / 8];

	memcpy(words + 1, &n->signal, sizeof(n->signal));
	write_record(s, find_or_add(s, n->pid, n->tid), n, &s->armed[SIGNAL], words,
		     1 + sizeof(n->signal) / 8);
}

/* The notice has the event's payload as it is. */
static void take_fault(struct switches *s, const struct perf_notice *n)
{
	uint64_t words[1 + sizeof(n->fault) / 8];

	memcpy(words + 1, &n->fault, sizeof(n->fault));
	write_record(s, find_or_add(s, n->pid, n->tid), n, &s->armed[FAULT], words,
		     1 + sizeof(n->fault) / 8);
}

static void take_end(struct switches *s, const struct perf_notice *n)
{
	uint32_t i = find_or_add(s, n->pid, n->tid);
	struct { uint64_t header; struct task_exit r; } end = { 0 };
	struct switched_thread *f = &s->at.at[i];

	if (f->ended)
		return; /* told twice */
	f->ended = true;
	/* The thread itself recorded its end. */
	if (memories_take_end(s->memories, n->tid))
		return;
	memcpy(end.r.comm, f->comm, sizeof(end.r.comm));
	end.r.pid = (int32_t)n->tid;
	end.r.prio = f->prio;
	write_record(s, i, n, &s->armed[END], (uint64_t *)&end, sizeof(end) / 8);
	write_record(s, i, n, &s->armed[SCHED_END], (uint64_t *)&end, sizeof(end) / 8);
}

/* When a thread that is not the first one executes a program, the first thread ends, and the other
 * goes on by its number: a new thread. */
static void take_name(struct switches *s, const struct perf_notice *n)
{
	uint32_t i = find_or_add(s, n->pid, n->tid);
	struct producer_name name = { n->pid, n->tid, n->executed, { .tsc = tsc_of(s, n->ns) } };
	int32_t prio = s->at.at[i].prio;
	bool again = s->at.at[i].ended;

	if (again) {
		i = add_switched_thread(s, n->pid, n->tid);
		s->at.at[i].prio = prio;
	}
	memcpy(s->at.at[i].comm, n->comm, sizeof(n->comm));
	if (again)
		begin_named(&s->at.at[i]);
	memcpy(name.name.comm, n->comm, sizeof(n->comm));
	if (s->names.n < TRACE_RENAMES_MAX)
		*vec_add(&s->names) = name;
}

/* A thread begins with the name and the priority of its parent, as the kernel gives it. */
static void take_made(struct switches *s, const struct perf_notice *n)
{
	uint32_t parent = find_switched_thread(s, n->parent), i = find_switched_thread(s, n->tid);

	if (i != NOBODY && s->at.at[i].pid == n->pid && !s->at.at[i].seen && !s->at.at[i].ended)
		return; /* told twice */
	i = add_switched_thread(s, n->pid, n->tid);
	if (parent != NOBODY) {
		memcpy(s->at.at[i].comm, s->at.at[parent].comm, sizeof(s->at.at[i].comm));
		s->at.at[i].prio = s->at.at[parent].prio;
	}
	begin_named(&s->at.at[i]);
}

static void take_notice(struct switches *s, const struct perf_notice *n)
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
	case PERF_FAULT:
		take_fault(s, n);
		break;
	default:
		take_switch(s, n);
	}
}

/* --- from the rings ------------------------------------------------------------------------- */

/* perf_rings_read()'s callback. A notice is copied, since the ring is given back to the kernel. */
static void keep_notice(void *context, const struct perf_notice *n)
{
	struct switches *s = context;

	*vec_add(&s->notices) = *n;
}

static int by_time(const void *a, const void *b)
{
	const struct perf_notice *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	/* At one instant: by kind, so that a loss comes before what follows it. */
	return (int)x->kind - (int)y->kind;
}

static bool is_armed(const struct switches *s)
{
	bool is = false;

	for (unsigned k = 0; k < KINDS; k++)
		is |= s->armed[k].is;
	return is;
}

/* Counts records that a ring had no room for: as lost events, where some are armed, and as sleeps
 * that nobody saw, where sleeps are wanted. */
static void note_lost(struct switches *s, uint64_t n)
{
	s->runs.lost += is_armed(s) ? n : 0;
	s->unseen += s->sleeps ? n : 0;
}

/* Rings are read one after the other, and threads move between CPUs: a notice later than the
 * beginning of the reading waits for the next one, else it could come before older ones. */
static void gather_rings(struct switches *s, bool all)
{
	uint64_t until;
	size_t i = 0;

	if (!s->rings)
		return;
	/* Before the reading: the sort below is complete only up to here. */
	clock_instant(&s->tsc, &s->ns);
	until = all ? UINT64_MAX : s->ns;
	note_lost(s, perf_rings_read(s->rings, keep_notice, s));
	if (!s->notices.n)
		return;
	qsort(s->notices.at, s->notices.n, sizeof(s->notices.at[0]), by_time);
	for (; i < s->notices.n && s->notices.at[i].ns < until; i++)
		take_notice(s, &s->notices.at[i]);
	memmove(s->notices.at, s->notices.at + i, (s->notices.n - i) * sizeof(s->notices.at[0]));
	s->notices.n -= i;
}

/* --- what is set ---------------------------------------------------------------------------- */

/* Closes the rings and forgets who is followed; notices that were read stay. */
static void let_go(struct switches *s)
{
	if (s->rings)
		/* A full ring hides a loss that only a next record would have told. */
		note_lost(s, perf_rings_full(s->rings));
	perf_rings_free(s->rings);
	s->rings = NULL;
	s->pids.n = 0;
}

/* Takes over the armed events, with copies of their filters. Returns what perf has to tell for
 * them. */
static unsigned set_armed(struct switches *s, const struct event_set *set)
{
	unsigned what = 0;
	struct err ignored;

	for (unsigned k = 0; k < KINDS; k++) {
		const struct event_entry *e =
			set->catalogue ? events_find(set->catalogue, kinds[k].system, kinds[k].name)
				       : NULL;
		struct armed *a = &s->armed[k];
		const struct filter_program *f;

		free(a->filter);
		*a = (struct armed){ .is = e && e->provider == kinds[k].of &&
					   event_set_armed(set, e->index) };
		if (!a->is)
			continue;
		what |= kinds[k].what;
		a->event = e->index;
		f = event_set_program(set, e->index);
		a->filter = f ? mem_zalloc(f->bytes) : NULL;
		if (f)
			memcpy(a->filter, f, f->bytes);
	}
	/* Ends alone are no reason to fail: where perf is forbidden, they are left out. */
	return what == PERF_ENDS && perf_rings_allowed(PERF_ENDS, &ignored) < 0 ? 0 : what;
}

/* Whether the process or one of its ancestors is followed. 64 generations bound the walk, should
 * pids be reused under it. */
static bool is_followed(const struct switches *s, pid_t pid)
{
	for (int depth = 0; pid > 1 && depth < 64; depth++, pid = processes_parent(pid))
		for (size_t i = 0; i < s->pids.n; i++)
			if (s->pids.at[i] == pid)
				return true;
	return false;
}

/* A thread that does nothing before it ends still gets its name. */
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

/* inherited: a process whose parent is followed needs nothing more. */
static int follow_process(struct switches *s, pid_t pid, bool inherited, struct err *err)
{
	int r;

	if (!s->rings) {
		s->rings = perf_rings_new(s->what);
		clock_instant(&s->first_tsc, &s->first_ns);
	}
	if (inherited && is_followed(s, pid))
		return 0;
	r = perf_rings_cover(s->rings, pid, err);
	/* Gone: nothing to follow, no error. */
	if (r == -ESRCH)
		r = 0;
	/* Ends alone are left out where they cannot be had. */
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

/* Locked. Takes over the settings. True: the rings were closed, and everything has to be followed
 * anew. */
static bool watch_threads(struct switches *s, const struct event_set *set, bool sleeps)
{
	unsigned what;
	bool anew;

	gather_rings(s, true); /* by the settings until now */
	what = set_armed(s, set) | (sleeps ? PERF_SWITCHES : 0);
	s->watch += sleeps && !s->sleeps;
	s->sleeps = sleeps;
	anew = what != s->what;
	if (anew)
		let_go(s);
	s->what = what;
	return anew;
}

/* Where everything is followed anew, a child is followed for itself, though its parent is followed
 * too: the processes stand still meanwhile, or have made no others. */
static int follow_processes(struct producer *p, const struct follow_request *req, struct err *err)
{
	struct switches *s = (struct switches *)p;
	bool anew;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	anew = watch_threads(s, req->events, req->sleeps);
	for (size_t i = 0; s->what && i < req->n && r == 0; i++)
		r = follow_process(s, req->pids[i], !anew, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* --- what threads sleep ---------------------------------------------------------------------- */

/* The run was written by now, so all notices from before it are in the rings. */
bool switches_merge_sleeps(struct switches *s, pid_t tid, const struct drain_run *run,
			   record_words *words)
{
	bool merged = false;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	if (s->watch) {
		gather_rings(s, false);
		i = find_switched_thread(s, (uint32_t)tid);
		merged = i != NOBODY && pending_merge(&s->at.at[i].pending, run, words);
	}
	pthread_mutex_unlock(&s->lock);
	return merged;
}

void switches_forget_before(struct switches *s, uint64_t tsc)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; s->watch && i < s->at.n; i++)
		pending_forget_before(&s->at.at[i].pending, tsc);
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

/* Behind the last run. Without any thread there is none to bear them. */
static void take_last_losses(struct switches *s, thread_run_list *runs, uint64_t *lost)
{
	if (s->at.n) {
		thread_runs_take_losses(&s->runs, s->producer.first_slot, clock_tsc(), runs);
	} else {
		*lost += s->runs.lost;
		s->runs.lost = 0;
	}
}

/* Without a sink the rings are emptied, which makes room there, and the runs wait. The sink runs
 * without the lock: it may ask for threads. */
static int pass_switches(struct producer *p, enum producer_pass pass, drain_sink *sink,
			 void *context, uint64_t *lost, struct err *err)
{
	struct switches *s = (struct switches *)p;
	bool last = pass == PASS_LAST;
	thread_run_list runs = { 0 };

	pthread_mutex_lock(&s->lock);
	gather_rings(s, last);
	if (last)
		let_go(s);
	if (sink)
		thread_runs_take(&s->runs, p->first_slot, &runs);
	if (last)
		take_last_losses(s, &runs, lost);
	pthread_mutex_unlock(&s->lock);
	return thread_runs_give(&runs, sink, context, err);
}

/* producer_ops.thread. Later names are told by tell_names(). Returns false, since perf knows no
 * images. */
static bool describe_thread(const struct producer *p, uint32_t slot, struct trace_thread *out)
{
	struct switches *s = (struct switches *)p;
	uint32_t i = slot - p->first_slot;

	*out = (struct trace_thread){ 0 };
	pthread_mutex_lock(&s->lock);
	if (i < s->at.n) {
		const struct switched_thread *f = &s->at.at[i];

		*out = (struct trace_thread){
			.pid = f->pid, .tid = f->tid, .tsc = thread_runs_first(&s->runs, i)
		};
		memcpy(out->comm, f->first, sizeof(out->comm));
	}
	pthread_mutex_unlock(&s->lock);
	return false;
}

static bool is_of(const struct producer_name *n, const struct trace_thread *t)
{
	return n->pid == t->pid && n->tid == t->tid;
}

/* producer_ops.names: all names of one thread, or, without one, those that came since the last
 * call. */
static void tell_names(struct producer *p, const struct trace_thread *of, producer_name_sink *sink,
		       void *context)
{
	struct switches *s = (struct switches *)p;

	pthread_mutex_lock(&s->lock);
	for (size_t i = of ? 0 : s->names_taken; i < s->names.n; i++)
		if (!of || is_of(&s->names.at[i], of))
			sink(context, &s->names.at[i]);
	if (!of)
		s->names_taken = s->names.n;
	pthread_mutex_unlock(&s->lock);
}

/* --- --------------------------------------------------------------------------------------- */

static void free_switches(struct producer *p)
{
	struct switches *s = (struct switches *)p;

	perf_rings_free(s->rings);
	thread_runs_free(&s->runs);
	for (size_t i = 0; i < s->at.n; i++)
		pending_free(&s->at.at[i].pending);
	vec_free(&s->notices);
	vec_free(&s->names);
	vec_free(&s->at);
	vec_free(&s->pids);
	for (unsigned k = 0; k < KINDS; k++)
		free(s->armed[k].filter);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct switches *switches_new(struct memories *memories)
{
	static const struct producer_ops ops = { .follow = follow_processes,
						 .pass = pass_switches,
						 .thread = describe_thread,
						 .names = tell_names,
						 .free = free_switches };
	struct switches *s = mem_zalloc(sizeof(*s));

	s->producer.ops = &ops;
	s->memories = memories;
	memset(s->heads, 0xff, sizeof(s->heads));
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

struct producer *switches_producer(struct switches *s)
{
	return &s->producer;
}
