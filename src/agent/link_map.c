/* SPDX-License-Identifier: MIT */
/* AddressSanitizer's library refuses to run unless it is the first in ld.so's list of modules, and
 * the agent is before it. So the agent's entry is moved after that library's. Nothing else depends
 * on the order of this list: symbol look-up and constructors have their own. Runs in the agent's
 * constructor, on the only thread; does nothing if a list looks different. init.c calls it. */
#include <link.h>

#include "agent/agent.h"
#include "agent/ldso.h"

extern const uint8_t agent_header[] __attribute__((visibility("hidden"))); /* agent.ld */

static bool must_be_first(const struct link_map *l)
{
	return l->l_name && (agent_string_contains(l->l_name, "/libasan.so") ||
			     agent_string_contains(l->l_name, "/libclang_rt.asan"));
}

static void move_behind(struct link_map *l, struct link_map *other)
{
	l->l_prev->l_next = l->l_next;
	l->l_next->l_prev = l->l_prev;
	l->l_prev = other;
	l->l_next = other->l_next;
	if (l->l_next)
		l->l_next->l_prev = l;
	other->l_next = l;
}

void link_map_asan_first(char **envp)
{
	const struct r_debug *debug = ldso_symbol(envp, "_r_debug");
	struct link_map *self = debug ? debug->r_map : 0, *other;

	while (self && self->l_addr != (uint64_t)agent_header)
		self = self->l_next;
	if (!self || !self->l_prev)
		return;
	for (other = self->l_next; other; other = other->l_next)
		if (must_be_first(other)) {
			move_behind(self, other);
			return;
		}
}
