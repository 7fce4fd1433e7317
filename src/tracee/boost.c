/* SPDX-License-Identifier: MIT */
/* Whoever stands still waits for the tracer. If threads that still run, or run again, take the processor from
 * it in the midst of stopping or releasing the others, these stand still for as long as it waits. So it
 * goes first meanwhile: as a real-time thread if it may, else with the shortest slice, whose turn
 * comes soonest (Linux 6.12; no right is needed). */
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracee/internal.h"

#define SHORTEST_SLICE_NS 100000
#define RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK */

static bool set(const struct boost_attr *attr)
{
	return syscall(SYS_sched_setattr, 0, attr, 0) == 0;
}

void boost_begin(struct boost *u)
{
	struct boost_attr attr = { .size = sizeof(attr), .policy = SCHED_FIFO, .flags = RESET_ON_FORK, .priority = 1 };

	if (syscall(SYS_sched_getattr, 0, &u->before, sizeof(u->before), 0) < 0 || u->before.policy != SCHED_OTHER)
		return;
	u->raised = set(&attr);
	if (u->raised)
		return;
	attr = u->before;
	attr.runtime = SHORTEST_SLICE_NS;
	u->raised = set(&attr);
}

void boost_end(struct boost *u)
{
	if (u->raised)
		set(&u->before);
	u->raised = false;
}
