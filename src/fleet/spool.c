/* SPDX-License-Identifier: MIT */
/* A trace gets into a spool by link(), which takes microseconds: the session's thread adds parts of
 * --rotate while the program runs. A note is there before its trace, and goes after it, so that a
 * trace without a note is none of ours. The folder's lock guards the sum of sizes, a trace's lock
 * tells who pushes it. ui/record_push.c and ui/pushing.c call it, on the session's or the command's
 * thread. Fails on a folder that is not the user's own, on a full disk, and on a full spool. */
#include "fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/out.h"
#include "base/write_all.h"

#define TRACE ".brace"
#define NOTE ".push"
#define PART ".part" /* a copy that is not whole yet */
#define HEADING "brace push 1\n"
#define LOOK_NS 200000000
#define LOCK_NAP_NS 10000000
#define LOCK_NAPS 500 /* until who keeps the folder's lock is taken for a process that stands */
#define TIME_DIGITS 20 /* of a name: the seconds and nanoseconds at which it was made */

/* --- notes ----------------------------------------------------- */

/* The form: the heading, `to SERVERS`, then `calls`, `no-command` and `label KEY=VALUE`, a line
 * each. A later form needs another heading, since a reader refuses lines that it does not know. */
char *spool_note_write(const struct spool_note *n)
{
	struct out_text text = { 0 };
	struct out o;

	out_init_raw(&o, out_keep_text, &text);
	out_printf(&o, HEADING "to %s\n", n->to);
	if (n->calls)
		out_str(&o, "calls\n");
	if (n->no_command)
		out_str(&o, "no-command\n");
	for (const char *l = n->labels; *l; l += strcspn(l, "\n"), l += *l == '\n')
		out_printf(&o, "label %.*s\n", (int)strcspn(l, "\n"), l);
	return out_text_end(&o);
}

/* Adds a line to the labels. */
static void add_label(struct spool_note *n, const char *label, size_t length)
{
	char *all = mem_printf("%s%s%.*s", n->labels, *n->labels ? "\n" : "", (int)length, label);

	free(n->labels);
	n->labels = all;
}

/* False: it is no line of a note. A second `to` makes the note a damaged one: nothing is to guess
 * which servers get the trace. */
static bool read_line(struct spool_note *n, const char *line, size_t length)
{
	static const char to[] = "to ", label[] = "label ";

	if (length == strlen("calls") && !strncmp(line, "calls", length))
		n->calls = true;
	else if (length == strlen("no-command") && !strncmp(line, "no-command", length))
		n->no_command = true;
	else if (length > strlen(label) && !strncmp(line, label, strlen(label)))
		add_label(n, line + strlen(label), length - strlen(label));
	else if (length > strlen(to) && !n->to && !strncmp(line, to, strlen(to)))
		n->to = mem_strndup(line + strlen(to), length - strlen(to));
	else
		return false;
	return true;
}

/* A last line without its newline is the sign of a note that was cut: half of an address must not
 * become the address. */
int spool_note_read(struct spool_note *n, const char *text, struct err *err)
{
	const char *line = text;

	*n = (struct spool_note){ .labels = mem_strdup("") };
	if (strncmp(text, HEADING, strlen(HEADING)))
		return err_set(err, EBADMSG, "the note of how to push it has another heading");
	for (line += strlen(HEADING); *line; line += strcspn(line, "\n") + 1)
		if (!strchr(line, '\n') || !read_line(n, line, strcspn(line, "\n")))
			return err_set(err, EBADMSG, "the note of how to push it is damaged");
	return n->to ? 0 : err_set(err, EBADMSG, "the note of how to push it names no server");
}

void spool_note_free(struct spool_note *n)
{
	free(n->to);
	free(n->labels);
	*n = (struct spool_note){ 0 };
}

/* --- the folder ----------------------------------------------------- */

char *spool_usual(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state == '/')
		return mem_printf("%s/brace/spool", state);
	return home && *home == '/' ? mem_printf("%s/.local/state/brace/spool", home) : NULL;
}

/* Makes the folder and those above it, where they are missing. Failures are not looked at: most
 * folders are there already, and spool_open() tells what is missing in the end. */
