/* SPDX-License-Identifier: MIT */
/* RLIMIT_AS. The session memory is far larger than its used part and counts as address space of the
 * process. A program that limits its address space means its own: the agent's part is added to a
 * limit that it sets, and taken off one that it reads. Programs that it executes inherit both the
 * limit and the agent. Called by libc_calls.S around the call, on the calling thread; without room
 * the process is not traced (MESSAGE_LIMIT). */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/sys.h"

#define RLIMIT_AS 9
#define NO_LIMIT (~UINT64_C(0))
#define OWN_REST (UINT64_C(64) << 20) /* allowance for the agent's file, its stubs, trampolines */

static uint64_t bytes_of_ours(void)
{
	return agent.memory_size + sizeof(struct image_memory) + OWN_REST;
}

static uint64_t add_ours(uint64_t limit)
{
	return limit < NO_LIMIT - bytes_of_ours() ? limit + bytes_of_ours() : NO_LIMIT;
}

static uint64_t take_off_ours(uint64_t limit)
{
	return limit == NO_LIMIT ? limit : limit > bytes_of_ours() ? limit - bytes_of_ours() : 0;
}

bool limits_leave_room(uint64_t bytes)
{
	struct call_limit now = { NO_LIMIT, NO_LIMIT };

	/* A limit that was shifted already has room for one session memory. */
	if (!agent.limit_shifted)
		sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &now);
	/* Twice: half of the space stays for the program. */
	return now.now >= 2 * bytes;
}

static bool is_own(uint64_t pid)
{
	return !pid ||
	       (!agent_forbids(NEED_THREADS) && (uint32_t)pid == (uint32_t)sys0(__NR_getpid));
}

/* Returns false for a limit from before the agent came: only root could raise it. */
static bool may_shift(void)
{
	struct call_limit now = { 0, 0 };

	return agent.limit_shifted ||
	       (!sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &now) && now.max == NO_LIMIT);
}

uint64_t agent_limit_coming(const struct call_registers *r, struct call_plan *p)
{
	const struct call_limit *wanted = (const struct call_limit *)r->arg2;

	*p = libc_call_as_it_is(r);
	if (!agent.memory || (uint32_t)r->arg1 != RLIMIT_AS || agent_forbids(NEED_START) ||
	    !is_own(r->arg0))
		return 0;
	/* The result is corrected only where our part is in the limit. */
	if (agent.limit_shifted)
		p->limit_told = r->arg3;
	if (seccomp_can_read(r->arg2, sizeof(*wanted)) && may_shift()) {
		p->limit = (struct call_limit){ add_ours(wanted->now), add_ours(wanted->max) };
		p->arg2 = (uint64_t)&p->limit;
		p->limit_set = 1;
	}
	return 0;
}

void limits_done(const struct call_plan *p)
{
	struct call_limit *told = (struct call_limit *)p->limit_told;

	if (told)
		*told = (struct call_limit){ take_off_ours(told->now), take_off_ours(told->max) };
	if (p->limit_set)
		agent.limit_shifted = true;
}
