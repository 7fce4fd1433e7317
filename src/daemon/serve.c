#include "daemon/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/place.h"
#include "daemon/wire.h"

#define AT_ONCE_MAX 64     /* connections */
#define LOOK_MS 20         /* how often a stream without news looks whether its reader is there */
#define LAST_LOOKS 10      /* a program has ended: what was held back comes out within these */

struct server {
	struct serve_request req;
	int lock, socket, stop;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	pthread_mutex_t mutex;
	pthread_cond_t left;
	unsigned inside;       /* connections */
	atomic_bool stopping;
	int ended_by;          /* the connection that asked for the end, or -1 */
};

struct visit { struct server *server; int fd; };

/* --- requests ----------------------------------------------------------------------- */

static bool answer(int fd, int error, const struct err *err, uint64_t bytes)
{
	struct wire_answer a = { .magic = WIRE_MAGIC, .error = error, .bytes = bytes };

	if (error)
		a.err = *err;
	return wire_send(fd, &a, sizeof(a));
}

static void cat(struct server *s, int fd, const char *path)
{
	struct err err = { 0 };
	char *text = tree_cat(s->req.tree, path, &err);
	size_t n = text ? strlen(text) : 0;

	if (answer(fd, text ? 0 : -err.code, &err, n) && n)
		wire_send(fd, text, n);
	free(text);
}

static void echo(struct server *s, int fd, const char *path, const char *text, bool append)
{
	struct err err = { 0 };
	int e = tree_echo(s->req.tree, path, text, append, &err);

	answer(fd, e, &err, 0);
}

static bool is_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, LOOK_MS) > 0;
}

static void copy_stream(struct server *s, int fd, struct tree_open *file)
{
	unsigned looks = 0;
	char buf[16384];
	struct err err;

	while (looks < LAST_LOOKS && !s->stopping) {
		ssize_t n = tree_read(file, buf, sizeof(buf), 0, &err);

		if (n > 0 && !wire_send(fd, buf, (size_t)n))
			return;
		if (n == 0 || (n < 0 && n != -EAGAIN))
			return;
		if (n < 0 && is_gone(fd))
			return;
		looks = n < 0 && s->req.is_over(s->req.context) ? looks + 1 : 0;
	}
}

static void stream(struct server *s, int fd, const char *path)
{
	struct err err = { 0 };
	struct tree_node *node = tree_find(s->req.tree, path);
	struct tree_open *file = NULL;
	int e = node ? tree_open(node, O_RDONLY, gettid(), 0, &file, &err)
		     : err_set(&err, ENOENT, "there is no file %s", path);

	if (e && !err.code)
		err_set(&err, -e, "%s: %s", path, e == -EBUSY ? "somebody else reads it" : strerror(-e));
	if (answer(fd, e, &err, UINT64_MAX) && !e)
		copy_stream(s, fd, file);
	if (!e)
		tree_close(file);
	if (node)
		tree_put(node);
}

static void extract(struct server *s, int fd, const char *path)
{
	struct err err = { 0 };
	int e = s->req.extract(s->req.context, path, &err);

	answer(fd, e, &err, 0);
}

/* Answered when the session is no more. */
static void end(struct server *s, int fd)
{
	pthread_mutex_lock(&s->mutex);
	if (s->ended_by < 0)
		s->ended_by = dup(fd);
	pthread_mutex_unlock(&s->mutex);
	serve_stop(s);
}

static void carry_out(struct server *s, int fd, const struct wire_question *q, const char *path, const char *text)
{
	struct err err = { 0 };

	switch (q->request) {
	case WIRE_CAT:
		return cat(s, fd, path);
	case WIRE_ECHO:
		return echo(s, fd, path, text, q->append);
	case WIRE_STREAM:
		return stream(s, fd, path);
	case WIRE_EXTRACT:
		return extract(s, fd, path);
	case WIRE_END:
		return end(s, fd);
	}
	answer(fd, err_set(&err, ENOTSUP, "the session is of another version of brace"), &err, 0);
}

