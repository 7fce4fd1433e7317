/* SPDX-License-Identifier: MIT */
/* Owns the socket and its clients, each in a thread of its own. The process that serves a session
 * calls it (ui/cmd/session.c). s->mutex protects the list of clients. The accepting thread waits
 * for no client: one that sends no request is disconnected, one that finds no room is told so. */
#include "daemon/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/flag.h"
#include "base/mem.h"
#include "base/monotonic.h"
#include "daemon/request.h"
#include "daemon/run_dir.h"

#define AT_ONCE_MAX 64     /* connections */
#define TURNED_AWAY_MAX 8  /* more connections, on which only a request to end is read */
#define QUESTION_MS 5000   /* ms for a request, which is short and sent at once */
/* ms between looks at silent clients. */
#define LOOK_MS 500

struct server {
	struct serve_request req;
	int lock, socket, stop;
	struct mem_last_act last;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	pthread_mutex_t mutex;
	pthread_cond_t left;
	struct client_visit *visits; /* newest first */
	unsigned inside;       /* number of visits */
	atomic_bool stopping;
	int ended_by;          /* the connection that asked for the end, or -1 */
};

/* A connection and its thread. */
struct client_visit {
	struct client_visit *next;
	struct server *server;
	int fd;
	uint64_t since;        /* ms, CLOCK_MONOTONIC */
	atomic_bool asked;     /* the request has been read; written by the visit's thread */
	bool crowded, ends;    /* ends: it asked for the end, and waits for it */
};

/* --- connections -------------------------------------------------------------------- */

/* Notes that the client asked for the end; it is answered when the session has ended. */
static void end_visit(struct client_visit *v)
{
	struct server *s = v->server;

	pthread_mutex_lock(&s->mutex);
	if (s->ended_by < 0)
		/* A copy: the visit's own descriptor is closed when its thread leaves. */
		s->ended_by = dup(v->fd);
	v->ends = true;
	pthread_mutex_unlock(&s->mutex);
	serve_stop(s);
}

/* Removes the visit; its thread ends after this. */
static void leave_visit(struct client_visit *v)
{
	struct server *s = v->server;

	pthread_mutex_lock(&s->mutex);
	for (struct client_visit **at = &s->visits; *at; at = &(*at)->next)
		if (*at == v) {
			*at = v->next;
			break;
		}
	close(v->fd);
	s->inside--;
	pthread_cond_signal(&s->left);
	pthread_mutex_unlock(&s->mutex);
	free(v);
}

/* A client's thread: requests such as wait last as long as the session, and may not keep others
 * from being heard. */
static void *serve_visit(void *arg)
{
	struct client_visit *v = arg;
	const struct request_context a = { &v->server->req, &v->server->stopping, v->server->stop,
					   &v->asked, v->crowded };

	if (request_handle(&a, v->fd))
		end_visit(v);
	leave_visit(v);
	return NULL;
}

/* Disconnects clients that have not sent a request for `ms`. Returns the silent client that came
 * first, or NULL. Called with s->mutex held. */
static struct client_visit *send_away_silent(struct server *s, uint64_t ms)
{
	struct client_visit *oldest = NULL;
	uint64_t now = monotonic_ms();

	for (struct client_visit *v = s->visits; v; v = v->next) {
		/* Relaxed, as the store in request_handle(): a request that arrives now is cut off
		 * or served, both are right. */
		if (atomic_load_explicit(&v->asked, memory_order_relaxed))
			continue;
		if (now - v->since > ms)
			shutdown(v->fd, SHUT_RDWR);
		oldest = v; /* the newest are first */
	}
	return oldest;
}

/* Makes room for one more client. Called with s->mutex held. False: all clients are busy. */
static bool make_client_room(struct server *s)
{
	struct client_visit *silent = send_away_silent(s, QUESTION_MS);

	if (s->inside < AT_ONCE_MAX)
		return true;
	if (silent)
		shutdown(silent->fd, SHUT_RDWR); /* its thread leaves at once */
	return silent != NULL;
}

/* Waits up to a second for a disconnected client's thread to leave. Called with s->mutex held,
 * which the wait releases. */
static void await_leaving(struct server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	while (s->inside >= AT_ONCE_MAX + TURNED_AWAY_MAX &&
	       pthread_cond_timedwait(&s->left, &s->mutex, &until) == 0)
		;
}

/* Adds a visit for the connection; NULL: there is no room at all. */
static struct client_visit *new_visit(struct server *s, int fd)
{
	struct client_visit *v = NULL;
	bool room;

