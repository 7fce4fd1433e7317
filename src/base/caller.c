/* SPDX-License-Identifier: MIT */
#include "base/caller.h"

#include <stddef.h>

static __thread struct caller *now;

void caller_begin(struct caller *c)
{
	now = c;
}

struct caller *caller_now(void)
{
	return now;
}

bool caller_is_answered(void)
{
	return now && now->answered;
}

bool caller_end(int64_t result)
{
	struct caller *c = now;

	now = NULL;
	if (c->let_go)
		c->let_go(c, result);
	return c->answered;
}
