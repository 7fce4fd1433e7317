/* SPDX-License-Identifier: MIT */
/* Called by ui/cmd/noise.c: steps on the main thread, looks on the monitor's, both with its lock.
 * Nothing fails: a thread that is gone, or may not be looked at, keeps what is known. The program
 * chooses its threads' names and numbers of records; memory grows with its threads and
 * functions. */
#include "view/noise.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shared/tasks.h"

#define NO_ROW UINT32_MAX
#define NO_LANE UINT32_MAX

/* Without the machine's account the totals of the machine are not shown. */
void noise_init(struct noise *n, const struct walk *walk)
{
	*n = (struct noise){ .walk = walk, .event = -1 };
	n->machine = thread_account_machine(&n->machine_began) == 0;
	n->machine_latest = n->machine_began;
}

void noise_free(struct noise *n)
{
	vec_free(&n->threads);
	vec_free(&n->functions);
	vec_free(&n->rows);
	number_map_free(&n->newest);
	vec_free(&n->function_rows);
	vec_free(&n->pids);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* A number may be given anew: `newest` leads to the latest thread that has it. */
static uint64_t key_of(uint32_t pid, uint32_t tid)
{
	return ((uint64_t)pid << 32 | tid) + 1;
}

/* The newest row of that number, or NO_ROW. */
static uint32_t find_thread(const struct noise *n, uint32_t pid, uint32_t tid)
{
	uint64_t row = number_map_get(&n->newest, key_of(pid, tid));

	return row == NUMBER_NONE ? NO_ROW : (uint32_t)row;
}

/* A new row; it becomes the newest of that number. Its name comes when it is first looked at. Rows
 * stay when their thread ends: its figures are wanted in the end. */
static uint32_t add_thread(struct noise *n, uint32_t pid, uint32_t tid)
{
	uint32_t row = (uint32_t)n->threads.n;

	*vec_add(&n->threads) = (struct noise_thread){ .pid = pid, .tid = tid,
						       .comm = "<...>", .lane = NO_LANE };
	number_map_set(&n->newest, key_of(pid, tid), row);
	return row;
}

/* The row of a thread of the trace. An exec makes another one of the trace, and of the kernel's the
 * same. The pointer holds until a row is added. `rows` has the row + 1; 0: not asked yet. */
static struct noise_thread *thread_of(struct noise *n, uint32_t thread)
{
	const struct trace_thread *t = &n->walk->info->threads.at[thread];
	uint32_t row;

	while (n->rows.n <= thread)
		*vec_add(&n->rows) = 0;
	if (!n->rows.at[thread]) {
		row = find_thread(n, t->pid, t->tid);
		if (row == NO_ROW)
			row = add_thread(n, t->pid, t->tid);
		n->rows.at[thread] = row + 1;
		noise_add_process(n, t->pid, false);
	}
	row = n->rows.at[thread] - 1;
	memcpy(n->threads.at[row].comm, trace_thread_name(t), TRACE_COMM);
	return &n->threads.at[row];
}

/* --- the kernel's accounts -------------------------------------------------------------------- */

/* A thread that was not there before the recording began from nothing. The start time tells a
 * thread from a later one that got its number (proc_pid_stat(5), field 22). began stays 0 for a
 * thread that the recording saw begin, so that all of its time counts. */
static void take_account(struct noise *n, uint32_t pid, uint32_t tid, bool running,
			 const struct thread_account *a)
{
	uint32_t row = find_thread(n, pid, tid);
	struct noise_thread *t;

	if (row == NO_ROW || (n->threads.at[row].counted &&
			      n->threads.at[row].latest.start_time != a->start_time))
		row = add_thread(n, pid, tid);
	t = &n->threads.at[row];
	if (!t->counted && running)
		t->began = *a;
	t->counted = true;
	t->gone = false;
	t->latest = *a;
}

/* The thread's name as the kernel has it, which may have changed. A thread that is gone keeps
 * its last one. */
static void take_name(struct noise *n, uint32_t pid, uint32_t tid)
{
	char path[64], comm[TRACE_COMM + 1];
	struct noise_thread *t = &n->threads.at[find_thread(n, pid, tid)];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	f = fopen(path, "re");
	if (f && fgets(comm, sizeof(comm), f)) {
		comm[strcspn(comm, "\n")] = '\0';
		memcpy(t->comm, comm, TRACE_COMM);
	}
	if (f)
		fclose(f);
}

/* True: the process is there. Reading /proc, unlike a record, tells of threads that recorded
 * nothing, too. A process that may not be read has no accounts, and no error: its other figures
 * stand. */
static bool look_at_process(struct noise *n, uint32_t pid, bool running)
{
	char path[64];
	struct thread_account account;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return false;
	while ((entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		/* "." and ".." are no numbers; a thread that ended meanwhile has no account. */
		if (!tid || thread_account_read((pid_t)pid, (pid_t)tid, &account))
			continue;
		take_account(n, pid, tid, running, &account);
		take_name(n, pid, tid);
	}
	closedir(tasks);
	return true;
}

/* running: what its threads have used by now came before the recording, and is not counted. */
void noise_add_process(struct noise *n, uint32_t pid, bool running)
{
	for (size_t i = 0; i < n->pids.n; i++)
		if (n->pids.at[i] == pid)
			return;
	*vec_add(&n->pids) = pid;
	look_at_process(n, pid, running);
}

/* Processes that are gone are left out from now on; their threads keep what the last look found.
 * `gone` is set for all first: those that are found take it back. The last process moves into the
 * place of one that has gone, so that the place is looked at again. */
void noise_look(struct noise *n)
{
	struct machine_account machine;

	for (size_t i = 0; i < n->threads.n; i++)
		n->threads.at[i].gone = n->threads.at[i].counted;
	for (size_t i = 0; i < n->pids.n;)
		if (look_at_process(n, n->pids.at[i], false))
			i++;
		else
			n->pids.at[i] = n->pids.at[--n->pids.n];
	if (n->machine && thread_account_machine(&machine) == 0)
		n->machine_latest = machine;
}

/* --- switches --------------------------------------------------------------------------------- */

/* The event's number is that of the trace's table, found once. A shorter record is a damaged one.
 * The payload is read by its struct (shared/tasks.h): its size must be checked before. */
static bool is_switch(struct noise *n, const struct event *e)
{
	const struct trace_event *t;

	if (n->event < 0) {
		t = trace_info_event(n->walk->info, e->fn);
		if (t && !strcmp(t->system, "sched") && !strcmp(t->name, "sched_switch"))
			n->event = e->fn;
	}
	return n->event == e->fn && e->count >= sizeof(struct task_switch);
}

/* The row of the walk's function, or of FN_NONE. */
static struct noise_times *times_of(struct noise *n, uint32_t function)
{
	uint32_t slot = function == FN_NONE ? 0 : function + 1;

	while (n->function_rows.n <= slot)
		*vec_add(&n->function_rows) = 0;
	if (!n->function_rows.at[slot]) {
		*vec_add(&n->functions) = (struct noise_function){ .function = function };
		n->function_rows.at[slot] = (uint32_t)n->functions.n;
	}
	return &n->functions.at[n->function_rows.at[slot] - 1].times;
}

/* Adds an interruption of that length to those by preemption or to the waits. */
static void add_time(struct noise_times *t, bool preempted, uint64_t ns)
{
	*(preempted ? &t->preempted_ns : &t->waited_ns) += ns;
	(*(preempted ? &t->preempted : &t->waited))++;
}

/* The innermost function that is open on the thread; FN_NONE: none is. */
static uint32_t open_function(const struct noise *n, const struct noise_thread *t)
{
	const struct walk_lane *lane = t->lane == NO_LANE ? NULL : &n->walk->lanes.at[t->lane];

	return lane && lane->open.n ? lane->open.at[lane->open.n - 1].function : FN_NONE;
}

/* An interruption is counted where it ends; the function is the one in which it began. A thread
 * that went on without having been seen to go has no beginning of its interruption: that one is not
 * counted. */
static void go_on(struct noise *n, struct noise_thread *t, uint64_t ns)
{
	uint64_t lasted = ns > t->off_ns ? ns - t->off_ns : 0;
	bool preempted = t->off == NOISE_PREEMPTED;

	if (t->off == NOISE_ON)
		return;
	t->off = NOISE_ON;
	add_time(&t->times, preempted, lasted);
	if (n->by_function)
		add_time(times_of(n, t->function), preempted, lasted);
}

/* Switches come from another source than calls, as another thread of the trace with the same
 * number: the row is one, and the calls are on the lane that told the last one. Payloads have no
 * alignment, hence the copy. */
void noise_take(struct noise *n, const struct walk_step *s)
{
	struct noise_thread *t = thread_of(n, s->thread);
	struct task_switch w;

	if (s->kind == WALK_BEGIN || s->kind == WALK_END)
		t->lane = s->lane;
	if (s->kind != WALK_EVENT || !is_switch(n, s->event))
		return;
	memcpy(&w, s->event->payload, sizeof(w));
	if (w.next_pid == (int32_t)t->tid) {
		go_on(n, t, s->ns);
	} else if (w.prev_pid == (int32_t)t->tid) {
		t->off = w.prev_state & TASK_STATE_PREEMPTED ? NOISE_PREEMPTED : NOISE_WAITS;
		t->off_ns = s->ns;
		t->function = open_function(n, t);
	}
}

/* --- order ------------------------------------------------------------------------------------ */

/* The greater one first. */
static int by_number(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

/* Time that the thread lost, by the two sources: a wait for a CPU is a delay, and a preemption a
 * part of one. */
static uint64_t lost_ns(const struct noise_thread *t)
{
	uint64_t delay = t->latest.delay_ns - t->began.delay_ns;

	return delay > t->times.preempted_ns ? delay : t->times.preempted_ns;
}

/* Threads that lost most come first, then by number: the order of two runs is the same. */
static int compare_threads(const void *a, const void *b)
{
	const struct noise_thread *x = a, *y = b;
	int c = by_number(lost_ns(x), lost_ns(y));

	return c ? c : by_number(y->tid, x->tid);
}

/* By preemption, then by waiting, then by number. */
static int compare_functions(const void *a, const void *b)
{
	const struct noise_function *x = a, *y = b;
	int c = by_number(x->times.preempted_ns, y->times.preempted_ns);

	c = c ? c : by_number(x->times.waited_ns, y->times.waited_ns);
	return c ? c : by_number(y->function, x->function);
}

/* It is called once, when no step comes any more. */
void noise_sort(struct noise *n)
{
	if (n->threads.n)
		qsort(n->threads.at, n->threads.n, sizeof(*n->threads.at), compare_threads);
	if (n->functions.n)
		qsort(n->functions.at, n->functions.n, sizeof(*n->functions.at), compare_functions);
	/* The rows are at other places now. */
	n->rows.n = 0;
	n->function_rows.n = 0;
}