static void make_folders(const char *path)
{
	char *part = mem_strdup(path);

	for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(part, 0700);
		*slash = '/';
	}
	mkdir(part, 0700);
	free(part);
}

/* The open folder is judged, not its name, and all that is done in it goes by its descriptor:
 * nobody can put another folder in its place in between. */
int spool_open(const char *path, struct err *err)
{
	struct stat st;
	int fd, r = 0;

	make_folders(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		r = err_set(err, errno, "cannot use %s as a spool: %s", path, strerror(errno));
	else if (st.st_uid != geteuid())
		r = err_set(err, EPERM, "%s is another user's, and no spool of yours", path);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		r = err_set(err, EPERM, "others may write to %s, so it is no spool: chmod 700 it", path);
	/* Whoever may open the folder may keep its lock. */
	else if (st.st_mode & (S_IRGRP | S_IROTH))
		r = err_set(err, EPERM, "others may read %s, so it is no spool: chmod 700 it", path);
	if (r && fd >= 0)
		close(fd);
	return r ? r : fd;
}

bool spool_is_near(int spool, int folder)
{
	struct stat a, b;

	return !fstat(spool, &a) && !fstat(folder, &b) && a.st_dev == b.st_dev;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n > k && !strcmp(text + n - k, end);
}

/* Waits for the folder's lock, `naps` times at most: its holders need it for milliseconds. The lock
 * is another opening's, as open_list()'s: flock() belongs to these. A descriptor, whose closing
 * ends the lock, or -errno. A lock that is waited for without an end would let a process that
 * stands still under a debugger hold up each recording. naps 0: one try. */
static int lock_folder(int spool, unsigned naps)
{
	const int fd = openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int e = fd < 0 ? errno : EWOULDBLOCK;

	while (e == EWOULDBLOCK || e == EINTR) {
		e = flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;
		if (e == EWOULDBLOCK && !naps--)
			break;
		if (e == EWOULDBLOCK)
			nanosleep(&(struct timespec){ 0, LOCK_NAP_NS }, NULL);
	}
	if (e && fd >= 0)
		close(fd);
	return e ? -e : fd;
}

/* Whether new_name() makes such a name, with this ending: no other file is ever removed. */
static bool is_ours(const char *name, const char *ending)
{
	const char *const rest = name + TIME_DIGITS;
	size_t pid, n;

	if (strspn(name, "0123456789abcdef") != TIME_DIGITS || *rest != '-')
		return false;
	pid = strspn(rest + 1, "0123456789");
	if (!pid || rest[1 + pid] != '-')
		return false;
	n = strspn(rest + pid + 2, "0123456789");
	return n && !strcmp(rest + pid + 2 + n, ending);
}

/* A copy whose maker has ended, or was killed, has no lock. begin_copy() makes and locks a copy
 * while it has the folder's lock, and so has the caller here: no copy is met between the two. */
static void remove_copy(int spool, const char *part)
{
	const int fd = openat(spool, part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(spool, part, 0);
	if (fd >= 0)
		close(fd);
}

/* Under the folder's lock a note has its trace, or its copy, unless its process ended between the
 * two. Any error but ENOENT leaves the note: a trace that could not be looked at may be there. */
static void remove_note(int spool, const char *note)
{
	static const char *const endings[] = { TRACE, PART };
	const int n = (int)(strlen(note) - strlen(NOTE));
	bool stays = false;

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		char *other = mem_printf("%.*s%s", n, note, endings[i]);

		stays |= !faccessat(spool, other, F_OK, AT_SYMLINK_NOFOLLOW) || errno != ENOENT;
		free(other);
	}
	if (!stays)
		unlinkat(spool, note, 0);
}

/* Opens the folder anew, since descriptors of one opening share their place in it. */
static DIR *open_list(int spool, struct err *err)
{
	const int fd = openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		return d;
	err_set(err, errno, "cannot read the spool: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* By name, which is by age (new_name()). */
static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whoever holds the lock removes what processes that ended have left: not now, then later. The list
 * is at its beginning afterwards. */
static void remove_abandoned(int spool, DIR *d)
{
	const int lock = lock_folder(spool, 0);
	const struct dirent *e;

	while (lock >= 0 && (e = readdir(d))) {
		if (is_ours(e->d_name, PART))
			remove_copy(spool, e->d_name);
		else if (is_ours(e->d_name, NOTE))
			remove_note(spool, e->d_name);
	}
	if (lock >= 0)
		close(lock);
	rewinddir(d);
}

int spool_list(int spool, spool_names *names, struct err *err)
{
	DIR *d = open_list(spool, err);
	const struct dirent *e;

	if (!d)
		return -err->code;
	remove_abandoned(spool, d);
	while ((e = readdir(d)))
		if (ends_with(e->d_name, TRACE))
			*vec_add(names) = mem_strndup(e->d_name, strlen(e->d_name) - strlen(TRACE));
	closedir(d);
	if (names->n)
		qsort(names->at, names->n, sizeof(*names->at), by_text);
	return 0;
}

void spool_names_free(spool_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
	vec_free(names);
}

/* Bytes of the traces that are there, and of those that are being copied. Called with the folder's
 * lock, so that two processes cannot both find room for the last file. A copy has its full size
 * from its beginning on (begin_copy()). */
static int sum_sizes(int spool, uint64_t *sum, struct err *err)
{
	DIR *d = open_list(spool, err);
	const struct dirent *e;
	struct stat st;

	*sum = 0;
	if (!d)
		return -err->code;
	while ((e = readdir(d)))
		if ((ends_with(e->d_name, TRACE) || ends_with(e->d_name, PART)) &&
		    !fstatat(spool, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			*sum += (uint64_t)st.st_size;
	closedir(d);
	return 0;
}

/* --- adding ----------------------------------------------------- */

/* The name with an ending, within the spool; free() it. */
static char *named(const char *name, const char *ending)
{
	return mem_printf("%s%s", name, ending);
}

/* Names sort by the time at which they were made. Hexadecimal seconds in 12 digits and nanoseconds
 * in 8, then the process and a number in it: two threads, or two processes, at one moment have two
 * names. is_ours() knows this form. free() it. */
static char *new_name(void)
{
	static _Atomic unsigned made;
	struct timespec t;
	unsigned n;

	/* Relaxed: a number that no other call gets. */
	n = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	clock_gettime(CLOCK_REALTIME, &t);
	return mem_printf("%012" PRIx64 "%08lx-%d-%u", (uint64_t)t.tv_sec, (unsigned long)t.tv_nsec,
			  (int)getpid(), n);
}

static int err_spool(struct err *err, const char *file, int e)
{
	return err_set(err, e, "cannot put %s into the spool: %s", file, strerror(e));
}

/* 0, or an errno. O_EXCL: it never follows a link that stands there. Nothing is synced: a recording
 * must not wait for a disk (docs/fleet.md says what a power cut may take). */
static int write_note(int spool, const char *name, const struct spool_note *n)
{
	char *path = named(name, NOTE), *text = spool_note_write(n);
	const int fd = openat(spool, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int e = fd < 0 ? errno : -write_all(fd, text, strlen(text));

	if (fd >= 0 && close(fd) && !e)
		e = errno;
	if (e && fd >= 0)
		unlinkat(spool, path, 0);
	free(path);
	free(text);
	return e;
}

/* Copies a piece at a time; a file that became shorter is no copy. 0, or an errno. */
static int copy_bytes(int from, int to, uint64_t size)
{
	char piece[65536];
	ssize_t n = 1;

	for (uint64_t at = 0; at < size && n > 0; at += n > 0 ? (uint64_t)n : 0) {
		n = pread(from, piece, sizeof(piece), (off_t)at);
		if (n < 0 || (n > 0 && pwrite(to, piece, (size_t)n, (off_t)at) != n))
			return errno ? errno : EIO;
	}
	return n > 0 || !size ? 0 : ESTALE;
}

/* Begins a copy, which takes its room in the sum at once and is locked. A descriptor, or -errno.
 * ftruncate() makes the sum right for others before a byte is copied. The lock is kept until the
 * copy has its name, so that remove_copy() of another process passes it over. */
static int begin_copy(int spool, const char *part, uint64_t size)
{
	const int fd = openat(spool, part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int e;

	if (fd >= 0 && !flock(fd, LOCK_EX) && !ftruncate(fd, (off_t)size))
		return fd;
	e = errno;
	if (fd >= 0) {
		unlinkat(spool, part, 0);
		close(fd);
	}
	return -e;
}

struct addition {
	int spool, from, copy; /* copy: -1, or what is to be filled */
	const char *file, *name;
	uint64_t size;
};

/* The very file that is open, whatever its name is by now. 0, or an errno. Of link(2)'s two ways
 * the one that needs no privilege: AT_EMPTY_PATH wants CAP_DAC_READ_SEARCH. It needs /proc. */
static int link_open(const struct addition *a, const char *to)
{
	char from[32];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", a->from);
	return linkat(AT_FDCWD, from, a->spool, to, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* Gives the file its name in the spool, or begins its copy. 0, or an errno. EPERM: the file system
 * has no links, or the kernel's protected_hardlinks forbids this one. EMLINK: the file has as many
 * names as it may have. */
static int place(struct addition *a, bool copies)
{
	char *to = named(a->name, TRACE), *part = named(a->name, PART);
	int e = link_open(a, to);

	if ((e == EXDEV || e == EPERM || e == EMLINK) && copies) {
		a->copy = begin_copy(a->spool, part, a->size);
		e = a->copy < 0 ? -a->copy : 0;
	}
	free(to);
	free(part);
	return e;
}

/* Without the folder's lock, which others need meanwhile: the copy's own lock and its size stand
 * for it. 0, or an errno; the copy is closed. */
static int fill_copy(const struct addition *a)
{
	char *to = named(a->name, TRACE), *part = named(a->name, PART);
	int e = copy_bytes(a->from, a->copy, a->size);

	if (!e && renameat(a->spool, part, a->spool, to))
		e = errno;
	if (e)
		unlinkat(a->spool, part, 0);
	close(a->copy);
	free(to);
	free(part);
	return e;
}

/* Called with the folder's lock. The note comes first, so that a process that ends in between
 * leaves a note alone, which remove_note() removes. `sum > most` is asked apart: the user may have
 * lowered --spool-max. */
static int add_locked(struct addition *a, const struct spool_note *n, uint64_t most, bool copies,
		      struct err *err)
{
	uint64_t sum;
	int r = sum_sizes(a->spool, &sum, err), e;
	char *note;

	if (r)
		return r;
	if (sum > most || a->size > most - sum)
		return err_set(err, EDQUOT,
			       "the spool is full (%" PRIu64 " of %" PRIu64 " bytes, --spool-max)", sum, most);
	e = write_note(a->spool, a->name, n);
	if (e)
		return err_spool(err, a->file, e);
	e = place(a, copies);
	if (!e)
		return 0;
	note = named(a->name, NOTE);
	unlinkat(a->spool, note, 0);
	free(note);
	return err_spool(err, a->file, e);
}

/* The lock is given back before bytes are copied. 0, or -errno and *err. */
static int add_open(struct addition *a, const struct spool_note *n, uint64_t most, bool copies,
		    struct err *err)
{
	struct stat st;
	int lock, r, e;

	if (fstat(a->from, &st))
		return err_spool(err, a->file, errno);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%s is no file, so it cannot be pushed", a->file);
	/* In a folder of others' they may have put another one under its name. */
	if (st.st_uid != geteuid())
		return err_set(err, EPERM, "%s is another user's file, and is not pushed", a->file);
	a->size = (uint64_t)st.st_size;
	lock = lock_folder(a->spool, LOCK_NAPS);
	if (lock < 0)
		return err_set(err, -lock, "cannot put %s into the spool, whose lock cannot be had: %s", a->file,
			       lock == -EWOULDBLOCK ? "another process keeps it" : strerror(-lock));
	r = add_locked(a, n, most, copies, err);
	close(lock);
	if (r || a->copy < 0)
		return r;
	e = fill_copy(a);
	return e ? err_spool(err, a->file, e) : 0;
}

int spool_add(int spool, const char *file, const struct spool_note *n, uint64_t most, bool copies,
	      char **name, struct err *err)
{
	struct addition a = { .spool = spool, .copy = -1, .file = file };
	int r;

	/* A FIFO of that name would wait for a writer; add_open() refuses it. */
	a.from = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (a.from < 0)
		return err_spool(err, file, errno);
	*name = new_name();
	a.name = *name;
	r = add_open(&a, n, most, copies, err);
	close(a.from);
	if (r) {
		free(*name);
		*name = NULL;
	}
	return r;
}

/* --- using ----------------------------------------------------- */

bool spool_has(int spool, const char *name, uint64_t *bytes)
{
	char *trace = named(name, TRACE);
	struct stat st;
	const bool has = !fstatat(spool, trace, &st, AT_SYMLINK_NOFOLLOW);

	*bytes = has ? (uint64_t)st.st_size : 0;
	free(trace);
	return has;
}

/* The file's text; NULL and errno. A note that is longer than SPOOL_NOTE_MOST is cut, and so
 * refused by spool_note_read(). */
static char *read_text(int spool, const char *path)
{
	const int fd = openat(spool, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *text = mem_zalloc(SPOOL_NOTE_MOST + 1);
	size_t n = 0;
	ssize_t got = 0;

	while (fd >= 0 && n < SPOOL_NOTE_MOST) {
		got = read(fd, text + n, SPOOL_NOTE_MOST - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	if (fd >= 0 && got >= 0) {
		close(fd);
		return text;
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* The end of another process's use is waited for, in naps: a signal may end the wait. 0, -EINTR if
 * brace is to end, or another -errno. The lock belongs to this opening, and ends when it is closed,
 * or with the process. */
static int lock_entry(int fd, const struct stop *stop)
{
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (stop_asked(stop))
			return -EINTR;
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
	}
	return 0;
}

/* Whether the name is still that of the open file. While this process waited for the lock, its
 * holder may have pushed and removed the file: the lock is then one of a file that nobody finds any
 * more. */
static bool is_still(int spool, const char *trace, int fd)
{
	struct stat a, b;

	return !fstatat(spool, trace, &a, AT_SYMLINK_NOFOLLOW) && !fstat(fd, &b) &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* 0, or -errno and *err. The note stays the entry's, whatever comes: spool_leave() frees it. */
static int take_note(int spool, const char *name, struct spool_note *n, struct err *err)
{
	char *path = named(name, NOTE), *text = read_text(spool, path);
	const int r = text ? spool_note_read(n, text, err)
			   : err_set(err, errno, "it has no note of how to push it: %s", strerror(errno));

	free(path);
	free(text);
	return r;
}

/* 1, 0, or -errno, as spool_take(). */
static int take_open(int spool, const char *trace, struct spool_entry *e,
		     const struct stop *stop, struct err *err)
{
	int r = lock_entry(e->fd, stop);

	if (r == -EINTR)
		return err_code(err, EINTR);
	if (r)
		return err_set(err, -r, "cannot lock it: %s", strerror(-r));
	if (!is_still(spool, trace, e->fd))
		return 0;
	r = take_note(spool, e->name, &e->note, err);
	return r ? r : 1;
}

int spool_take(int spool, const char *folder, const char *name, struct spool_entry *e,
	       const struct stop *stop, struct err *err)
{
	char *trace = named(name, TRACE);
	int r;

	*e = (struct spool_entry){ .name = mem_strdup(name) };
	e->fd = openat(spool, trace, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (e->fd >= 0)
		r = take_open(spool, trace, e, stop, err);
	else
		r = errno == ENOENT ? 0 : err_set(err, errno, "cannot open it: %s", strerror(errno));
	if (r == 1)
		e->path = mem_printf("%s/%s", folder, trace);
	else
		spool_leave(spool, e, false);
	free(trace);
	return r;
}

/* The trace goes first: without its note it would stay for good. */
void spool_leave(int spool, struct spool_entry *e, bool pushed)
{
	static const char *const endings[] = { TRACE, NOTE };

	for (size_t i = 0; pushed && i < sizeof(endings) / sizeof(*endings); i++) {
		char *path = named(e->name, endings[i]);

		unlinkat(spool, path, 0);
		free(path);
	}
	if (e->fd >= 0)
		close(e->fd);
	spool_note_free(&e->note);
	free(e->name);
	free(e->path);
	*e = (struct spool_entry){ .fd = -1 };
}
