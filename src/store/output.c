/* SPDX-License-Identifier: MIT */
/* Writes the trace file's bytes. The pipeline calls it, one thread at a time (p->writing), for
 * every packet. An error leaves a partial packet in the file; pipeline_keep cuts it off. */
#include "store/output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/write_all.h"
#include "base/mem.h"
#include "base/new_file.h"
#include "store/format.h"

/* Takes errno as it is when it is called. */
static int err_cannot(struct err *err, const char *what, const char *path)
{
	int code = errno;

	return err_set(err, code, "cannot %s trace file %s: %s", what, path, strerror(code));
}

/* The holder of a name. HOLDER_NONE: the name may be taken, because nothing has it, or an empty
 * file, or a file that new_file() will refuse or write as it is. */
enum holder { HOLDER_NONE, HOLDER_TRACE, HOLDER_OTHER };

/* Somebody may put a link or a FIFO under the name meanwhile: the file is opened without following
 * or waiting. */
static enum holder holder_of(const char *path)
{
	char head[sizeof(FILE_MAGIC) - 1];
	struct stat st;
	ssize_t n;
	int fd;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size == 0)
		return HOLDER_NONE;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return HOLDER_OTHER;
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	return n > 0 && memcmp(head, FILE_MAGIC, (size_t)n) == 0 ? HOLDER_TRACE : HOLDER_OTHER;
}

static int no_trace(const char *path, const char *why, struct err *err)
{
	return err_set(err, EEXIST,
		       "%s is no trace file%s: remove it, or name another file with -o", path, why);
}

/* A trace is not lost to the next one: it becomes PATH.old, whose own predecessor goes. */
static int keep_old(struct output *o, const char *path, struct err *err)
{
	enum holder now = holder_of(path);
	char *old;
	int r = 0;

	if (now == HOLDER_NONE)
		return 0;
	if (now == HOLDER_OTHER)
		return no_trace(path, "", err);
	old = mem_printf("%s.old", path);
	if (holder_of(old) == HOLDER_OTHER)
		r = no_trace(old, ", so the old trace cannot be kept by that name", err);
	else if (renameat(AT_FDCWD, path, AT_FDCWD, old))
		r = err_set(err, errno, "cannot keep the old trace file %s as %s: %s", path, old,
			    strerror(errno));
	if (r == 0)
		o->old = old;
	else
		free(old);
	return r;
}

/* Nothing came of the new one. */
static void bring_back(struct output *o, const char *path)
{
	if (o->old)
		renameat(AT_FDCWD, o->old, AT_FDCWD, path);
}

int output_open(struct output *o, const char *path, struct err *err)
{
	int r;

	*o = (struct output){ .fd = -1 };
	if (strcmp(path, "-") == 0)
		return err_set(
			err, EINVAL,
			"standard output is the program's own: name a pipe or a file with -o");
	/* Before the new file is made, under whose name the old one stands. */
	r = keep_old(o, path, err);
	if (r < 0)
		return r;
	o->fd = new_file(path, "trace file", &o->regular, err);
	if (o->fd < 0) {
		bring_back(o, path);
		free(o->old);
		return o->fd;
	}
	o->path = mem_strdup(path);
	return 0;
}

void output_renamed(struct output *o, const char *path)
{
	free(o->path);
	free(o->old);
	o->path = mem_strdup(path);
	o->old = NULL;
}

/* A closed pipe and the file size limit also raise signals, which would end brace before it can
 * report the error. They are blocked, and a pending one is taken back. */
static int write_quietly(int fd, const void *p, size_t n)
{
	sigset_t deadly, old;
	int r;

	sigemptyset(&deadly);
	sigaddset(&deadly, SIGPIPE);
	/* RLIMIT_FSIZE raises it before the write fails with EFBIG. */
	sigaddset(&deadly, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &deadly, &old);
	r = write_all(fd, p, n);
	if (r)
		while (sigtimedwait(&deadly, NULL, &(struct timespec){0}) > 0)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

int output_write(struct output *o, const void *p, size_t n, struct err *err)
{
	int r;

	if (o->limit && n > o->limit - o->bytes)
		return err_set(err, EFBIG, "trace file %s may have no more than %llu bytes", o->path,
			       (unsigned long long)o->limit);
	r = write_quietly(o->fd, p, n);
	if (r)
		return err_set(err, -r, "cannot write trace file %s: %s", o->path, strerror(-r));
	o->bytes += n;
	return 0;
}

/* The offset is set, too, since ftruncate(2) leaves it: the next write would leave a hole of
 * zeros. */
int output_cut(struct output *o, uint64_t bytes)
{
	if (ftruncate(o->fd, (off_t)bytes) || lseek(o->fd, (off_t)bytes, SEEK_SET) < 0)
		return -errno;
	o->bytes = bytes;
	return 0;
}

/* If the new file is not kept, the old trace gets its name back. */
int output_close(struct output *o, bool keep, struct err *err)
{
	int r = 0;

	/* Linux has closed the descriptor even if close was interrupted. */
	if (close(o->fd) && errno != EINTR)
		r = err_cannot(err, "write", o->path);
	if (!keep && o->regular) {
		unlink(o->path);
		bring_back(o, o->path);
	}
	free(o->old);
	free(o->path);
	*o = (struct output){ .fd = -1 };
	return r;
}
