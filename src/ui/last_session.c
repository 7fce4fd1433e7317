/* SPDX-License-Identifier: MIT */
/* main() calls it by `brace start`, on its only thread, before the new session's process is there.
 * Files are renamed or removed only when FILE.last has what they have. All that is read may have
 * been spoiled by who died: session/recover.c and the store's reader check it. */
#include "ui/last_session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/out.h"
#include "base/vec.h"
#include "instance/instances.h"
#include "session/recover.h"
#include "store/store.h"
#include "ui/say.h"
#include "ui/summary.h"

#define PARTS_MOST 64u /* the newest; a session keeps two, and what remains of accidents stays */

struct last {
	const char *ring;
	char *trace, *whole; /* FILE.trace, FILE.last */
	VEC(uint32_t) parts; /* the numbers of FILE.trace.N, ascending */
};

/* lstat(): a link that leads nowhere is there, too, and has to be told of rather than be
 * followed. */
static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Whether it is this user's, and no link: in /dev/shm and /tmp anybody may put one there. */
static bool is_own(const struct stat *st)
{
	return !S_ISLNK(st->st_mode) && st->st_uid == geteuid();
}

/* 0, also if it is not there; or -EPERM and *err. `brace recover` takes files of others: who names
 * each of them knows whose they are, and they are nobody's next session. */
static int check_owner(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) || is_own(&st))
		return 0;
	return err_set(err, EPERM,
		       "%s is no file of yours, so no session of yours left it: name another file for the ring",
		       path);
}

/* The number behind "NAME."; 0: it is none. */
static uint32_t number_of(const char *entry, const char *name)
{
	const size_t n = strlen(name);
	/* Read only where entry[n] is the dot: the tests stand in this order. */
	const char *digits = entry + n + 1;
	unsigned long number;
	char *end;

	if (strncmp(entry, name, n) != 0 || entry[n] != '.' || *digits < '1' || *digits > '9')
		return 0;
	number = strtoul(digits, &end, 10);
	return *end || number > UINT32_MAX ? 0 : (uint32_t)number;
}

/* The numbers are ascending: the newest are the last. */
static void keep_newest(struct last *l)
{
	const size_t older = l->parts.n > PARTS_MOST ? l->parts.n - PARTS_MOST : 0;

	if (!older)
		return;
	l->parts.n = PARTS_MOST;
	memmove(l->parts.at, l->parts.at + older, l->parts.n * sizeof(l->parts.at[0]));
}

/* Files of others are passed over: anybody may put FILE.trace.7 into /dev/shm, and it would be
 * taken for a part of this user's. A folder that cannot be read has none. */
static void find_parts(struct last *l)
{
	const char *slash = strrchr(l->trace, '/');
	char *folder = slash == l->trace ? mem_strdup("/")
					 : mem_strndup(l->trace, (size_t)(slash - l->trace));
	DIR *d = opendir(folder);
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d))) {
		const uint32_t number = number_of(e->d_name, slash + 1);

		if (number && !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    is_own(&st))
			*vec_add(&l->parts) = number;
	}
	if (d)
		closedir(d);
	free(folder);
	if (l->parts.n)
		qsort(l->parts.at, l->parts.n, sizeof(l->parts.at[0]), by_number);
	keep_newest(l);
}

static char *part_name(const struct last *l, size_t i)
{
	return mem_printf("%s.%" PRIu32, l->trace, l->parts.at[i]);
}

/* The file that the ring's records come behind: a session that died between two files has the
 * former one alone. For free(); NULL: there is none. */
static char *newest(const struct last *l)
{
	if (exists(l->trace))
		return mem_strdup(l->trace);
	return l->parts.n ? part_name(l, l->parts.n - 1) : NULL;
}

