/* SPDX-License-Identifier: MIT */
/* mlockall would populate and lock the whole session memory, a gigabyte of which little is used. So
 * the call is made with MCL_ONFAULT, and then each mapping but ours is locked, which populates it.
 * Called by libc_calls.S around the call, on the calling thread. If /proc/self/maps cannot be read,
 * the call is repeated as it was. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/libc_calls.h"
#include "agent/needs.h"
#include "agent/own_maps.h"
#include "agent/sys.h"

static bool ranges_overlap(uint64_t start, uint64_t end, const void *at, uint64_t bytes)
{
	return start < (uint64_t)at + bytes && end > (uint64_t)at;
}

static bool is_in_agent(uint64_t start, uint64_t end)
{
	return ranges_overlap(start, end, agent.memory, agent.memory_size) ||
	       ranges_overlap(start, end, agent.image, sizeof(*agent.image)) ||
	       ranges_overlap(start, end, agent_own, sizeof(agent_own)) ||
	       ranges_overlap(start, end, agent_arena, SITE_ARENA_BYTES + SITE_BLOCK_BYTES);
}

static void fill_others(struct own_maps *m)
{
	struct own_map map;

	while (own_maps_next(m, &map))
		if (map.end > map.start && !is_in_agent(map.start, map.end))
			sys2(__NR_mlock, map.start, map.end - map.start);
}

uint64_t agent_lock_coming(const struct call_registers *r, struct call_plan *p)
{
	*p = libc_call_as_it_is(r);
	if (agent.memory && !agent_forbids(NEED_LOCKS) &&
	    (r->arg0 & (MCL_CURRENT | MCL_ONFAULT)) == MCL_CURRENT) {
		p->arg0 = r->arg0 | MCL_ONFAULT;
		p->lock = (uint32_t)r->arg0;
	}
	return 0;
}

void locks_done(const struct call_plan *p)
{
	struct own_maps m;

	if (!p->lock)
		return;
	if (p->lock & MCL_FUTURE) /* sets the flag for later mappings only */
		sys1(__NR_mlockall, MCL_FUTURE);
	if (!own_maps_open(&m)) {
		sys1(__NR_mlockall, p->lock);
		return;
	}
	fill_others(&m);
	own_maps_close(&m);
}
