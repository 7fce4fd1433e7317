/* SPDX-License-Identifier: MIT */
/* Called by detach.c, in a holder, between two holds. Reads /proc; a kernel without
 * CONFIG_SCHED_INFO counts no time, and most_ms bounds the wait. */
#include "inject/runs.h"

#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "tracee/proc_status.h"

/* Long enough to have left a trampoline. */
#define A_WHILE_NS 100000
#define STEP_MS 2

/* CPU time in ns; 0 where the kernel does not count it. */
static uint64_t run_time(pid_t pid, pid_t tid)
{
	unsigned long long ns = 0;
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	f = fopen(name, "re");
	if (f && fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

void runs_note(struct runs *r, pid_t tid)
{
	*vec_add(&r->at) = (struct run_time){ tid, run_time(r->pid, tid) };
}

/* Whether the thread has run since, sleeps or has ended. */
static bool has_run(const struct runs *r, const struct run_time *before)
{
	struct proc_stat stat;

	/* 'R' is running or ready to run; a sleeping thread will not get further by waiting. */
	return proc_stat_read(r->pid, before->tid, &stat) < 0 || stat.state != 'R' ||
	       run_time(r->pid, before->tid) > before->ns + A_WHILE_NS;
}

void runs_wait(struct runs *r, unsigned most_ms)
{
	const struct timespec step = { 0, STEP_MS * 1000000 };

	nanosleep(&step, NULL);
	for (unsigned ms = STEP_MS; r->at.n && ms < most_ms; ms += STEP_MS) {
		while (r->at.n && has_run(r, &r->at.at[r->at.n - 1]))
			r->at.n--;
		if (r->at.n)
			nanosleep(&step, NULL);
	}
	r->at.n = 0;
}

void runs_free(struct runs *r)
{
	vec_free(&r->at);
}
