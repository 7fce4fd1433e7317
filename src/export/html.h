/* SPDX-License-Identifier: MIT */
/* A trace as one page: `brace html`. The viewer is the files of page/, and needs nothing but a
 * browser: docs/html.md. */
#pragma once
#include "base/out.h"
#include "export/walk.h"

struct html_job {
	struct source *source;
	struct source *part;       /* the caller's own: what the source was made of */
	bool is_part;              /* the source leaves out some of the trace */
	uint64_t min_ns;           /* it leaves out shorter calls; 0: it does not */
	struct out *out;
	const char *title;         /* of the page: the trace's file */
	const struct stop *stop; /* or NULL; asked: ends with -EINTR */
	/* results */
	struct walk_counts counts;
	size_t lanes;
};

/* Writes the page of all of the source. 0; -errno and *err of the source or of temporary files; or
 * -errno of job->out, where it stays. */
int html_write(struct html_job *job, struct err *err);
