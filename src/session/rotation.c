/* SPDX-License-Identifier: MIT */
/* The counts of trace_info are those of one file: they begin at 0 with each, so that kept + lost =
 * produced holds for each file by itself, and the sums of all files are the session's. A call that
 * is open at a turn has its beginning in one file and its end in the next. record.c calls it on the
 * session's thread. An error is handed to record.c. */
#include "session/rotation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "session/internal.h"
#include "shared/messages.h"
#include "store/store.h"

/* 0 also if there is no rotation. */
int rotation_begin(struct session *s, const struct session_rotation *spec, struct err *err)
{
	struct stat st;

	s->rotation.spec = *spec;
	s->rotation.begun_ns = monotonic_ns();
	if (!spec->bytes && !spec->ns)
		return 0;
	if (session_overwrites(s))
		return err_set(err, EINVAL,
			       "--rotate and --mode overwrite exclude each other: records of this mode come into the file at the end");
	if (lstat(s->output, &st) || !S_ISREG(st.st_mode))
		return err_set(err, EINVAL,
			       "--rotate needs a file of its own: %s is none, and gets no second one",
			       s->output);
	return 0;
}

/* A file may get larger by what one pass brings. */
bool rotation_due(const struct session *s)
{
	const struct session_rotation *spec = &s->rotation.spec;

	/* Nothing follows a file that takes no more, and there is no file without a record. */
	if (s->full.code || !(s->total.records | s->total.lost))
		return false;
	if (spec->bytes && store_has(s->store, spec->bytes))
		return true;
	return spec->ns && monotonic_ns() - s->rotation.begun_ns >= spec->ns;
}

/* The newest file tells of those before it, so that nobody takes it for the whole. */
void rotation_describe(struct session *s)
{
	const struct rotation *r = &s->rotation;
	struct trace_message m = { .kind = MESSAGE_ROTATED, .number = r->files,
				   .count = r->files_removed };

	if (!r->files)
		return;
	snprintf(m.name, sizeof(m.name), "%" PRIu64, r->removed.records);
	*vec_add(&s->info->messages) = m;
}

/* Gives a file, `from`, the first number that no file has, a file of an earlier run neither. *name
 * is the caller's to free. */
static int give_number(struct session *s, const char *from, char **name, struct err *err)
{
	struct rotation *r = &s->rotation;

	for (;;) {
		*name = mem_printf("%s.%" PRIu32, s->output, ++r->last);
		if (!renameat2(AT_FDCWD, from, AT_FDCWD, *name, RENAME_NOREPLACE))
			return 0;
		if (errno != EEXIST || r->last == UINT32_MAX)
			break;
		free(*name);
	}
	err_set(err, errno, "cannot rename trace file %s to %s: %s", from, *name, strerror(errno));
	free(*name);
	return -err->code;
}

/* The ended file, with its number, gives its name to the next one. Whoever kills brace at any time
 * leaves a readable file under the name: a ring's records come behind it. Not where the file
 * system cannot exchange two names (ntfs3, exfat). */
static bool exchange(const char *output, const char *next, const char *name)
{
	if (!renameat2(AT_FDCWD, name, AT_FDCWD, output, RENAME_EXCHANGE))
		return true;
	return !renameat(AT_FDCWD, name, AT_FDCWD, next) &&
	       !renameat2(AT_FDCWD, output, AT_FDCWD, name, RENAME_NOREPLACE) &&
	       !renameat(AT_FDCWD, next, AT_FDCWD, output);
}

/* next: the name of the next file; NULL: it is not made yet. */
static int put_aside(struct session *s, const char *next, char **name, struct err *err)
{
	int e = give_number(s, next ? next : s->output, name, err);

	if (e || !next || exchange(s->output, next, *name))
		return e;
	e = err_set(err, errno, "cannot rename trace file %s to %s: %s", s->output, *name,
		    strerror(errno));
	free(*name);
	return e;
}

static void add_total(struct trace_total *to, const struct trace_total *t)
{
	to->calls += t->calls;
	to->records += t->records;
	to->lost += t->lost;
	to->bytes += t->bytes;
}

