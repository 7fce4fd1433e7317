/* SPDX-License-Identifier: MIT */
/* The sentence about an excerpt that has nothing: by what calls were left out. Called when all of
 * it was read. The threads that read have been joined. Its answer is the command's error. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "excerpt/internal.h"

static const char *const words[LEFT_REASONS_N] = {
	[LEFT_BY_TIME] = "outside of --from and --to",
	[LEFT_BY_THREAD] = "of other threads (--thread, --process)",
	[LEFT_BY_CPU] = "on other CPUs (--cpu)",
	[LEFT_BY_FUNCTION] = "of other functions (-l, -n, -L, --min-size)",
	[LEFT_BY_GRAPH] = "in no call of -g",
	[LEFT_BY_DEPTH] = "deeper than --max-graph-depth",
	[LEFT_BY_LATER] = "shorter than --min-duration, or not calling what --callers-of names",
};

/* A trace without records is empty for no reason of the excerpt's. */
int excerpt_is_empty(const struct excerpt *x, struct err *err)
{
	char text[400] = "";
	size_t at = 0;

	/* Relaxed: whoever asks has joined the threads that counted. */
	if (atomic_load_explicit(&x->given, memory_order_relaxed))
		return 0;
	for (unsigned i = 0; i < LEFT_REASONS_N; i++) {
		const uint64_t left = atomic_load_explicit(&x->left[i], memory_order_relaxed);

		if (left && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%" PRIu64 " %s",
					       at ? ", " : "", left, words[i]);
	}
	return at ? err_set(err, ENODATA,
			    "nothing of the trace is chosen: of its calls and records there are %s",
			    text)
		  : 0;
}
