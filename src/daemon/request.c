/* SPDX-License-Identifier: MIT */
/* Reads one request, carries it out on the session's tree, and answers. Each client has a thread
 * (serve.c) and may be slow or hostile: lengths are limited before memory is allocated, and an
 * answer waits ANSWER_S for its reader. The tree has its own locks; nothing here is shared but the
 * mutex around mounting. A client that leaves only ends its own request. */
#include "daemon/request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/flag.h"
#include "base/mem.h"
#include "daemon/wire.h"
#include "tree/fuse_mount.h"

/* ms after which a stream without data looks whether its reader is still there */
#define LOOK_MS 20
/* Seconds that an answer waits for its reader. */
#define ANSWER_S 30
/* the program has ended: records that were held back arrive within so many looks */
#define LAST_LOOKS 10

/* False: the client has gone. bytes: of the data that follows (struct wire_answer). *err is read
 * only with an error. */
bool request_answer(int fd, int error, const struct err *err, uint64_t bytes)
{
	struct wire_answer w = { .magic = WIRE_MAGIC, .error = error, .bytes = bytes };

	if (error)
		w.err = *err;
	return wire_send(fd, &w, sizeof(w));
}

/* Returns a directory's names, a line each; NULL: path is no directory. free() it. */
static char *names_in(struct tree *t, const char *path)
{
	struct tree_node *node = tree_find(t, path);
	struct tree_list l = { 0 };
	struct stat st = { 0 };
	VEC(char) text = { 0 };

	if (node)
		tree_stat(node, &st);
	if (S_ISDIR(st.st_mode)) {
		tree_list(node, &l);
		vec_reserve(&text, 1);
		*text.at = '\0';
	}
	for (size_t i = 0; i < l.entries.n; i++) {
		size_t n = strlen(l.entries.at[i].name);

		vec_reserve(&text, text.n + n + 2);
		text.n += (size_t)sprintf(text.at + text.n, "%s\n", l.entries.at[i].name);
	}
	tree_list_free(&l);
	if (node)
		tree_put(node);
	return text.at;
}

/* A directory gives its names, a file its text. The text is complete in memory before the answer
 * begins, because the answer's head has its length. */
static void request_cat(const struct request_context *a, int fd, const char *path)
{
	struct err err = { 0 };
	char *names = names_in(a->request->tree, path),
	     *text = names ? names : tree_cat(a->request->tree, path, &err);
	size_t n = text ? strlen(text) : 0;

	if (request_answer(fd, text ? 0 : -err.code, &err, n) && n)
		wire_send(fd, text, n);
	free(text);
}

static void request_programs(const struct request_context *a, int fd)
{
	char *text = a->request->programs(a->request->context);
	size_t n = strlen(text);

	if (request_answer(fd, 0, NULL, n) && n)
		wire_send(fd, text, n);
	free(text);
}

/* tree_echo() writes the text with a newline, and a failure is in the tree's error_log as well. */
static void request_echo(const struct request_context *a, int fd, const char *path,
			 const char *text, bool append)
{
	struct err err = { 0 };
	int e = tree_echo(a->request->tree, path, text, append, &err);

	request_answer(fd, e, &err, 0);
}

/* Waits up to LOOK_MS for the client to hang up. */
static bool is_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, LOOK_MS) > 0;
}

/* Copies a file's text as it grows. Ends when the reader goes, the session stops, or the program is
 * over and nothing more comes. */
static void copy_stream(const struct request_context *a, int fd, struct tree_open *file)
{
	unsigned looks = 0;
	char buf[16384];
	struct err err;

	while (looks < LAST_LOOKS && !flag_is_set(a->stopping)) {
		ssize_t n = tree_read(file, buf, sizeof(buf), 0, &err);

		if (n > 0 && !wire_send(fd, buf, (size_t)n))
			return;
		if (n == 0 || (n < 0 && n != -EAGAIN))
			return;
		if (n < 0 && is_gone(fd))
			return;
		looks = n < 0 && a->request->is_over(a->request->context) ? looks + 1 : 0;
	}
}

/* O_NONBLOCK: a reader that waits would get the end when recording is turned off
 * (instance_pipe_end), and the stream should go on then. UINT64_MAX says that the length is not
 * known. */
static void request_stream(const struct request_context *a, int fd, const char *path)
{
	struct err err = { 0 };
	struct tree_node *node = tree_find(a->request->tree, path);
	struct tree_open *file = NULL;
	int e = node ? tree_open(node, O_RDONLY | O_NONBLOCK, gettid(), 0, &file, &err)
		     : err_set(&err, ENOENT, "there is no file %s", path);

	/* tree_open gives no sentence for the plain errors. */
	if (e && !err.code)
		err_set(&err, -e, "%s: %s", path,
			e == -EBUSY ? "somebody else reads it" : strerror(-e));
	if (request_answer(fd, e, &err, UINT64_MAX) && !e)
		copy_stream(a, fd, file);
	if (!e)
		tree_close(file);
	if (node)
		tree_put(node);
}

/* The session's process creates the file, not the client's. */
static void request_extract(const struct request_context *a, int fd, const char *path)
{
	struct err err = { 0 };
	int e = a->request->extract(a->request->context, path, &err);

	request_answer(fd, e, &err, 0);
}

/* Answers when nothing more will be recorded, or the session stops; not at all if the client goes
 * before. */
