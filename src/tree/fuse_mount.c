/* SPDX-License-Identifier: MIT */
/* Mounts, serves and unmounts a tree. One thread calls fuse_mount_serve and waits there for the
 * end; WORKERS threads carry out requests, and one (fuse_files_waker) answers reads that wait.
 * f->lock protects the lists of open files, inodes and waits; the tree must not be called under it,
 * because the tree calls fuse_files_wake under its own lock. f->receiving keeps requests in order
 * until a close is counted, and is held while nothing blocks. A mount that cannot be made is -errno
 * and a sentence. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tree/stderr_capture.h"
#include "tree/fuse_internal.h"
#include "tree/mount_point.h"

/* Threads for requests: enough that one which prints a long text, or waits for a file to be closed,
 * is in nobody's way. */
#define WORKERS 4

/* Drops libfuse's messages: errors go to the reader, and standard error is the user's. */
static void no_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
}

/* NULL: libfuse has said why on standard error. default_permissions lets the kernel judge by the
 * nodes' modes. */
static struct fuse_session *new_session(struct fuse_mount *f)
{
	char *argv[] = { "brace", "-o",
			 "fsname=" MOUNT_SOURCE ",subtype=" MOUNT_SUBTYPE ",default_permissions" };
	struct fuse_args args = FUSE_ARGS_INIT(sizeof(argv) / sizeof(*argv), argv);
	struct fuse_lowlevel_ops ops = { 0 };
	struct fuse_session *session;

	fuse_nodes_ops(&ops);
	fuse_files_ops(&ops);
	session = fuse_session_new(&args, &ops, sizeof(ops), f);
	fuse_opt_free_args(&args);
	return session;
}

/* Several threads are woken for one request; the slower ones must not block. */
static int make_nonblocking(struct fuse_session *session, struct err *err)
{
	int e;

	if (fcntl(fuse_session_fd(session), F_SETFL, O_NONBLOCK) == 0)
		return 0;
	e = err_set(err, errno, "the mount's connection cannot be set up: %s", strerror(errno));
	fuse_session_unmount(session);
	fuse_session_destroy(session);
	return e;
}

/* fusermount3 explains a refusal on standard error only. */
static int mount_session(struct fuse_mount *f, const char *dir, struct err *err)
{
	struct stderr_capture c;
	char said[256];
	int e;

	stderr_capture_begin(&c);
	f->session = new_session(f);
	e = f->session ? fuse_session_mount(f->session, dir) : -1;
	stderr_capture_end(&c, said, sizeof(said));
	if (e && f->session)
		fuse_session_destroy(f->session);
	return e ? err_set(err, EPERM, "cannot mount on %s: %s", dir,
			   *said ? said : "the kernel refuses")
		 : make_nonblocking(f->session, err);
}

/* Also for a mount that was begun in part: descriptors that were not made are -1. */
static void free_mount(struct fuse_mount *f)
{
	if (f->stop >= 0)
		close(f->stop);
	if (f->over >= 0)
		close(f->over);
	free(f->path);
	free(f);
}

/* The caller calls fuse_mount_serve() next, and fuse_mount_free() when that has returned. On
 * failure nothing is mounted and there is nothing to free. */
int fuse_mount_start(struct tree *t, const char *dir, struct fuse_mount **out, struct err *err)
{
	struct fuse_mount *f = mem_zalloc(sizeof(*f));
	int e;

	f->tree = t;
	/* A connection given as a descriptor is mounted in a namespace we do not see. */
	f->path = strncmp(dir, "/dev/fd/", 8) ? mem_strdup(dir) : NULL;
	f->uid = geteuid();
	f->root.node = tree_root(t);
	f->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e = f->stop < 0 || f->over < 0
		    ? err_set(err, errno, "no event descriptor: %s", strerror(errno))
		    : mount_session(f, dir, err);
	if (e) {
		free_mount(f);
		return e;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->receiving, NULL);
	pthread_cond_init(&f->woken, NULL);
	fuse_set_log_func(no_log);
	tree_watch(t, fuse_files_wake, f);
	*out = f;
	return 0;
}

