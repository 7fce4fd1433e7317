/* SPDX-License-Identifier: MIT */
/* Traces into a fleet's database, with words about them: of brace push, and of brace record when a
 * program has ended. */
#pragma once
#include "fleet/push.h"
#include "fleet/spool.h"
#include "store/store.h"
#include "ui/invocation.h"

#define PUSHING_SPOOL_MOST (UINT64_C(1) << 30) /* bytes of traces in a spool, if not said */

/* The labels of the command line as lines of KEY=VALUE; free() them. */
char *pushing_labels(const struct invocation *inv);
/* Pushes the open trace, of which inv chooses the part. p is complete but for the source and its
 * numbers. 0, or -errno and *err, as fleet_push(). */
int pushing_reader(const struct invocation *inv, struct store_reader *reader, struct fleet_push *p,
		   struct err *err);
/* Says that it is there. */
void pushing_say_done(const struct fleet_push *p);

/* --spool, or the user's own spool; free() it. NULL: said. */
char *pushing_spool_path(const struct invocation *inv);

/* A spool, and what came of emptying it. */
struct pushing_spool {
	int fd;
	const char *path, *to; /* to: entries for these servers; others are not touched */
	bool quiet;
	/* results */
	size_t pushed, left, foreign; /* foreign: of other servers */
	uint64_t calls, bytes_left;
};
/* Pushes each entry for these servers, the oldest first, and removes it. What fails stays, and is
 * said. 0; -EINTR; or -errno and *err: the spool cannot be read. */
int pushing_spool(const struct invocation *inv, struct pushing_spool *s, struct fleet_push *p,
		  struct err *err);