static void request_wait(const struct request_context *a, int fd)
{
	struct err err = { 0 };

	while (!a->request->is_over(a->request->context) && !flag_is_set(a->stopping))
		if (is_gone(fd))
			return;
	request_answer(fd, 0, &err, 0);
}

/* --- the tree for a command of the client's (brace shell) -------------------------------- */

/* Shared with await_leave()'s thread, which ends before it goes out of scope. `stop` is the
 * session's eventfd, which nobody reads, so that it stays readable for all. */
struct mount_visit {
	struct fuse_mount *mount;
	int fd, stop;
};

/* Waits until the client hangs up or the session ends, then stops serving the mount. */
static void *await_leave(void *arg)
{
	struct mount_visit *v = arg;
	struct pollfd p[] = { { .fd = v->fd, .events = POLLRDHUP },
			      { .fd = v->stop, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		;
	fuse_mount_stop(v->mount);
	return NULL;
}

/* Serves the mount on this thread until it is unmounted or stopped. */
static void serve_mount(const struct request_context *a, int fd, struct fuse_mount *mount)
{
	struct mount_visit v = { mount, fd, a->stop };
	pthread_t leaving;
	struct err ignored;

	if (pthread_create(&leaving, NULL, await_leave, &v))
		return;
	fuse_mount_serve(mount, &ignored);
	shutdown(fd, SHUT_RDWR); /* if it was unmounted: await_leave must return */
	pthread_join(leaving, NULL);
}

/* Mounts the tree on the client's FUSE connection. One thread at a time: libfuse's messages to
 * standard error are captured meanwhile, for the whole process. */
static int start_mount(const struct request_context *a, int fuse, struct fuse_mount **mount,
		       struct err *err)
{
	static pthread_mutex_t mounting = PTHREAD_MUTEX_INITIALIZER;
	char path[32];
	int e;

	if (fuse < 0)
		return err_set(err, EPROTO, "the session got no connection to serve");
	snprintf(path, sizeof(path), "/dev/fd/%d", fuse);
	pthread_mutex_lock(&mounting);
	e = fuse_mount_start(a->request->tree, path, mount, err);
	pthread_mutex_unlock(&mounting);
	if (e)
		close(fuse);
	return e;
}

/* The descriptor comes behind the request's texts. The answer says whether the mount is served;
 * then the connection stays open as its life line. */
static void serve_on_connection(const struct request_context *a, int fd)
{
	struct fuse_mount *mount;
	struct err err = { 0 };
	int e = start_mount(a, wire_receive_fd(fd), &mount, &err);

	if (request_answer(fd, e, &err, 0) && !e)
		serve_mount(a, fd, mount);
	if (!e)
		fuse_mount_free(mount);
}

/* WIRE_END is not here: request_handle() tells serve.c, which answers when the session has
 * ended. */
static void carry_out(const struct request_context *a, int fd, const struct wire_question *q,
		      const char *path, const char *text)
{
	struct err err = { 0 };

	switch (q->request) {
	case WIRE_CAT:
		return request_cat(a, fd, path);
	case WIRE_ECHO:
		return request_echo(a, fd, path, text, q->append);
	case WIRE_STREAM:
		return request_stream(a, fd, path);
	case WIRE_EXTRACT:
		return request_extract(a, fd, path);
	case WIRE_MOUNT:
		return serve_on_connection(a, fd);
	case WIRE_WAIT:
		return request_wait(a, fd);
	case WIRE_PROGRAMS:
		return request_programs(a, fd);
	}
	/* Unknown requests come from a newer client. */
	request_answer(fd, err_set(&err, ENOTSUP, "the session is of another version of brace"),
		       &err, 0);
}

/* The kernel's own statement about who called connect(), besides the directory's mode 0700. */
bool request_allowed(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* Refuses a client when there are too many. */
static void turn_away(int fd)
{
	struct err err;
	int e = err_set(&err, EBUSY,
			"the session has as many clients as it takes: try again when one has gone");

	request_answer(fd, e, &err, 0);
}

/* Limits how long an answer waits for its reader. A stream may wait for ever, for instance for a
 * pager. */
static void set_patience(int fd, uint32_t request)
{
	const struct timeval patience = { request == WIRE_STREAM ? 0 : ANSWER_S, 0 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* True: the client asked for the end. Its answer is then due at the end; all others were answered
 * or cannot be. */
bool request_handle(const struct request_context *a, int fd)
{
	struct wire_question q;
	char *path, *text;
	bool ends;

	/* Before anything is allocated: the client may send any bytes. */
	if (!wire_receive(fd, &q, sizeof(q)) || q.magic != WIRE_MAGIC ||
	    q.path_bytes > WIRE_PATH_MAX || q.text_bytes > WIRE_TEXT_MAX)
		return false;
	path = mem_zalloc(q.path_bytes + 1);
	text = mem_zalloc(q.text_bytes + 1);
	ends = wire_receive(fd, path, q.path_bytes) && wire_receive(fd, text, q.text_bytes);
	/* From here on the client counts as one that has spoken (send_away_silent()). */
	if (a->asked)
		/* Relaxed: the reader looks at the flag alone. */
		atomic_store_explicit(a->asked, ends, memory_order_relaxed);
	set_patience(fd, q.request);
	if (ends && q.request != WIRE_END && a->crowded)
		turn_away(fd);
	else if (ends && q.request != WIRE_END)
		carry_out(a, fd, &q, path, text);
	free(path);
	free(text);
	return ends && q.request == WIRE_END;
}
