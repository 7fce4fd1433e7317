/* SPDX-License-Identifier: MIT */
/* A trace, or a part of it, as rows of a fleet's tables: sums by function and minute always, each
 * call if wanted. A run is what was pushed: its number is made of the file's bytes and of the
 * options that chose the part, so the same part of the same file is the same run. */
#pragma once
#include "fleet/sender.h"
#include "store/store.h"
#include "trace/event.h"

struct fleet_push {
	/* choices */
	const struct fleet_servers *servers;
	struct source *source;      /* the part, which is read once */
	struct store_reader *whole; /* the file itself is sent, too; NULL: it is not */
	uint64_t file, part;        /* hashes of the file's bytes, and of what chose the part */
	bool calls, no_command, verify;
	const char *labels;         /* lines of KEY=VALUE, or "" */
	uint64_t retry_ns;
	const struct stop *stop;
	/* results */
	uint64_t run, n_calls, lost, minute_rows, call_rows;
	uint64_t away;              /* bits of servers that were away too long: not asked again */
	size_t server, batches, sent, there, missing;
};

/* Reads and sends. 0, or -errno and *err; -EINTR: stop was asked; -ETIMEDOUT: the
 * server was away for too long, or has its bit in p->away. Whatever happened, pushing the
 * same again completes it. */
int fleet_push(struct fleet_push *p, struct err *err);
