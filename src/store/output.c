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

#include "base/mem.h"

static int cannot(struct err *err, const char *what, const char *path)
{
	int code = errno;

	return err_set(err, code, "cannot %s trace file %s: %s", what, path, strerror(code));
}

static int create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Makes way for a new file: 0 when path is free now. */
static int remove_old(const char *path, const struct stat *st, struct err *err)
{
	if (st->st_uid != geteuid())
		return err_set(err, EPERM, "cannot replace trace file %s: it belongs to another user; "
			       "remove it or name another file with -o", path);
	if (unlink(path) && errno != ENOENT)
		return cannot(err, "replace", path);
	return 0;
}

static int open_existing(struct output *o, const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st))
		return cannot(err, "create", path);
	if (S_ISLNK(st.st_mode))
		return err_set(err, ELOOP, "cannot write trace file %s: it is a symbolic link; "
			       "name the file itself with -o", path);
	if (S_ISREG(st.st_mode)) {
		if (remove_old(path, &st, err))
			return -err->code;
		o->fd = create(path);
		o->regular = true;
		return o->fd < 0 ? cannot(err, "create", path) : 0;
	}
	o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	return o->fd < 0 ? cannot(err, "write", path) : 0;
}

int output_open(struct output *o, const char *path, struct err *err)
{
	struct err ignored;
	int r = 0;

	*o = (struct output){ .fd = create(path), .regular = true };
	if (o->fd < 0 && errno == EEXIST) {
		o->regular = false;
		r = open_existing(o, path, err ? err : &ignored);
	} else if (o->fd < 0) {
		r = cannot(err, "create", path);
	}
	if (!r)
		o->path = mem_strdup(path);
	return r;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno != EINTR)
			return -errno;
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
	return 0;
}

/* A closed pipe and the file size limit come as signals too, which would end brace before
 * it can say so: they are held off and taken back. */
static int write_quietly(int fd, const void *p, size_t n)
{
	sigset_t deadly, old;
	int r;

	sigemptyset(&deadly);
	sigaddset(&deadly, SIGPIPE);
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
	int r = write_quietly(o->fd, p, n);

	if (r)
		return err_set(err, -r, "cannot write trace file %s: %s", o->path, strerror(-r));
	o->bytes += n;
	return 0;
}

int output_close(struct output *o, bool keep, struct err *err)
{
	int r = 0;

	if (close(o->fd) && errno != EINTR)
		r = cannot(err, "write", o->path);
	if (!keep && o->regular)
		unlink(o->path);
	free(o->path);
	*o = (struct output){ .fd = -1 };
	return r;
}