/* Reads FILE.last: its totals are said, its modules are the text of last_boot_info. */
static int describe_whole(const struct last *l, char **info, struct err *err)
{
	struct store_description about;
	struct store_reader *reader;
	struct out_text text = { 0 };
	struct trace_info *of;
	char n[32], lost[32];
	struct out o;
	int e = store_open(l->whole, &reader, err);

	if (e)
		return e;
	store_describe(reader, &about);
	say("brace: the session before left %s records, %s are lost; they are in %s: brace replay and brace report read it\n",
	    summary_grouped(about.records, n), summary_grouped(about.lost, lost), l->whole);
	of = store_info(reader);
	out_init(&o, out_keep_text, &text);
	out_printf(&o, "# %" PRIu64 " records, %" PRIu64 " lost, in ", about.records, about.lost);
	/* The names come from the user and from a file that may be spoiled: a newline in one would
	 * make a line of the text. */
	out_foreign(&o, l->whole, SIZE_MAX);
	out_str(&o, "\n");
	for (size_t i = 0; i < of->modules.n; i++) {
		const struct trace_module *m = &of->modules.at[i];

		/* Code that a program made (JIT) is of no file. */
		if (m->first_id == TRACE_MADE_ID)
			continue;
		out_printf(&o, "%" PRIx64 "\t", m->start);
		out_foreign(&o, m->path, SIZE_MAX);
		out_str(&o, "\n");
	}
	*info = out_text_end(&o);
	store_close(reader);
	return 0;
}

/* The ring of a session that died, and its newest file; or a file that was cut, because the
 * session died when the ring had gone; or a whole one, of a session that ended. */
static int make_whole(const struct last *l, const char *file, struct err *err)
{
	/* A session that ends removes its ring: if it is there, its owner was killed, or lives, for
	 * which session_recover() has -EBUSY. */
	const bool died = exists(l->ring);
	const struct recover_request req = { .file = file, .ring = died ? l->ring : NULL,
					     .output = l->whole };
	struct recover_result result;
	int e;

	if (!file)
		return err_set(err, ENOENT,
			       "%s is the ring of a session whose trace, %s, is not there: remove it, or name another file",
			       l->ring, l->trace);
	e = session_recover(&req, &result, err);
	if (e == -ENOSPC && died)
		return err_prefix(err,
				  "no room beside the ring (`brace recover --ring %s -o FILE %s` writes elsewhere)",
				  l->ring, file);
	if (!e && result.holes)
		say_warning("somebody took parts out of %s: what had been there is lost, and not all of it is counted",
			    l->ring);
	/* Whole: it is renamed instead. */
	if (e != -EALREADY || died)
		return e;
	return rename(file, l->whole) ? err_set(err, errno, "cannot rename %s to %s: %s", file,
						l->whole, strerror(errno))
				      : 0;
}

/* Earlier parts, the newest first, become FILE.last.1 and so on. What is in FILE.last goes. Called
 * when FILE.last has all of `file` and of the ring: only then may both go. A part that cannot be
 * renamed stays under its old name, and its number is given to the next one. */
static void clean_up(const struct last *l, const char *file)
{
	unsigned number = 0;

	for (size_t i = l->parts.n; i-- > 0;) {
		char *from = part_name(l, i), *to = mem_printf("%s.%u", l->whole, number + 1);

		if (strcmp(from, file) != 0 && rename(from, to) == 0)
			number++;
		free(from);
		free(to);
	}
	unlink(file);
	unlink(l->ring);
}

int last_session_take(const char *ring, char **info, struct err *err)
{
	struct last l = { .ring = ring, .trace = mem_printf("%s" INSTANCES_RING_TRACE, ring),
			  .whole = mem_printf("%s.last", ring) };
	char *file;
	int e = 0;

	*info = NULL;
	find_parts(&l);
	file = newest(&l);
	/* Before anything is opened for writing: these names may be in a folder where everybody
	 * makes files. */
	e = check_owner(ring, err);
	if (!e)
		e = check_owner(l.trace, err);
	if (!e && (file || exists(ring))) {
		e = make_whole(&l, file, err);
		if (!e)
			e = describe_whole(&l, info, err);
		if (!e)
			clean_up(&l, file);
	}
	free(file);
	free(l.trace);
	free(l.whole);
	vec_free(&l.parts);
	return e;
}
