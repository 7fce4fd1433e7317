/* SPDX-License-Identifier: MIT */
/* What the session asks of its control: to begin and end, to bring in processes that run, and the news. The thread that
 * waits for agents is the door's (door.c). */
#include "session/control_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "inject/attach.h"
#include "collect/switches.h"
#include "tracee/launch_stop.h"

#define STEP_MS 100

/* --- the socket -------------------------------------------------------------------------- */

/* An abstract address: nothing to leave behind, and a program that changed its root still finds it. Its name stands in
 * /proc/net/unix for everybody to read: what protects the session is that the kernel tells who calls (check_peer in
 * door.c). The random part keeps others from taking the name first. `@` stands for the leading NUL. */
static int make_socket(struct control *c, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint64_t random[2];
	socklen_t n;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_set(err, EIO, "the kernel gives no random numbers");
	snprintf(c->path, sizeof(c->path), "@brace-%d-%016llx%016llx", (int)getpid(),
		 (unsigned long long)random[0], (unsigned long long)random[1]);
	n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(c->path));
	memcpy(at.sun_path + 1, c->path + 1, strlen(c->path) - 1);
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&at, n) < 0 || listen(c->listener, 64) < 0)
		return err_set(err, errno, "cannot make the socket %s: %s", c->path, strerror(errno));
	c->hurry = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->hurry < 0)
		return err_set(err, errno, "cannot make an eventfd: %s", strerror(errno));
	return 0;
}

/* --- what becomes of images --------------------------------------------------------------- */

/* Lock held. */
static void done(struct control *c, pid_t pid, const struct image_count *count, bool addition)
{
	if (!c->first_done)
		c->first_pid = pid;
	if (pid == c->first_pid)
		image_count_add(&c->count, count, addition);
	c->first_done = true;
	pthread_cond_broadcast(&c->changed);
}

/* Lock held. */
static void tell(struct control *c, struct image_news *news)
{
	c->published += !news->addition;
	*vec_add(&c->news) = *news;
	*news = (struct image_news){ 0 };
	pthread_cond_broadcast(&c->changed);
}

void control_tell(struct control *c, struct image_news *news)
{
	pthread_mutex_lock(&c->lock);
	tell(c, news);
	pthread_mutex_unlock(&c->lock);
}

void control_done(struct control *c, pid_t pid, const struct image_count *count, bool addition)
{
	pthread_mutex_lock(&c->lock);
	if (c->first_done || pid == c->first_pid)
		done(c, pid, count, addition);
	pthread_mutex_unlock(&c->lock);
}

void control_publish(struct control *c, struct image *im, pid_t pid)
{
	pthread_mutex_lock(&c->lock);
	done(c, pid, &im->count, im->news.addition && !im->news.again);
	tell(c, &im->news);
	pthread_mutex_unlock(&c->lock);
}

