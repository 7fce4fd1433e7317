/* SPDX-License-Identifier: MIT */
/* Attached processes, and the end of every session: they go on without it. Called by the thread
 * that starts the session, and by the one that ends it; changes may come from another. Each call of
 * the control is alone with the processes (turns.h). A process that cannot be left counts in
 * s->stuck, and the others are left all the same. */
#include <errno.h>
#include <stdlib.h>

#include "collect/messages.h"
#include "session/control.h"
#include "session/internal.h"
#include "tracee/proc_status.h"
#include "tracee/tracee.h"

#define ROUNDS_MAX 20 /* looks for children that were forked meanwhile */

/* A zombie does not run: its parent may never wait for it. */
bool session_is_running(uint32_t pid)
{
	struct proc_stat s;
	int r = proc_stat_read((pid_t)pid, (pid_t)pid, &s);

	/* A state that cannot be read for another reason counts as running. */
	return r == 0 ? s.state != 'Z' && s.state != 'X' : r != -ENOENT && r != -ESRCH;
}

/* Fails before the first attach if any of the processes may not be traced. */
static int check_all(const pid_t *pids, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = tracee_check(pids[i], err);
	return r;
}

/* A process that ends meanwhile is no failure as long as another one is attached, or still to
 * come. */
int session_attach(struct session *s, const pid_t *pids, size_t n, struct err *err)
{
	int r = check_all(pids, n, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		r = control_attach(s->control, pids[i], &s->attach, err);
		if (r == 0) {
			*vec_add(&s->attached) = pids[i];
			*vec_add(&s->watches) = exit_watch_begin(pids[i]);
		}
		/* attaching to the others takes a while, and processes of servers come and go */
		if (r < 0 && !session_is_running((uint32_t)pids[i]) && (s->attached.n || i + 1 < n))
			r = 0;
	}
	if (r < 0)
		session_detach(s);
	return r;
}

bool session_attached_run(const struct session *s)
{
	for (size_t i = 0; i < s->attached.n; i++)
		if (session_is_running((uint32_t)s->attached.at[i]))
			return true;
	return false;
}

/* Leaves one process. A failure is counted, and its reason kept; who ended meanwhile is left. */
static void leave_process(struct session *s, pid_t pid)
{
	struct err why;

	if (!session_is_running((uint32_t)pid) ||
	    control_detach(s->control, pid, &s->leave, &why) == 0 ||
	    !session_is_running((uint32_t)pid))
		return;
	s->stuck++;
	s->stuck_why = why;
	s->stuck_pid = pid;
}

/* Sets *pids to the attached processes, or to the launched one; returns their number. */
static size_t first_ones(const struct session *s, const pid_t **pids)
{
	*pids = s->attached.n ? s->attached.at : &s->pid;
	return s->attached.n ? s->attached.n : 1;
}

/* Notes the processes that have ended while they were attached. */
static void note_ended(struct session *s)
{
	int status;

	for (size_t i = 0; i < s->watches.n; i++) {
		struct exit_watch *w = &s->watches.at[i];

		if (exit_watch_ended(w, &status))
			messages_add_ended(&s->memories.at[0].header->messages, status, w->pid,
					   w->name);
		exit_watch_end(w);
	}
	vec_free(&s->watches);
}

/* A process that was left maps the session's memories no more, and is not found again; one that
 * could not be left is not tried again. A launched program has mostly ended. */
void session_detach(struct session *s)
{
	const pid_t *pids;
	size_t n_pids = first_ones(s, &pids);
	VEC(pid_t) done = { 0 };
	pid_t *children = NULL;

	if (s->left || !s->control)
		return;
	s->left = true;
	note_ended(s);
	/* Agents that have said hello get their answer first. */
	control_hear_all(s->control);
	if (!s->attached.n && (s->pid <= 0 || session_reap(s)))
		return;
	for (size_t i = 0; i < n_pids; i++) {
		leave_process(s, pids[i]);
		*vec_add(&done) = pids[i];
	}
	for (int round = 0; round < ROUNDS_MAX; round++) {
		size_t n = attach_find_children(&s->memories, done.at, done.n, &children);

		for (size_t i = 0; i < n; i++) {
			leave_process(s, children[i]);
			*vec_add(&done) = children[i];
		}
		free(children);
		if (!n)
			break;
	}
	vec_free(&done);
}

void session_keep(struct session *s, const struct settings *settings)
{
	control_keep(s->control, settings);
}

int session_change_sleeps(struct session *s, const struct settings *settings, struct err *err)
{
	const pid_t *pids;
	size_t n = first_ones(s, &pids);

	return control_change_sleeps(s->control, settings, pids, n, err);
}

/* A launched program that ended is a zombie until the session reaps it. */
size_t session_processes(struct session *s, pid_t **out)
{
	const pid_t *pids;
	size_t n = first_ones(s, &pids), kept = 0, more;
	VEC(pid_t) all = { 0 };
	pid_t *children = NULL;

	more = attach_find_children(&s->memories, pids, n, &children);
	for (size_t i = 0; i < n + more; i++) {
		pid_t pid = i < n ? pids[i] : children[i - n];

		if (pid > 0 && session_is_running((uint32_t)pid)) {
			*vec_add(&all) = pid;
			kept++;
		}
	}
	free(children);
	*out = all.at;
	return kept;
}

/* A transaction over all processes: on failure every one of them is as before. *pause_ns: how
 * long they stood still. */
int session_change(struct session *s, const struct settings *settings, uint64_t *pause_ns,
		   struct err *err)
{
	struct attach_report rep = { 0 };
	const pid_t *pids;
	size_t n = first_ones(s, &pids);
	int r = control_change(s->control, settings, session_thresh_ticks(s, settings), pids, n,
			       &rep, err);

	if (r == 0)
		/* Bits are only added: records with the former values are in the trace, too. */
		s->info->values |= settings_values(settings);
	*pause_ns = rep.pause_ns;
	return r;
}
