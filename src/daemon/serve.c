/* SPDX-License-Identifier: MIT */
/* Owns the socket and its clients, each in a thread of its own; called by who serves a session (ui/cmd/session.c). The
 * thread that accepts waits for no client: who says nothing is sent away, who finds no room is told so. */
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

#include "base/mem.h"
#include "daemon/request.h"
#include "daemon/run_dir.h"

#define AT_ONCE_MAX 64     /* connections */
#define TURNED_AWAY_MAX 8  /* more, of which only a request to end is heard */
#define QUESTION_MS 5000   /* it is short, and comes at once */
#define LOOK_MS 500

struct server {
	struct serve_request req;
	int lock, socket, stop;
	struct mem_last_act last;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	pthread_mutex_t mutex;
	pthread_cond_t left;
	struct visit *visits;
	unsigned inside;       /* of them */
	atomic_bool stopping;
	int ended_by;          /* the connection that asked for the end, or -1 */
};

struct visit {
	struct visit *next;
	struct server *server;
	int fd;
	uint64_t since;        /* ms */
	atomic_bool asked;     /* the question is known */
	bool crowded, ends;    /* ends: it asked for the end, and waits for it */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- connections -------------------------------------------------------------------- */

/* Who asked is answered when the session is no more. */
static void end(struct visit *v)
{
	struct server *s = v->server;

	pthread_mutex_lock(&s->mutex);
	if (s->ended_by < 0)
		s->ended_by = dup(v->fd);
	v->ends = true;
	pthread_mutex_unlock(&s->mutex);
	serve_stop(s);
}

static void leave(struct visit *v)
{
	struct server *s = v->server;

	pthread_mutex_lock(&s->mutex);
	for (struct visit **at = &s->visits; *at; at = &(*at)->next)
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

static void *visit(void *arg)
{
	struct visit *v = arg;
	const struct request_context a = { &v->server->req, &v->server->stopping, v->server->stop, &v->asked, v->crowded };

	if (request_handle(&a, v->fd))
		end(v);
	leave(v);
	return NULL;
}

/* Whoever has not said for `ms` what he wants: he is sent away, whatever he does. The one who came first last in *oldest. Lock
 * held. */
static struct visit *send_away_silent(struct server *s, uint64_t ms)
{
	struct visit *oldest = NULL;
	uint64_t now = now_ms();

	for (struct visit *v = s->visits; v; v = v->next) {
		if (v->asked)
			continue;
		if (now - v->since > ms)
			shutdown(v->fd, SHUT_RDWR);
		oldest = v; /* the newest are first */
	}
	return oldest;
}

/* Lock held. False: there is no room, and nobody who says nothing. */
static bool make_room(struct server *s)
{
	struct visit *silent = send_away_silent(s, QUESTION_MS);

	if (s->inside < AT_ONCE_MAX)
		return true;
	if (silent)
		shutdown(silent->fd, SHUT_RDWR); /* it leaves at once */
	return silent != NULL;
}

/* One who is sent away leaves at once, but not before we look. Lock held. */
static void await_leaving(struct server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	while (s->inside >= AT_ONCE_MAX + TURNED_AWAY_MAX && pthread_cond_timedwait(&s->left, &s->mutex, &until) == 0)
		;
}

/* NULL: he cannot come in. */
static struct visit *new_visit(struct server *s, int fd)
{
	struct visit *v = NULL;
	bool room;

	pthread_mutex_lock(&s->mutex);
	room = make_room(s);
	if (room)
		await_leaving(s);
	if (s->inside < AT_ONCE_MAX + TURNED_AWAY_MAX) {
		v = mem_zalloc(sizeof(*v));
		*v = (struct visit){ .next = s->visits, .server = s, .fd = fd, .since = now_ms(), .crowded = !room };
		s->visits = v;
		s->inside++;
	}
	pthread_mutex_unlock(&s->mutex);
	return v;
}

/* Waits for no client: who finds no room is turned away. */
static void let_in(struct server *s)
{
	const struct timeval patience = { QUESTION_MS / 1000, 0 };
	int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
	struct visit *v;
	pthread_t thread;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)); /* also for what comes after the question */
	v = request_allowed(fd) ? new_visit(s, fd) : NULL;
	if (!v) {
		close(fd);
		return;
	}
	if (pthread_create(&thread, NULL, visit, v) == 0)
		pthread_detach(thread);
	else
		leave(v);
}

/* Without memory there is no serve_close. */
static bool leave_no_socket(struct mem_last_act *last)
{
	struct server *s = (struct server *)((char *)last - offsetof(struct server, last));

	unlink(s->path);
	return false;
}

static int listen_at(struct server *s, struct err *err)
{
	struct sockaddr_un at;
	int e = run_dir_address(s->req.name, &at, err);

	if (e)
		return e;
	memcpy(s->path, at.sun_path, sizeof(s->path));
	unlink(s->path); /* of one that died: we have the lock */
	s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&at, sizeof(at)) || listen(s->socket, AT_ONCE_MAX))
		return err_set(err, errno, "cannot listen at %s: %s", at.sun_path, strerror(errno));
	s->last.act = leave_no_socket;
	mem_last_act_add(&s->last);
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

/* The eventfd only hurries us: what ends us is `stopping`. */
void serve_run(struct server *s)
{
	struct pollfd p[] = { { .fd = s->socket, .events = POLLIN }, { .fd = s->stop, .events = POLLIN } };

	while (!s->stopping) {
		if (poll(p, 2, LOOK_MS) > 0 && p[0].revents & POLLIN && !s->stopping)
			let_in(s);
		p[0].revents = p[1].revents = 0;
		pthread_mutex_lock(&s->mutex);
		send_away_silent(s, QUESTION_MS);
		pthread_mutex_unlock(&s->mutex);
	}
}

/* Whatever they wait for, to say or to be told: it is over. Who asked for the end is told of it. */
static void end_visits(struct server *s)
{
	pthread_mutex_lock(&s->mutex);
	for (struct visit *v = s->visits; v; v = v->next)
		if (!v->ends)
			shutdown(v->fd, SHUT_RDWR);
	while (s->inside)
		pthread_cond_wait(&s->left, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
}

void serve_stop(struct server *s)
{
	const uint64_t one = 1;

	s->stopping = true;
	if (write(s->stop, &one, sizeof(one)) < 0)
		return; /* serve_run looks by itself */
}

void serve_close(struct server *s)
{
	if (s->socket >= 0) {
		close(s->socket);
		unlink(s->path);
		mem_last_act_remove(&s->last);
	}
	end_visits(s);
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
