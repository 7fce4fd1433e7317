/* SPDX-License-Identifier: MIT */
/* The sentence about an excerpt that has nothing: by what calls were left out. Called when all of
 * it was read. The threads that read have been joined. Its answer is the command's error. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "excerpt/internal.h"

static const char *const words[LEFT_REASONS_N] = {
	[LEFT_BY_THREAD] = "of other threads (--thread, --process)",
	[LEFT_BY_CPU] = "on other CPUs (--cpu)",
	[LEFT_BY_FUNCTION] = "of other functions (-l, -n, -L, --min-size)",
	[LEFT_BY_GRAPH] = "in no call of -g",
	[LEFT_BY_DEPTH] = "deeper than --max-graph-depth",
	[LEFT_BY_LATER] = "shorter than --min-duration, or not calling what --callers-of names",
};

/* "3 of other functions (...), 2 in no call of -g"; "" if nothing of the range was left out. */
static void list_reasons(const struct excerpt *x, char *text, size_t size)
{
	size_t at = 0;

	*text = '\0';
	for (unsigned i = 0; i < LEFT_REASONS_N; i++) {
		/* Relaxed: whoever asks has joined the threads that counted. */
		const uint64_t left = atomic_load_explicit(&x->left[i], memory_order_relaxed);

		if (left && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64 " %s",
					       at ? ", " : "", left, words[i]);
	}
}

/* " from 5.000001 to 5.000005", or "" for the whole trace. */
static void name_range(const struct excerpt *x, char *text, size_t size)
{
	uint64_t first, last;

	*text = '\0';
	if ((!x->spec->from && !x->spec->to) || !store_range(x->reader, &first, &last))
		return;
	snprintf(text, size, " from %s to %s",
		 excerpt_shown_time(x->info, x->from > first ? x->from : first).text,
		 excerpt_shown_time(x->info, x->to < last ? x->to : last).text);
}

/* A trace without records is empty for no reason of the excerpt's. Threads that are not chosen are
 * not always read: where the range has nothing, it may have something of theirs. */
int excerpt_is_empty(const struct excerpt *x, struct err *err)
{
	char reasons[400], range[80];

	/* Relaxed: as in list_reasons(). */
	if (atomic_load_explicit(&x->given, memory_order_relaxed))
		return 0;
	list_reasons(x, reasons, sizeof(reasons));
	name_range(x, range, sizeof(range));
	if (*reasons)
		return err_set(err, ENODATA,
			       "nothing of the trace is chosen: of its calls and records%s there are %s",
			       range, reasons);
	return *range ? err_set(err, ENODATA,
				"nothing of the trace is chosen: %s no call or record%s",
				x->spec->threads.n || x->spec->processes.n
					? "the chosen threads have" : "it has",
				range)
		      : 0;
}
