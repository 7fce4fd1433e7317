/* SPDX-License-Identifier: MIT */
/* AddressSanitizer's library refuses to run unless it is the first that ld.so lists, and we are before it: our
 * entry in the list moves behind its. Nothing else looks at the order of that list: symbols are found
 * and constructors are run by other ones. */
#include <link.h>

#include "agent/agent.h"

extern const uint8_t agent_header[] __attribute__((visibility("hidden"))); /* agent.ld */

static bool contains(const char *s, const char *word)
{
	for (; *s; s++) {
		const char *a = s, *b = word;

		while (*b && *a == *b)
			a++, b++;
		if (!*b)
			return true;
	}
	return false;
}

static bool must_be_first(const struct link_map *l)
{
	return l->l_name && (contains(l->l_name, "/libasan.so") || contains(l->l_name, "/libclang_rt.asan"));
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

void order_modules(char **envp)
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