/* The eventfd stays readable, since nobody reads it: all threads that poll it see the end. */
static void raise_event(int event)
{
	uint64_t one = 1;

	while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* A write to an eventfd: signal handlers may call it. */
void fuse_mount_stop(struct fuse_mount *f)
{
	raise_event(f->stop);
}

/* An epoll set of its own for each worker. EPOLLEXCLUSIVE makes the kernel wake one worker for a
 * request, and f->over wakes all for the end. */
static int wait_set(struct fuse_mount *f)
{
	struct epoll_event request = { EPOLLIN | EPOLLEXCLUSIVE, { 0 } },
			   over = { EPOLLIN, { .u32 = 1 } };
	int set = epoll_create1(EPOLL_CLOEXEC);

	if (set >= 0 && !epoll_ctl(set, EPOLL_CTL_ADD, fuse_session_fd(f->session), &request) &&
	    !epoll_ctl(set, EPOLL_CTL_ADD, f->over, &over))
		return set;
	if (set >= 0)
		close(set);
	return -1;
}

/* False: it is unmounted, or over. */
static bool next_request(struct fuse_mount *f, int set, struct fuse_buf *buf)
{
	struct epoll_event event;
	int n = epoll_wait(set, &event, 1, -1);

	if (n < 0)
		return errno == EINTR;
	if (event.data.u32)
		return false;
	pthread_mutex_lock(&f->receiving);
	n = fuse_session_receive_buf(f->session, buf);
	if (n > 0)
		fuse_files_received(buf);
	pthread_mutex_unlock(&f->receiving);
	if (n > 0)
		fuse_session_process_buf(f->session, buf);
	return n > 0 || n == -EINTR || n == -EAGAIN; /* EAGAIN: another worker was faster */
}

/* Handles requests one by one until the tree is unmounted or f->over is raised. */
static void *serve_thread(void *arg)
{
	struct fuse_mount *f = arg;
	struct fuse_buf buf = { 0 };
	int set = wait_set(f);

	while (set >= 0 && !fuse_session_exited(f->session) && next_request(f, set, &buf))
		;
	if (set >= 0)
		close(set);
	free(buf.mem);
	raise_event(f->over); /* one worker has seen the unmount: all end */
	fuse_mount_stop(f);
	return NULL;
}

/* Threads inherit the mask: signals stay with the main thread. */
static int start_threads(struct fuse_mount *f, pthread_t *threads, unsigned *n, struct err *err)
{
	sigset_t all, before;
	int e = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (*n = 0; *n <= WORKERS && !e; *n += !e)
		e = pthread_create(&threads[*n], NULL, *n ? serve_thread : fuse_files_waker, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e ? err_set(err, e, "cannot start a thread: %s", strerror(e)) : 0;
}

/* Waits for f->stop, and watches for a lazy unmount: that takes the tree out of sight, and FUSE
 * says nothing of it while a file is open. */
static void await_the_end(struct fuse_mount *f)
{
	struct pollfd wait[2] = { { f->stop, POLLIN, 0 }, { -1, POLLPRI, 0 } };

	wait[1].fd = f->path && mount_point_is_mounted(f->path)
			     ? open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
			     : -1;
	while (!(wait[0].revents & POLLIN)) {
		if (poll(wait, 2, -1) < 0)
			continue;
		if (wait[1].revents && !mount_point_is_mounted(f->path))
			fuse_mount_stop(f);
	}
	if (wait[1].fd >= 0)
		close(wait[1].fd);
}

/* Files that the kernel has opened and not released yet. */
static bool has_open_files(struct fuse_mount *f)
{
	bool has;

	pthread_mutex_lock(&f->lock);
	has = f->opens;
	pthread_mutex_unlock(&f->lock);
	return has;
}

/* Answers waiting reads with the end of the file. Requests are served for a moment longer, because
 * readers then close the file, and that close(2) would fail. */
static void end_reads(struct fuse_mount *f)
{
	struct pollfd over = { f->over, POLLIN, 0 };

	pthread_mutex_lock(&f->lock);
	f->ended = true;
	pthread_cond_signal(&f->woken);
	pthread_mutex_unlock(&f->lock);
	for (int ms = 0; ms < FUSE_PATIENCE_MS && has_open_files(f) && !over.revents; ms += 5)
		poll(&over, 1, 5);
	raise_event(f->over);
}

/* Returns when the mount is stopped or somebody unmounted it. */
int fuse_mount_serve(struct fuse_mount *f, struct err *err)
{
	pthread_t threads[WORKERS + 1];
	unsigned n;
	int e = start_threads(f, threads, &n, err);

	/* Without its threads nothing is served, but what was started has to end in order. */
	if (e)
		fuse_mount_stop(f);
	await_the_end(f);
	end_reads(f);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return e;
}

void fuse_mount_free(struct fuse_mount *f)
{
	/* No fuse_files_wake after this. */
	tree_unwatch(f->tree, f);
	fuse_session_unmount(f->session);
	fuse_session_destroy(f->session);
	fuse_files_close_all(f);
	fuse_nodes_forget_all(f);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->receiving);
	pthread_cond_destroy(&f->woken);
	free_mount(f);
}