static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void attend(struct server *s, int fd)
{
	struct wire_question q;
	char *path, *text;

	if (!is_ours(fd) || !wire_receive(fd, &q, sizeof(q)) || q.magic != WIRE_MAGIC || q.path_bytes > WIRE_PATH_MAX ||
	    q.text_bytes > WIRE_TEXT_MAX)
		return;
	path = mem_zalloc(q.path_bytes + 1);
	text = mem_zalloc(q.text_bytes + 1);
	if (wire_receive(fd, path, q.path_bytes) && wire_receive(fd, text, q.text_bytes))
		carry_out(s, fd, &q, path, text);
	free(path);
	free(text);
}

/* --- connections -------------------------------------------------------------------- */

static void *visit(void *arg)
{
	struct visit v = *(struct visit *)arg;

	free(arg);
	attend(v.server, v.fd);
	close(v.fd);
	pthread_mutex_lock(&v.server->mutex);
	v.server->inside--;
	pthread_cond_signal(&v.server->left);
	pthread_mutex_unlock(&v.server->mutex);
	return NULL;
}

static void let_in(struct server *s)
{
	int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
	struct visit *v;
	pthread_t thread;

	if (fd < 0)
		return;
	v = mem_zalloc(sizeof(*v));
	*v = (struct visit){ s, fd };
	pthread_mutex_lock(&s->mutex);
	while (s->inside >= AT_ONCE_MAX)
		pthread_cond_wait(&s->left, &s->mutex);
	s->inside++;
	pthread_mutex_unlock(&s->mutex);
	if (pthread_create(&thread, NULL, visit, v) == 0)
		pthread_detach(thread);
	else
		visit(v);
}

static int listen_at(struct server *s, struct err *err)
{
	struct sockaddr_un at;
	int e = place_address(s->req.name, &at, err);

	if (e)
		return e;
	memcpy(s->path, at.sun_path, sizeof(s->path));
	unlink(s->path); /* of one that died: we have the lock */
	s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&at, sizeof(at)) || listen(s->socket, AT_ONCE_MAX))
		return err_set(err, errno, "cannot listen at %s: %s", at.sun_path, strerror(errno));
	return 0;
}

int serve_open(const struct serve_request *req, struct server **out, struct err *err)
{
	struct server *s = mem_zalloc(sizeof(*s));
	int e = 0;

	*s = (struct server){ .req = *req, .socket = -1, .ended_by = -1 };
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->left, NULL);
	s->stop = eventfd(0, EFD_CLOEXEC);
	s->lock = place_lock(req->name, err);
	if (s->lock < 0)
		e = s->lock;
	if (e == 0)
		e = listen_at(s, err);
	if (e)
		serve_close(s);
	else
		*out = s;
	return e;
}

void serve_run(struct server *s)
{
	struct pollfd p[] = { { .fd = s->socket, .events = POLLIN }, { .fd = s->stop, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[1].revents)
			return;
		if (p[0].revents)
			let_in(s);
		p[0].revents = p[1].revents = 0;
	}
}

void serve_stop(struct server *s)
{
	const uint64_t one = 1;

	s->stopping = true;
	if (write(s->stop, &one, sizeof(one)) < 0)
		return; /* it is full: stopped already */
}

void serve_close(struct server *s)
{
	if (s->socket >= 0) {
		close(s->socket);
		unlink(s->path);
	}
	pthread_mutex_lock(&s->mutex);
	while (s->inside)
		pthread_cond_wait(&s->left, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	if (s->lock >= 0)
		close(s->lock);
	if (s->ended_by >= 0) {
		answer(s->ended_by, 0, NULL, 0);
		close(s->ended_by);
	}
	close(s->stop);
	pthread_cond_destroy(&s->left);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}
