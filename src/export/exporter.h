/* SPDX-License-Identifier: MIT */
/* A trace in other tools' formats: `brace export --to NAME`. A format is a row of formats.h. */
#pragma once
#include "base/out.h"
#include "export/walk.h"

/* The weight of a call in formats that have one number for each stack. */
enum export_weight { WEIGHT_SELF, WEIGHT_TOTAL, WEIGHT_CALLS, EXPORT_WEIGHTS };
extern const char *const export_weight_words[EXPORT_WEIGHTS];

/* One run of an exporter. */
struct export_job {
	struct source *source;
	const struct source *part; /* the caller's own: what the source was made of */
	struct out *out;           /* for the bytes of a file */
	const char *directory;     /* for a directory of files: it is there, and empty */
	enum export_weight weight;
	const struct stop *stop; /* or NULL; asked: ends with -EINTR */
	/* results */
	struct walk_counts counts;
	uint64_t folded;           /* calls that were added to their callers: too deep, too many */
};

enum export_holds {
	HOLDS_EVENTS = 1, HOLDS_LOSSES = 2, HOLDS_ARGUMENTS = 4, HOLDS_VALUES = 8,
	HOLDS_ENDS = 16,           /* how a call ended: unfinished, at a loss, unwound */
	HOLDS_KERNEL = 32,         /* of a trace of both, the kernel's part, as a process 0 */
};

struct exporter {
	const char *name;          /* as in --to NAME */
	const char *summary;       /* one line, for the list of formats */
	bool binary;               /* not for terminals */
	bool directory;            /* several files, in a directory */
	bool database;             /* written by query_save(): write is NULL */
	bool weighs;               /* --weight has a meaning */
	bool sums;                 /* of calls: they count with their part of a range */
	unsigned holds;            /* enum export_holds: the others are told as left out */
	/* Writes all of the source. 0, or -errno and *err: a source that ends in an error, or more
	 * than the format can hold. Errors of job->out stay in it. */
	int (*write)(struct export_job *job, struct err *err);
};

extern const struct exporter *const exporters[]; /* ends with NULL */
const struct exporter *exporter_find(const char *name); /* NULL: there is none */

/* Walks the job's source; the choices of *w are made. Fills job->counts. As walk_run(), and
 * -errno of job->out. */
int export_walk(struct export_job *job, struct walk *w, walk_take *take, void *arg,
		struct err *err);
/* The end of a call that did not return: "unwound", "unfinished", "cut", "unfollowed"; else
 * NULL. */
const char *export_end_word(unsigned flags);
/* Prints nanoseconds as microseconds with three decimals. */
void export_put_us(struct out *o, uint64_t ns);
