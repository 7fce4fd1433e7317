/* SPDX-License-Identifier: MIT */
/* A session's processes that go on without it: in, if they ran already, and out again with every child they forked. */
#include <errno.h>
#include <stdlib.h>

#include "session/control.h"
#include "session/internal.h"
#include "tracee/proc_status.h"
#include "tracee/tracee.h"

#define ROUNDS_MAX 20 /* of looking for children that were forked meanwhile */

bool session_is_running(uint32_t pid)
{
	struct proc_stat s;
	int r = proc_stat_read((pid_t)pid, (pid_t)pid, &s);

	return r == 0 ? s.state != 'Z' && s.state != 'X' : r != -ENOENT && r != -ESRCH;
}

static int check_all(const pid_t *pids, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = tracee_check(pids[i], err);
	return r;
}

int session_attach(struct session *s, const pid_t *pids, size_t n, struct err *err)
{
	int r = check_all(pids, n, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		r = control_attach(s->control, pids[i], &s->attach, err);
		if (r == 0)
			*vec_add(&s->attached) = pids[i];
		else if (!session_is_running((uint32_t)pids[i]) && (s->attached.n || i + 1 < n))
			r = 0; /* the others' turn takes a while, and servers' processes come and go */
	}
	if (r < 0)
		session_leave(s);
	return r;
}

bool session_attached_run(const struct session *s)
{
	for (size_t i = 0; i < s->attached.n; i++)
		if (session_is_running((uint32_t)s->attached.at[i]))
			return true;
	return false;
}

static void leave(struct session *s, pid_t pid)
{
	if (session_is_running((uint32_t)pid) && control_leave(s->control, pid, &s->leave, &s->stuck_why) < 0)
		s->stuck++;
}

/* Those attached to, or the one launched: how many. */
static size_t first_ones(const struct session *s, const pid_t **pids)
{
	*pids = s->attached.n ? s->attached.at : &s->pid;
	return s->attached.n ? s->attached.n : 1;
}

/* A process that was left maps the session's memories no more; one that could not be is not asked again. A program that was launched
 * has mostly ended. */
void session_leave(struct session *s)
{
	const pid_t *pids;
	size_t n_pids = first_ones(s, &pids);
	VEC(pid_t) done = { 0 };
	pid_t *children = NULL;

	if (s->left || !s->control)
		return;
	s->left = true;
	control_settle(s->control);
	if (!s->attached.n && (s->pid <= 0 || session_reap(s)))
		return;
	for (size_t i = 0; i < n_pids; i++) {
		leave(s, pids[i]);
		*vec_add(&done) = pids[i];
	}
	for (int round = 0; round < ROUNDS_MAX; round++) {
		size_t n = attach_find_children(&s->memories, done.at, done.n, &children);

		for (size_t i = 0; i < n; i++) {
			leave(s, children[i]);
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

int session_change(struct session *s, const struct settings *settings, uint64_t *pause_ns, struct err *err)
{
	struct attach_report rep = { 0 };
	const pid_t *pids;
	size_t n = first_ones(s, &pids);
	int r = control_change(s->control, settings, session_thresh_ticks(s, settings), pids, n, &rep, err);

	if (r == 0)
		s->info->values |= settings_values(settings);
	*pause_ns = rep.pause_ns;
	return r;
}
