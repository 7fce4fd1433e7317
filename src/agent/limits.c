/* SPDX-License-Identifier: MIT */
/* The session memory is far larger than what is used of it, and counts as address space of the process. A
 * program that limits its address space means its own: what is ours is added to the limit it sets, and
 * taken off when it asks. What it executes inherits both, the limit and us. */
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/sys.h"

#define RLIMIT_AS 9
#define NO_LIMIT (~UINT64_C(0))
#define OWN_REST (UINT64_C(64) << 20) /* the agent's file, its stubs, trampolines */

static uint64_t ours(void)
{
	return agent.memory_size + sizeof(struct image_memory) + OWN_REST;
}

static uint64_t add_ours(uint64_t limit)
{
	return limit < NO_LIMIT - ours() ? limit + ours() : NO_LIMIT;
}

static uint64_t take_off_ours(uint64_t limit)
{
	return limit == NO_LIMIT ? limit : limit > ours() ? limit - ours() : 0;
}

bool limits_leave_room(uint64_t bytes)
{
	struct call_limit now = { NO_LIMIT, NO_LIMIT };

	if (!agent.limit_shifted)
		sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &now);
	return now.now >= 2 * bytes;
}

static bool is_own(uint64_t pid)
{
	return !pid || (!(agent.forbidden & NEED_THREADS) && (uint32_t)pid == (uint32_t)sys0(__NR_getpid));
}

/* A limit that was there before us stays as it is: only root could raise it. */
static bool may_shift(void)
{
	struct call_limit now = { 0, 0 };

	return agent.limit_shifted || (!sys4(__NR_prlimit64, 0, RLIMIT_AS, 0, &now) && now.max == NO_LIMIT);
}

uint64_t agent_limit_coming(const struct call_registers *r, struct call_plan *p)
{
	const struct call_limit *wanted = (const struct call_limit *)r->rdx;

	*p = call_as_it_is(r);
	if (!agent.memory || (uint32_t)r->rsi != RLIMIT_AS || agent.forbidden & NEED_START || !is_own(r->rdi))
		return 0;
	if (agent.limit_shifted)
		p->limit_told = r->r10;
	if (filter_can_read(r->rdx, sizeof(*wanted)) && may_shift()) {
		p->limit = (struct call_limit){ add_ours(wanted->now), add_ours(wanted->max) };
		p->rdx = (uint64_t)&p->limit;
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
