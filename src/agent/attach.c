/* SPDX-License-Identifier: MIT */
/* Joining a process that runs already, and leaving it. A tracer that holds the process by ptrace
 * calls these functions in a borrowed thread, on a stack of ours, while all other threads are
 * stopped, perhaps inside the agent. The patches are the tracer's business. Failures are returned
 * as -errno and undo what was done. If the tracer dies meanwhile the other threads go on, and so
 * does this call, to its end. */
#include <asm/errno.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/delivery.h"
#include "agent/lend.h"
#include "agent/lock_points.h"
#include "agent/mappings.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/site.h"
#include "agent/stacks.h"
#include "agent/sys.h"
#include "agent/talk.h"
#include "agent/tasks.h"

struct attach_params agent_params;

static void unmap_all(uint64_t memory_size)
{
	mappings_forget_regions(0, agent.n_regions);
	if (agent.memory)
		sys2(__NR_munmap, agent.memory, memory_size);
	if (agent.image)
		sys2(__NR_munmap, agent.image, sizeof(struct image_memory));
	agent.memory = 0;
	agent.image = 0;
	no_tls_end();
}

static bool take_places(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	mappings_map_regions(w, fds); /* before the kernel gives their places away */
	if (!no_tls_begin(w) || !mappings_map_memories(w, fds))
		return false;
	site_adopt();
	return true;
}

static void close_sockets(void)
{
	for (int i = 0; i < 2; i++)
		sys1(__NR_close, agent_params.sockets[i]);
	agent_params.sockets[0] = agent_params.sockets[1] = 0;
}

int64_t agent_attach(void)
{
	struct protocol_setup w;
	int fds[TALK_FDS];
	bool there = talk_setup(agent_params.sockets[0], &w, fds), done;

	close_sockets();
	if (!there)
		return -EPROTO;
	mappings_find_own();
	agent.tls_offset = agent_params.tls;
	agent.key = agent_params.key;
	agent.flags = agent_params.flags;
	agent.forbidden |=
		(w.lacks & LACKS_TASKS ? NEED_TASKS : 0) | (w.lacks & LACKS_COPY ? NEED_COPY : 0) |
		(w.lacks & LACKS_HANDLERS ? NEED_HANDLERS : 0) |
		(w.lacks & LACKS_USER ? NEED_USER : 0) | (w.lacks & LACKS_TEXTS ? NEED_TEXTS : 0);
	/* Pairs with is_abandoned() and others that ask; all threads but this one are stopped. */
	__atomic_store_n(&agent.abandoned, false, __ATOMIC_RELEASE);
	agent.session++;
	agent.watch = w.watch && agent.socket[0];
	agent.oom_score_adj = w.oom_score_adj;
	for (unsigned i = 0; i < sizeof(agent.agent_socket); i++)
		agent.agent_socket[i] = agent_params.agent_socket[i];
	delivery_begin(w.signals);
	if (exec_begin(agent_params.agent))
		for (unsigned i = 0; i < sizeof(agent.socket); i++)
			agent.socket[i] = agent_params.tracer[i];
	done = take_places(&w, fds);
	for (int i = 0; i < TALK_FDS; i++)
		sys1(__NR_close, fds[i]);
	if (!done)
		unmap_all(w.layout.size);
	return done ? 0 : -ENOMEM;
}

/* Maps more trampolines, for patches that replace those there are. */
int64_t agent_change(void)
{
	struct protocol_setup w;
	int fds[TALK_FDS];
	uint64_t before = agent.n_regions;
	bool there = talk_setup(agent_params.sockets[0], &w, fds), done;

	close_sockets();
	if (!there)
		return -EPROTO;
	done = mappings_map_regions(&w, fds);
	for (int i = 0; i < TALK_FDS; i++)
		sys1(__NR_close, fds[i]);
	if (!done) {
		mappings_forget_regions(before, agent.n_regions - before);
		return -ENOMEM;
	}
	/* A child that has not noticed its fork has its old fork guards closed; the new ones
	 * must be closed, too. */
	mappings_disarm_if_forked(before);
	agent.watch = w.watch && agent.socket[0];
	agent.oom_score_adj = w.oom_score_adj;
	delivery_begin(w.signals);
	mappings_adopt_settings(&w.settings);
	/* Both cache places in trampolines that the change replaces. */
	task_forget();
	lend_forget_code();
	if (agent_params.renew) {
		lend_forget();
		saved_stacks_forget();
		site_renew();
	}
	return 0;
}

int64_t agent_forget(void)
{
	if (agent_params.first > agent.n_regions ||
	    agent_params.n > agent.n_regions - agent_params.first)
		return -EINVAL;
	mappings_forget_regions(agent_params.first, agent_params.n);
	mappings_adopt_settings(&agent_params.settings);
	return 0;
}

/* No thread is inside the agent, a trampoline or a stub. Return addresses into stubs may be on the
 * stacks: those stubs stay, and find no memory to write to. */
int64_t agent_detach(void)
{
	if (!agent.memory)
		return 0;
	task_forget();
	lend_forget();
	site_keep();
	saved_stacks_forget();
	lock_tables_end();
	stacks_end();
	unmap_all(agent.memory_size);
	return 0;
}
