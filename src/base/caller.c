/* SPDX-License-Identifier: MIT */
/* The record of whose work a thread does (see the header). tree/fuse_*.c begins and ends it around
 * each request, tracee/ asks for it. Each thread has a pointer of its own, so no lock is needed,
 * and nothing here can fail. */
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
	/* Before let_go the caller may still be stopped in its system call, with the early answer
	 * as its result; let_go corrects that. */
	if (c->let_go)
		c->let_go(c, result);
	return c->answered;
}