	pthread_mutex_lock(&s->mutex);
	room = make_client_room(s);
	if (room)
		await_leaving(s);
	if (s->inside < AT_ONCE_MAX + TURNED_AWAY_MAX) {
		v = mem_zalloc(sizeof(*v));
		*v = (struct client_visit){ .next = s->visits,
					    .server = s,
					    .fd = fd,
					    .since = monotonic_ms(),
					    .crowded = !room };
		s->visits = v;
		s->inside++;
	}
	pthread_mutex_unlock(&s->mutex);
	return v;
}

/* Accepts a client. It is served by a thread of its own, or disconnected. */
static void let_in(struct server *s)
{
	const struct timeval patience = { QUESTION_MS / 1000, 0 };
	int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
	struct client_visit *v;
	pthread_t thread;

	if (fd < 0)
		return;
	/* Limits the request, and what the client sends after it. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	v = request_allowed(fd) ? new_visit(s, fd) : NULL;
	if (!v) {
		close(fd);
		return;
	}
	if (pthread_create(&thread, NULL, serve_visit, v) == 0)
		pthread_detach(thread);
	else
		leave_visit(v);
}

/* Runs when memory is exhausted, when nobody calls serve_close. */
static bool leave_no_socket(struct mem_last_act *last)
{
	struct server *s = (struct server *)((char *)last - offsetof(struct server, last));

	unlink(s->path);
	return false;
}

/* The caller has the lock of this name, so that nobody else's socket can be there. */
static int listen_at(struct server *s, struct err *err)
{
	struct sockaddr_un at;
	int e = run_dir_prepare(s->req.name, &at, err);

	if (e)
		return e;
	memcpy(s->path, at.sun_path, sizeof(s->path));
	unlink(s->path); /* left by a session that died: we have the lock */
	s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(s->socket, AT_ONCE_MAX))
		return err_set(err, errno, "cannot listen at %s: %s", at.sun_path, strerror(errno));
	s->last.act = leave_no_socket;
	mem_last_act_add(&s->last);
	return 0;
}

/* -EBUSY when a session of this name runs. Clients may connect from here on; they are heard from
 * serve_run() on. */
int serve_open(const struct serve_request *req, struct server **out, struct err *err)
{
	struct server *s = mem_zalloc(sizeof(*s));
	int e = 0;

	*s = (struct server){ .req = *req, .socket = -1, .ended_by = -1 };
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->left, NULL);
	s->stop = eventfd(0, EFD_CLOEXEC);
	s->lock = run_dir_lock(req->name, err);
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

/* Disconnects all clients, whatever they wait for, except the one that asked for the end, and waits
 * for their threads. */
static void end_visits(struct server *s)
{
	pthread_mutex_lock(&s->mutex);
	for (struct client_visit *v = s->visits; v; v = v->next)
		if (!v->ends)
			shutdown(v->fd, SHUT_RDWR);
	while (s->inside)
		pthread_cond_wait(&s->left, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
}

/* Accepts clients until s->stopping is set. The eventfd only wakes poll earlier; a signal may come
 * right before poll, hence LOOK_MS. What the clients' threads use, the caller frees after this. */
void serve_run(struct server *s)
{
	struct pollfd p[] = { { .fd = s->socket, .events = POLLIN },
			      { .fd = s->stop, .events = POLLIN } };

	while (!flag_is_set(&s->stopping)) {
		if (poll(p, 2, LOOK_MS) > 0 && p[0].revents & POLLIN && !flag_is_set(&s->stopping))
			let_in(s);
		p[0].revents = p[1].revents = 0;
		pthread_mutex_lock(&s->mutex);
		send_away_silent(s, QUESTION_MS);
		pthread_mutex_unlock(&s->mutex);
	}
	end_visits(s);
}

/* From any thread: the clients that are being answered are cut off, too. */
void serve_stop(struct server *s)
{
	const uint64_t one = 1;

	/* Before the eventfd: serve_run tests it after waking; copy_stream() and request_wait()
	 * read it, too. */
	flag_set(&s->stopping);
	if (write(s->stop, &one, sizeof(one)) < 0)
		return; /* serve_run looks every LOOK_MS */
}

/* The client that has ended the session is answered here, at the very end: behind `brace reset`
 * the name is free and the socket gone. */
void serve_close(struct server *s)
{
	if (s->socket >= 0) {
		close(s->socket);
		unlink(s->path);
		mem_last_act_remove(&s->last);
	}
	/* The lock goes last: a new session of this name must not find our socket. */
	if (s->lock >= 0)
		close(s->lock);
	if (s->ended_by >= 0) {
		request_answer(s->ended_by, 0, NULL, 0);
		close(s->ended_by);
	}
	close(s->stop);
	pthread_cond_destroy(&s->left);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}
