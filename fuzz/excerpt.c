/* SPDX-License-Identifier: MIT */
/* A part of a trace: the words of the options, in any trace file. The first byte is the length of
 * the words, which are lines NAME=TEXT; the next one says how the trace file is made of the others
 * (fuzz/store.c). What is asked for is read, merged and thread by thread. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "excerpt/excerpt.h"
#include "trace/tracks.h"

#include "trace_file.h"

#define EVENTS_MOST 100000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Steps that are given must make sense to those who keep stacks. */
static void take_step(void *arg, const struct call_step *s)
{
	(void)arg;
	if (s->kind == CALL_LEAVE && s->begin > s->tsc)
		abort();
}

static void feed(struct tracks *t, const struct event *e, const struct trace_info *info)
{
	if (e->thread < info->threads.n)
		tracks_feed(t, tracks_lane(t, e->thread), e, take_step, NULL);
}

static void read_source(struct source *source)
{
	struct sites sites;
	struct tracks tracks;
	struct event e;
	struct err err;

	sites_init(&sites, source->info);
	tracks_init(&tracks, source->info, &sites);
	for (int i = 0; i < EVENTS_MOST && source->ops->next(source, &e, &err) > 0; i++)
		feed(&tracks, &e, source->info);
	(void)excerpt_source_is_empty(source, &err);
	source->ops->close(source);
	tracks_free(&tracks);
	sites_free(&sites);
}

static void read_thread(struct excerpt *x, uint32_t thread)
{
	struct excerpt_cursor *c = excerpt_cursor_open(x, thread);
	static struct event events[64];
	struct err err;

	for (int i = 0; c && i < EVENTS_MOST / 64 && excerpt_cursor_next(c, events, 64, &err) > 0; i++)
		;
	excerpt_cursor_close(c);
}

static void read_all(const struct excerpt_spec *w, struct store_reader *r)
{
	struct err err;
	struct excerpt *x;
	struct source *source = excerpt_source_of(w, r, &err);

	if (source)
		read_source(source);
	if (excerpt_open(w, r, &x, &err))
		return;
	excerpt_clip(x);
	for (uint32_t i = 0; i < store_info(r)->threads.n && i < 64; i++)
		read_thread(x, i);
	(void)excerpt_is_empty(x, &err);
	excerpt_close(x);
}

/* Names of the source are left out: files would be opened that the trace names. */
static void add_specs(struct excerpt_spec *w, char *lines)
{
	char *save = NULL;

	for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *text = strchr(line, '=');
		struct err err;

		if (!text)
			continue;
		*text++ = '\0';
		excerpt_spec_add(w, line, text, &err);
	}
	for (size_t i = 0; i < EXCERPT_LOCATIONS_N; i++)
		for (; w->locations[i].n; w->locations[i].n--)
			free(w->locations[i].at[w->locations[i].n - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct excerpt_spec w = { 0 };
	struct store_reader *r;
	struct bytes file = { 0 };
	struct err err;
	size_t words = n ? bytes[0] : 0, at = 2 + words;
	char *lines;

	if (n < at)
		return 0;
	lines = mem_printf("%.*s", (int)words, (const char *)bytes + 1);
	add_specs(&w, lines);
	free(lines);
	if (bytes[at - 1] & 3)
		file = trace_file_make(bytes + at, n - at, bytes[at - 1] & 1);
	else
		bytes_put(&file, bytes + at, n - at);
	if (!store_open_bytes("fuzz", file.at, file.n, &r, &err)) {
		read_all(&w, r);
		store_close(r);
	}
	vec_free(&file);
	excerpt_spec_free(&w);
	return 0;
}
