/* SPDX-License-Identifier: MIT */
/* brace record --push: finished files go into a spool, and from there to a fleet's servers. The
 * recording never waits for a server: while the program runs, another process pushes. */
#pragma once
#include <pthread.h>
#include <sys/types.h>

#include "fleet/server.h"
#include "fleet/spool.h"
#include "ui/invocation.h"

struct record_push {
	const struct invocation *inv;
	bool on;              /* --push was given */
	/* private */
	struct fleet_servers servers;
	struct spool_note note;
	char *path;           /* of the spool */
	int spool;
	uint64_t most;
	spool_names names;    /* of the files that were put into the spool */
	size_t refused;       /* files that are not in it */
	struct err why;       /* of the first of them */
	/* Under the lock, of the session's thread and of the monitor's: */
	pthread_mutex_t lock;
	pid_t child;          /* pushes now; 0: none does */
	bool missed;          /* a file came when it may have looked already */
};

/* Reads the options, and makes the spool. 0; or EXIT_BRACE (said): nothing can be pushed so. Lets
 * the session tell of each file of --rotate. record_push_free() follows in any case. */
int record_push_begin(struct record_push *p, struct invocation *inv);
/* Now and then while the program runs, on any thread: starts the process that pushes, if a file
 * came while the one before ended. */
void record_push_look(void *p);
/* When the program has ended: pushes what is left, with the last file (NULL: there is none), and
 * says what came of it. A push that fails leaves the trace in the spool, and changes no status. */
void record_push_end(struct record_push *p, const char *file);
void record_push_free(struct record_push *p);
