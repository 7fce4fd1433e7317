/* SPDX-License-Identifier: MIT */
/* Raises the priority of the thread that holds a process. A stopped thread stands until the
 * tracer has dealt with all others; if threads that still run, or run again, take the processor
 * from the tracer meanwhile, the pause grows by that. So the tracer becomes a real-time thread
 * if it may, else it asks for the shortest slice, whose turn comes soonest (Linux 6.12; needs no
 * right). If the kernel refuses both, nothing changes. tracee_stop() begins it, tracee_release()
 * ends it, on the holder's thread. */
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracee/internal.h"

#define SHORTEST_SLICE_NS 100000
#define RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK: children do not inherit it */

static bool set_attributes(const struct boost_attr *attr)
{
	return syscall(SYS_sched_setattr, 0, attr, 0) == 0;
}

void boost_begin(struct boost *u)
{
	struct boost_attr attr = {
		.size = sizeof(attr), .policy = SCHED_FIFO, .flags = RESET_ON_FORK, .priority = 1
	};

	/* A thread with a policy of its own keeps it. */
	if (syscall(SYS_sched_getattr, 0, &u->before, sizeof(u->before), 0) < 0 ||
	    u->before.policy != SCHED_OTHER)
		return;
	u->raised = set_attributes(&attr);
	if (u->raised)
		return;
	attr = u->before;
	attr.runtime = SHORTEST_SLICE_NS;
	u->raised = set_attributes(&attr);
}

void boost_end(struct boost *u)
{
	if (u->raised)
		set_attributes(&u->before);
	u->raised = false;
}
