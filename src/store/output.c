/* SPDX-License-Identifier: MIT */
#include "store/output.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/new_file.h"

static int cannot(struct err *err, const char *what, const char *path)
{
	int code = errno;

	return err_set(err, code, "cannot %s trace file %s: %s", what, path, strerror(code));
}

int output_open(struct output *o, const char *path, struct err *err)
{
	*o = (struct output){ .fd = -1 };
	o->fd = new_file(path, "trace file", &o->regular, err);
	if (o->fd < 0)
		return o->fd;
	o->path = mem_strdup(path);
	return 0;
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

int output_cut(struct output *o, uint64_t bytes)
{
	if (ftruncate(o->fd, (off_t)bytes) || lseek(o->fd, (off_t)bytes, SEEK_SET) < 0)
		return -errno;
	o->bytes = bytes;
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
