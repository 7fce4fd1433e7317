/* SPDX-License-Identifier: MIT */
#include "daemon/request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/wire.h"
#include "tree/fuse_face.h"

#define LOOK_MS 20         /* how often a stream without news looks whether its reader is there */
#define ANSWER_S 30
#define LAST_LOOKS 10      /* a program has ended: what was held back comes out within these */

bool request_answer(int fd, int error, const struct err *err, uint64_t bytes)
{
	struct wire_answer w = { .magic = WIRE_MAGIC, .error = error, .bytes = bytes };

	if (error)
		w.err = *err;
	return wire_send(fd, &w, sizeof(w));
}

/* A directory's names, a line each; NULL: it is none. */
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

static void cat(const struct request_context *a, int fd, const char *path)
{
	struct err err = { 0 };
	char *names = names_in(a->request->tree, path), *text = names ? names : tree_cat(a->request->tree, path, &err);
	size_t n = text ? strlen(text) : 0;

	if (request_answer(fd, text ? 0 : -err.code, &err, n) && n)
		wire_send(fd, text, n);
	free(text);
}

static void echo(const struct request_context *a, int fd, const char *path, const char *text, bool append)
{
	struct err err = { 0 };
	int e = tree_echo(a->request->tree, path, text, append, &err);

	request_answer(fd, e, &err, 0);
}

static bool is_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, LOOK_MS) > 0;
}

static void copy_stream(const struct request_context *a, int fd, struct tree_open *file)
{
	unsigned looks = 0;
	char buf[16384];
	struct err err;

	while (looks < LAST_LOOKS && !*a->stopping) {
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

static void stream(const struct request_context *a, int fd, const char *path)
{
	struct err err = { 0 };
	struct tree_node *node = tree_find(a->request->tree, path);
	struct tree_open *file = NULL;
	int e = node ? tree_open(node, O_RDONLY | O_NONBLOCK, gettid(), 0, &file, &err)
		     : err_set(&err, ENOENT, "there is no file %s", path);

	if (e && !err.code)
		err_set(&err, -e, "%s: %s", path, e == -EBUSY ? "somebody else reads it" : strerror(-e));
	if (request_answer(fd, e, &err, UINT64_MAX) && !e)
		copy_stream(a, fd, file);
	if (!e)
		tree_close(file);
	if (node)
		tree_put(node);
}

static void extract(const struct request_context *a, int fd, const char *path)
{
	struct err err = { 0 };
	int e = a->request->extract(a->request->context, path, &err);

	request_answer(fd, e, &err, 0);
}

/* --- the tree for a command of the client's (brace shell) -------------------------------- */

struct face_visit {
	struct fuse_face *face;
	int fd, stop;
};

/* The client goes, or the session does. */
static void *await_leave(void *arg)
{
	struct face_visit *v = arg;
	struct pollfd p[] = { { .fd = v->fd, .events = POLLRDHUP }, { .fd = v->stop, .events = POLLIN } };

	while (poll(p, 2, -1) < 0)
		;
	fuse_face_stop(v->face);
	return NULL;
}

static void serve_face(const struct request_context *a, int fd, struct fuse_face *face)
{
	struct face_visit v = { face, fd, a->stop };
	pthread_t leaving;
	struct err ignored;

	if (pthread_create(&leaving, NULL, await_leave, &v))
		return;
	fuse_face_serve(face, &ignored);
	shutdown(fd, SHUT_RDWR); /* if it was unmounted */
	pthread_join(leaving, NULL);
}

/* One mounts at a time: libfuse talks to standard error meanwhile. */
static int mount_face(const struct request_context *a, int fuse, struct fuse_face **face, struct err *err)
{
	static pthread_mutex_t mounting = PTHREAD_MUTEX_INITIALIZER;
	char path[32];
	int e;

	if (fuse < 0)
		return err_set(err, EPROTO, "the session got no connection to serve");
	snprintf(path, sizeof(path), "/dev/fd/%d", fuse);
	pthread_mutex_lock(&mounting);
	e = fuse_face_mount(a->request->tree, path, face, err);
	pthread_mutex_unlock(&mounting);
	if (e)
		close(fuse);
	return e;
}

static void show_face(const struct request_context *a, int fd)
{
	struct fuse_face *face;
	struct err err = { 0 };
	int e = mount_face(a, wire_receive_fd(fd), &face, &err);

	if (request_answer(fd, e, &err, 0) && !e)
		serve_face(a, fd, face);
	if (!e)
		fuse_face_free(face);
}

static void carry_out(const struct request_context *a, int fd, const struct wire_question *q, const char *path, const char *text)
{
	struct err err = { 0 };

	switch (q->request) {
	case WIRE_CAT:
		return cat(a, fd, path);
	case WIRE_ECHO:
		return echo(a, fd, path, text, q->append);
	case WIRE_STREAM:
		return stream(a, fd, path);
	case WIRE_EXTRACT:
		return extract(a, fd, path);
	case WIRE_FACE:
		return show_face(a, fd);
	}
	request_answer(fd, err_set(&err, ENOTSUP, "the session is of another version of brace"), &err, 0);
}

bool request_allowed(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void turn_away(int fd)
{
	struct err err;
	int e = err_set(&err, EBUSY, "the session has as many clients as it takes: try again when one has gone");

	request_answer(fd, e, &err, 0);
}

/* How long an answer may wait for its reader. A stream may wait for ever: of a pager, for instance. */
static void set_patience(int fd, uint32_t request)
{
	const struct timeval patience = { request == WIRE_STREAM ? 0 : ANSWER_S, 0 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

bool request_handle(const struct request_context *a, int fd)
{
	struct wire_question q;
	char *path, *text;
	bool ends;

	if (!wire_receive(fd, &q, sizeof(q)) || q.magic != WIRE_MAGIC || q.path_bytes > WIRE_PATH_MAX ||
	    q.text_bytes > WIRE_TEXT_MAX)
		return false;
	path = mem_zalloc(q.path_bytes + 1);
	text = mem_zalloc(q.text_bytes + 1);
	ends = wire_receive(fd, path, q.path_bytes) && wire_receive(fd, text, q.text_bytes);
	if (a->asked)
		*a->asked = ends;
	set_patience(fd, q.request);
	if (ends && q.request != WIRE_END && a->crowded)
		turn_away(fd);
	else if (ends && q.request != WIRE_END)
		carry_out(a, fd, &q, path, text);
	free(path);
	free(text);
	return ends && q.request == WIRE_END;
}
