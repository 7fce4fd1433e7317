/* SPDX-License-Identifier: MIT */
/* The flight recorder, `brace record --snapshot-on`: the newest records stay in memory, and are
 * written when a call lasts too long, or on a signal. */
#pragma once
#include "ui/tree_run.h"

struct recorder {
	const struct invocation *inv;
	const char *file;
	uint32_t last;          /* the latest number of a file; 0: none */
	uint32_t written, removed;
	VEC(char *) names;      /* of files that are there, oldest first */
	bool failed;            /* a file could not be written: it was said */
};

/* From here on signals for snapshots are heeded. */
void recorder_begin(struct recorder *r, const struct invocation *inv, const char *file);
/* Writes snapshots until the programs have ended. */
void recorder_run(struct recorder *r, struct instances *l);
/* Says how many files there are. */
void recorder_tell(const struct recorder *r);
void recorder_end(struct recorder *r);
