/* SPDX-License-Identifier: MIT */
/* The table of formats. `brace export` (ui/cmd/export.c) calls one of them, on the main thread; the
 * meter's reads only how far it is. A name that is no format's is NULL. */
#include "export/exporter.h"

#include <errno.h>
#include <string.h>

#include "export/formats.h"

const char *const export_weight_words[EXPORT_WEIGHTS] = {
	[WEIGHT_SELF] = "self", [WEIGHT_TOTAL] = "total", [WEIGHT_CALLS] = "calls",
};

#define ROW(format) &export_##format,
const struct exporter *const exporters[] = { EXPORT_FORMATS(ROW) NULL };
#undef ROW

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; exporters[i]; i++)
		if (!strcmp(exporters[i]->name, name))
			return exporters[i];
	return NULL;
}

/* Ends the walk when nobody takes the bytes any more. */
struct watched { struct export_job *job; walk_take *take; void *arg; };

/* The walk's sink: the exporter's own, and after it a look whether its output still works. A
 * directory has no output of its own: its exporter looks itself. */
static int take_watched(void *arg, const struct walk_step *s)
{
	struct watched *w = arg;
	int r = w->take(w->arg, s);

	return r ? r : w->job->out ? w->job->out->error : 0;
}

/* The counts are the job's also when the walk failed: they tell how far it came. */
int export_walk(struct export_job *job, struct walk *w, walk_take *take, void *arg,
		struct err *err)
{
	struct watched watched = { job, take, arg };
	int r;

	w->stop = job->stop;
	r = walk_run(w, take_watched, &watched, err);
	job->counts = w->counts;
	return r;
}

/* A call may have several of the flags: the first of the list is told. */
const char *export_end_word(unsigned flags)
{
	static const struct { unsigned flag; const char *word; } words[] = {
		{ WALK_UNFINISHED, "unfinished" }, { WALK_CUT, "cut" },
		{ WALK_UNFOLLOWED, "unfollowed" }, { WALK_UNWOUND, "unwound" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (flags & words[i].flag)
			return words[i].word;
	return NULL;
}

/* With all three digits behind the point: times are exact to the nanosecond. */
void export_put_us(struct out *o, uint64_t ns)
{
	out_u64(o, ns / 1000, 1, ' ');
	out_char(o, '.');
	out_u64(o, ns % 1000, 3, '0');
}