void control_failed(struct control *c, const struct err *err)
{
	pthread_mutex_lock(&c->lock);
	if (!c->first_done)
		c->first_err = *err;
	c->first_done = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

int control_follow(struct control *c, const struct event_set *events, pid_t pid, struct err *err)
{
	return switches_follow(c->switches, events, control_is_sleepless(c->req.settings), pid, err);
}

void control_begin_alone(struct control *c)
{
	turns_begin_alone(&c->turns, -1);
}

void control_end_alone(struct control *c)
{
	turns_end_alone(&c->turns);
	door_hurry(c);
}

/* --- for the session --------------------------------------------------------------------- */

static void hurry(void *context)
{
	door_hurry(context);
}

int control_start(const struct control_request *req, struct control **out, struct err *err)
{
	struct control *c = mem_zalloc(sizeof(*c));
	int r;

	c->req = *req;
	c->memories = c->patches.memories = req->memories;
	c->switches = switches_new(req->memories);
	event_set_copy(&c->req.events, &req->settings->events);
	c->listener = c->hurry = c->program = -1;
	turns_begin(&c->turns);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	r = make_socket(c, err);
	if (r == 0)
		r = planners_start(hurry, c, &c->planners, err);
	if (r == 0 && (errno = pthread_create(&c->thread, NULL, door_run, c)) != 0)
		r = err_set(err, errno, "cannot start a thread: %s", strerror(errno));
	if (r < 0) {
		c->thread = 0;
		control_stop(c);
		return r;
	}
	*out = c;
	return 0;
}

/* A process that runs, or one that we hold. Alone. */
static int attach(struct control *c, pid_t pid, struct tracee *held, struct image *im, struct attach_report *rep,
		  struct err *err)
{
	uint32_t index = (uint32_t)c->images.n;
	struct image_state state = { .next_id = 1, .by_hand = held != NULL };
	struct image_request req = {
		.index = index, .first_id = state.next_id, .known = &state.known, .pid = pid,
		.settings = c->req.settings, .agent_path = c->req.agent_path, .tracer = c->req.tracer,
		.events = &c->req.events, .distance = MMAP_AWAY, .socket = held ? c->path : NULL, .door = c->path,
	};
	bool signals = handlers_wished(&c->req.events); /* and what else every process has */
	int r = control_follow(c, &c->req.events, pid, err); /* before: so nothing of a call is missed, and if it may not be nothing is changed */

	if (r < 0)
		return r;
	handlers_begin(&c->handlers, pid);
	req.handlers = handlers_of(&c->handlers, pid);
	if (!held && signals)
		handlers_look(pid, handlers_of(&c->handlers, pid));
	r = held ? attach_held(&req, held, c->req.memories, im, err) : attach_process(&req, c->req.memories, im, rep, err);
	if (r < 0) {
		known_modules_free(&state.known);
		return r; /* nothing ran with this index: the next has it */
	}
	state.next_id = im->next_id;
	state.memory = im->memory;
	patch_lists_begin(&c->patches, pid);
	patch_lists_add(&c->patches, pid, im->memory, im->patches, im->welcome.n_patches);
	handlers_tell(im, pid, control_notes(c));
	image_tell_unread(im, pid, control_notes(c));
	*vec_add(&c->images) = state;
	return 0;
}

static int attach_and_tell(struct control *c, pid_t pid, struct tracee *held, struct attach_report *rep,
			   struct err *err)
{
	struct image im = { .image_fd = -1, .code_fd = -1 };
	int r;

	control_begin_alone(c);
	r = attach(c, pid, held, &im, rep, err);
	if (r == 0)
		control_publish(c, &im, pid);
	else
		image_news_free(&im.news);
	if (r == 0 && !held)
		control_look_for_handlers(c, pid);
	control_end_alone(c);
	image_close(&im);
	return r;
}

int control_attach(struct control *c, pid_t pid, struct attach_report *rep, struct err *err)
{
	return attach_and_tell(c, pid, NULL, rep, err);
}

int control_launch(struct control *c, const char *path, char *const *argv, pid_t *pid, struct err *err)
{
	struct launch_stop where;
	struct tracee *t;
	int r = launch_stop(path, argv, pid, &t, &where, err);

	if (r < 0) {
		*pid = 0;
		return r;
	}
	r = attach_and_tell(c, *pid, t, NULL, err);
	if (r < 0)
		kill(*pid, SIGKILL);
	tracee_release(t);
	return r;
}

int control_leave(struct control *c, pid_t pid, struct attach_report *rep, struct err *err)
{
	int r;

	control_begin_alone(c);
	patch_lists_add(&c->patches, pid, NULL, NULL, 0); /* a forked one's own: what is lowered in it is not in others */
	r = attach_leave(pid, c->req.agent_path, patch_lists_of(&c->patches, pid), rep, err);
	control_end_alone(c);
	return r;
}

void control_watch(struct control *c, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	__atomic_store_n(&c->program, fd, __ATOMIC_RELEASE);
	door_hurry(c);
}

const char *control_socket(const struct control *c)
{
	return c->path;
}

static void free_images(struct control *c)
{
	for (size_t i = 0; i < c->images.n; i++)
		known_modules_free(&c->images.at[i].known);
	vec_free(&c->images);
	patch_lists_free(&c->patches);
	handlers_free(&c->handlers);
	event_set_free(&c->req.events);
}

void control_stop(struct control *c)
{
	if (!c)
		return;
	c->stopping = true;
	if (c->thread) {
		door_hurry(c);
		pthread_join(c->thread, NULL);
	}
	if (c->planners)
		planners_stop(c->planners);
	door_close(c);
	if (c->program >= 0)
		close(c->program);
	if (c->listener >= 0)
		close(c->listener);
	if (c->hurry >= 0)
		close(c->hurry);
	free_images(c);
	switches_free(c->switches);
	while (c->handed < c->news.n) /* nobody asked any more */
		image_news_free(&c->news.at[c->handed++]);
	vec_free(&c->news);
	turns_end(&c->turns);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c);
}

bool control_next_news(struct control *c, struct image_news *out)
{
	bool any;

	pthread_mutex_lock(&c->lock);
	any = c->handed < c->news.n;
	if (any)
		*out = c->news.at[c->handed++];
	pthread_mutex_unlock(&c->lock);
	return any;
}

static void soon(struct timespec *until, long ms)
{
	clock_gettime(CLOCK_REALTIME, until);
	until->tv_nsec += ms % 1000 * 1000000;
	until->tv_sec += ms / 1000 + until->tv_nsec / 1000000000;
	until->tv_nsec %= 1000000000;
}

/* The door tells the session before the process: only who attaches has an image that is used before its news are there.
 * In small steps: one that asks for nonsense is not to wait for its end. */
bool control_wait_news(struct control *c, uint32_t index)
{
	struct timespec step;
	bool there;

	pthread_mutex_lock(&c->lock);
	for (int waited = 0; c->published <= index && waited < REPLY_MS && turns_are_taken_alone(&c->turns); waited += STEP_MS) {
		soon(&step, STEP_MS);
		pthread_cond_timedwait(&c->changed, &c->lock, &step);
	}
	there = c->published > index;
	pthread_mutex_unlock(&c->lock);
	return there;
}

/* Lock held. */
static void pass(struct control *c)
{
	uint64_t asked = ++c->asked;
	struct timespec until;

	door_hurry(c);
	soon(&until, REPLY_MS);
	while (c->passed < asked && pthread_cond_timedwait(&c->changed, &c->lock, &until) != ETIMEDOUT)
		;
}

void control_settle(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	pass(c);
	pthread_mutex_unlock(&c->lock);
}

/* Has the program gone, and said nothing that is not known? Lock held. */
static bool has_gone(struct control *c, bool (*alive)(void *), void *context)
{
	if (alive(context))
		return false;
	pass(c);
	return !c->first_done && !c->busy;
}

int control_wait_first(struct control *c, bool (*alive)(void *), void *context, struct err *err)
{
	struct timespec until;
	int r = 0;

	pthread_mutex_lock(&c->lock);
	while (!c->first_done) {
		soon(&until, 10);
		if (pthread_cond_timedwait(&c->changed, &c->lock, &until) == ETIMEDOUT && !c->first_done &&
		    has_gone(c, alive, context)) {
			r = err_set(err, ECHILD, "the program ended before the agent could start in it");
			break;
		}
	}
	if (r == 0 && c->first_err.code) {
		*err = c->first_err;
		r = -err->code;
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

struct switches *control_switches(struct control *c)
{
	return c->switches;
}

void control_count(struct control *c, struct image_count *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->count;
	pthread_mutex_unlock(&c->lock);
}
