#include "daemon/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/attend.h"
#include "daemon/place.h"

#define AT_ONCE_MAX 64     /* connections */

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

/* --- connections -------------------------------------------------------------------- */

/* Who asked is answered when the session is no more. */
static void end(struct server *s, int fd)
{
	pthread_mutex_lock(&s->mutex);
	if (s->ended_by < 0)
		s->ended_by = dup(fd);
	pthread_mutex_unlock(&s->mutex);
	serve_stop(s);
}

static void *visit(void *arg)
{
	struct visit v = *(struct visit *)arg;

	free(arg);
	if (attend(&(struct attended){ &v.server->req, &v.server->stopping, v.server->stop }, v.fd))
		end(v.server, v.fd);
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
		attend_answer(s->ended_by, 0, NULL, 0);
		close(s->ended_by);
	}
	close(s->stop);
	pthread_cond_destroy(&s->left);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}