/* Removes the oldest files while there are more than the spec allows, the present one counted. A
 * file that somebody else has taken away is gone as well. */
static void remove_old(struct rotation *r)
{
	size_t gone = 0;

	while (r->spec.keep && r->names.n - gone >= r->spec.keep) {
		unlink(r->names.at[gone]);
		free(r->names.at[gone]);
		add_total(&r->removed, &r->in.at[gone]);
		r->files_removed++;
		gone++;
	}
	r->names.n -= gone;
	r->in.n -= gone;
	if (gone && r->names.n) {
		memmove(r->names.at, r->names.at + gone, r->names.n * sizeof(*r->names.at));
		memmove(r->in.at, r->in.at + gone, r->in.n * sizeof(*r->in.at));
	}
}

/* The counts of the next file begin. */
static void reset_counts(struct session *s)
{
	struct rotation *r = &s->rotation;

	s->total = (struct trace_total){ 0 };
	s->info->total = s->total;
	for (size_t i = 0; i < s->info->threads.n; i++) {
		struct trace_thread *t = &s->info->threads.at[i];

		if (r->of_thread.n <= i)
			*vec_add(&r->of_thread) = 0;
		r->of_thread.at[i] += t->records + t->lost;
		t->records = t->lost = 0;
	}
}

/* The file under its number becomes one of those before. */
static void keep_ended(struct session *s, const struct trace_total *in, char *name)
{
	struct rotation *r = &s->rotation;

	*vec_add(&r->names) = name;
	*vec_add(&r->in) = *in;
	r->files++;
	if (r->spec.ended)
		r->spec.ended(r->spec.arg, name);
	remove_old(r);
}

/* Makes the next file, with all names, under a name of its own. NULL: it cannot be made, on a full
 * disk for example. */
static struct store_writer *make_next(const struct session *s, const char *next)
{
	struct err ignored = { 0 };
	struct store_writer *w;

	return store_create(next, s->info, &w, &ignored) < 0 ? NULL : w;
}

/* The ended file gets its number, and the next one the name. What could not be made before may be
 * made when --keep has removed a file. */
static void turn_names(struct session *s, const struct trace_total *in, const char *next)
{
	struct store_writer *w = make_next(s, next);
	char *name;

	if (put_aside(s, w ? next : NULL, &name, &s->full) < 0) {
		if (w)
			store_discard(w);
		return;
	}
	keep_ended(s, in, name);
	if (w)
		store_renamed(w, s->output);
	else if (store_create(s->output, s->info, &w, &s->full) < 0)
		w = NULL;
	s->store = w;
}

/* A file that could not take all is told at the end, and goes aside as any other: with --keep there
 * is room again for the next one. */
void rotation_turn(struct session *s)
{
	struct rotation *r = &s->rotation;
	struct trace_total in;
	char *next;

	clock_refine(&s->clock, &s->info->clock);
	session_end_file(s);
	if (s->full.code)
		r->full = s->full;
	s->full = (struct err){ 0 };
	in = s->total;
	add_total(&r->before, &in);
	reset_counts(s);
	session_tell_ring(s, true);
	r->begun_ns = monotonic_ns();
	next = mem_printf("%s" ROTATION_NEXT, s->output);
	turn_names(s, &in, next);
	free(next);
}

/* Adds the earlier files' figures: the summary is of the whole recording. */
void rotation_result(const struct session *s, struct session_result *res)
{
	const struct rotation *r = &s->rotation;

	res->calls += r->before.calls;
	res->records += r->before.records;
	res->lost += r->before.lost;
	res->bytes += r->before.bytes;
	res->files_before = r->files;
	res->files_removed = r->files_removed;
	res->records_removed = r->removed.records;
	if (!res->full.code)
		res->full = r->full;
}

void rotation_free(struct rotation *r)
{
	for (size_t i = 0; i < r->names.n; i++)
		free(r->names.at[i]);
	vec_free(&r->names);
	vec_free(&r->in);
	vec_free(&r->of_thread);
}
