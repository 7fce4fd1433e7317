/* SPDX-License-Identifier: MIT */
/* Begins and ends the control, brings in running processes, and hands updates to the session.
 * Called by the session's threads; the thread that waits for agents is the socket thread's
 * (agent_socket.c). c->lock protects updates and the outcome of the first image; everything else
 * needs a turn (control_internal.h). A launch or a change that does not come to its end is -errno
 * and a sentence. */
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

#include "base/flag.h"
#include "inject/attach.h"
#include "inject/launch.h"
#include "tracee/launch_stop.h"

/* The step at which control_wait_update() looks whether waiting still makes sense. */
#define STEP_MS 100

/* --- the socket ------------------------------------------------------------------------------- */

/* The address is abstract: it leaves no file behind, and a program that changed its root still
 * finds it. Everybody can read its name in /proc/net/unix: the session is protected by the
 * kernel, which tells who calls (check_peer in agent_socket.c), and by the token. The random
 * part keeps others from taking the name first. `@` stands for the leading NUL. */
static int make_socket(struct control *c, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	unsigned long long random[4];
	socklen_t n;
	int path;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_set(err, EIO, "the kernel gives no random numbers");
	path = snprintf(c->way, sizeof(c->way), "@brace-%d-%016llx%016llx", (int)getpid(),
			random[0], random[1]);
	n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)path);
	memcpy(at.sun_path + 1, c->way + 1, (size_t)path - 1);
	c->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&at, n) < 0 ||
	    listen(c->listener, 64) < 0)
		return err_set(err, errno, "cannot make the socket %s: %s", c->way,
			       strerror(errno));
	snprintf(c->way + path, sizeof(c->way) - (size_t)path, "%c%016llx%016llx",
		 PROTOCOL_TOKEN_MARK, random[2], random[3]);
	c->token = c->way + path + 1;
	c->hurry = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->hurry < 0)
		return err_set(err, errno, "cannot make an eventfd: %s", strerror(errno));
	return 0;
}

/* --- what becomes of images ------------------------------------------------------------------- */

/* Lock held. The first image to be done decides on the session's start. */
static void attach_done(struct control *c, pid_t pid, const struct image_count *count,
			bool addition)
{
	if (!c->first_done)
		c->first_pid = pid;
	if (pid == c->first_pid)
		image_count_add(&c->count, count, addition);
	c->first_done = true;
	pthread_cond_broadcast(&c->changed);
}

/* Lock held. Takes over *update. */
static void tell_update(struct control *c, struct image_update *update)
{
	c->published += !update->addition;
	*vec_add(&c->updates) = *update;
	*update = (struct image_update){ 0 };
	pthread_cond_broadcast(&c->changed);
}

/* Takes over what update has; planners call it. */
void control_tell(struct control *c, struct image_update *update)
{
	pthread_mutex_lock(&c->lock);
	tell_update(c, update);
	pthread_mutex_unlock(&c->lock);
}

/* For an image whose update was told before (control_tell). */
void control_done(struct control *c, pid_t pid, const struct image_count *count, bool addition)
{
	pthread_mutex_lock(&c->lock);
	/* Before the session has begun only its own program's images count. */
	if (c->first_done || pid == c->first_pid)
		attach_done(c, pid, count, addition);
	pthread_mutex_unlock(&c->lock);
}

/* Noted for control_forget_ended(). */
void control_image_ended(struct control *c, uint32_t image)
{
	pthread_mutex_lock(&c->lock);
	*vec_add(&c->ended) = image;
	pthread_mutex_unlock(&c->lock);
}

/* The sites of the ended images' patches are given up. */
void control_forget_ended(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->ended.n; i++) {
		struct image_state *state = &c->images.at[c->ended.at[i]];

		patch_sites_end(&c->sites, state->sites);
		state->sites = PATCH_SITES_NONE;
	}
	c->ended.n = 0;
	pthread_mutex_unlock(&c->lock);
}

/* Both steps under one lock: whoever sees the image counted finds its update. */
void control_publish(struct control *c, struct image *im, pid_t pid)
{
	pthread_mutex_lock(&c->lock);
	attach_done(c, pid, &im->count, im->update.addition && !im->update.again);
	tell_update(c, &im->update);
	pthread_mutex_unlock(&c->lock);
}

/* Only the first image's failure ends the session's start; one of a later process is that process's
 * alone. */
void control_failed(struct control *c, const struct err *err)
{
	pthread_mutex_lock(&c->lock);
	if (!c->first_done)
		c->first_err = *err;
	c->first_done = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Switches and sleeps of the process, as the events ask for them. 0, or -errno and *err. */
int control_follow(struct control *c, const struct event_set *events, pid_t pid, struct err *err)
{
	const struct follow_request req = { .events = events,
					    .sleeps = control_excludes_sleep(c->req.settings),
					    .pids = &pid,
					    .n = 1 };

	return producers_follow(c->req.producers, &req, err);
}

/* Waits for plans that are under way, and keeps others from beginning: until control_end_alone()
 * the caller alone changes processes. */
void control_begin_alone(struct control *c)
{
	turns_begin_alone(&c->turns, -1);
}

void control_end_alone(struct control *c)
{
	turns_end_alone(&c->turns);
	agent_socket_hurry(c);
}

/* --- for the session -------------------------------------------------------------------------- */

/* Called by planners, when a plan is ready. */
static void hurry_socket(void *context)
{
	agent_socket_hurry(context);
}

/* The socket thread comes last: from then on planners and socket are in use by others. */
int control_start(const struct control_request *req, struct control **out, struct err *err)
{
	struct control *c = mem_zalloc(sizeof(*c));
	int r;

	c->req = *req;
	c->memories = c->patches.memories = req->memories;
	event_set_copy(&c->req.events, &req->settings->events);
	c->listener = c->hurry = c->program = -1;
	/* No program has the images before the first, so that none of them is ever planned. */
	while (c->images.n < req->first_image)
		*vec_add(&c->images) = (struct image_state){ .sites = PATCH_SITES_NONE };
	c->published = req->first_image;
	turns_begin(&c->turns);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	r = make_socket(c, err);
	if (r == 0)
		r = planners_start(hurry_socket, c, &c->planners, err);
	if (r == 0) {
		int e = pthread_create(&c->thread, NULL, agent_socket_run, c);

		c->started = !e;
		r = e ? err_set(err, e, "cannot start a thread: %s", strerror(e)) : 0;
	}
	if (r < 0) {
		control_stop(c);
		return r;
	}
	*out = c;
	return 0;
}

/* Brings in a process that runs, or one that we hold. Alone. */
static int attach_image(struct control *c, pid_t pid, struct tracee *stopped, struct image *im,
			struct attach_report *rep, struct err *err)
{
	uint32_t index = (uint32_t)c->images.n;
	struct image_state state = { .next_id = 1, .by_hand = stopped != NULL };
	struct image_request req = {
		.index = index, .first_id = state.next_id, .known = &state.known, .pid = pid,
		.settings = c->req.settings, .agent_path = c->req.agent_path,
		.tracer = c->req.tracer, .ends = c->req.image_ends,
		.events = &c->req.events, .distance = MMAP_AWAY, .socket = stopped ? c->way : NULL,
		.agent_socket = c->way,
	};
	bool signals = handlers_pending(&c->req.events); /* includes what every process needs */
	/* Before hooking: so the start of no call is missed, and if it is forbidden nothing has
	 * been changed. */
	int r = control_follow(c, &c->req.events, pid, err);

	if (r < 0)
		return r;
	handlers_begin(&c->handlers, pid);
	req.handlers = handlers_of(&c->handlers, pid);
	if (!stopped && signals)
		handlers_look(pid, handlers_of(&c->handlers, pid));
	r = stopped ? attach_stopped(&req, stopped, c->req.memories, im, err)
		    : attach_process(&req, c->req.memories, im, rep, err);
	if (r < 0) {
		image_known_free(&state.known);
		return r; /* no record carries this index: the next image gets it */
	}
	state.next_id = im->next_id;
	state.memory = im->memory;
	state.sites = patch_sites_begin(&c->sites);
	patch_sites_add(&c->sites, state.sites, im->patches, im->setup.n_patches);
	patch_lists_begin(&c->patches, pid);
	patch_lists_add(&c->patches, pid, im->memory, im->patches, im->setup.n_patches);
	handlers_tell(im, pid, control_messages(c));
	probe_outcomes_tell(im, pid, control_messages(c));
	image_tell_unread(im, pid, control_messages(c));
	*vec_add(&c->images) = state;
	return 0;
}

/* Brings a process in, and tells the session. Nobody else is inside meanwhile. */
static int attach_and_tell(struct control *c, pid_t pid, struct tracee *stopped,
			   struct attach_report *rep, struct err *err)
{
	struct image im = { .image_fd = -1, .code_fd = -1, .answers_fd = -1 };
	int r;

	control_begin_alone(c);
	r = attach_image(c, pid, stopped, &im, rep, err);
	if (r == 0)
		control_publish(c, &im, pid);
	else
		image_update_free(&im.update);
	/* Handlers that were set between the look and the hooks. */
	if (r == 0 && !stopped)
		control_look_for_handlers(c, pid);
	control_end_alone(c);
	image_close(&im);
	return r;
}

int control_attach(struct control *c, pid_t pid, struct attach_report *rep, struct err *err)
{
	return attach_and_tell(c, pid, NULL, rep, err);
}

/* The program stands at launch_stop()'s place while it is planned, and goes on with
 * tracee_release(). *pid is 0 if there is none; after another failure the caller reaps it. */
int control_launch(struct control *c, const char *path, char *const *argv,
		   const struct launch_birth *birth, pid_t *pid, struct err *err)
{
	struct launch_stop where;
	struct tracee *t;
	int r = launch_stop(path, argv, birth, pid, &t, &where, err);

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

/* context: the control. */
static const struct patch_list *patch_sites_of_image(const void *context, uint32_t image)
{
	const struct control *c = context;

	return patch_sites_of(&c->sites, image < c->images.n ? c->images.at[image].sites
							       : PATCH_SITES_NONE);
}

int control_detach(struct control *c, pid_t pid, struct attach_report *rep, struct err *err)
{
	struct attach_patches known = { .sites = patch_sites_of_image, .context = c };
	int r;

	control_begin_alone(c);
	/* Gives a forked child its own list: a semaphore lowered in it stands in the others. */
	patch_lists_add(&c->patches, pid, NULL, NULL, 0);
	known.told = patch_lists_of(&c->patches, pid);
	r = attach_detach(pid, c->req.agent_path, &known, rep, err);
	control_end_alone(c);
	return r;
}

/* A pidfd that cannot be had (-1) costs time only: the end is then seen by waits that run out. */
void control_watch(struct control *c, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	/* Pairs with the acquire in watch_peers() of agent_socket.c. */
	__atomic_store_n(&c->program, fd, __ATOMIC_RELEASE);
	agent_socket_hurry(c);
}

const char *control_way(const struct control *c)
{
	return c->way;
}

static void free_images(struct control *c)
{
	for (size_t i = 0; i < c->images.n; i++)
		image_known_free(&c->images.at[i].known);
	vec_free(&c->images);
	patch_lists_free(&c->patches);
	patch_sites_free(&c->sites);
	vec_free(&c->ended);
	handlers_free(&c->handlers);
	event_set_free(&c->req.events);
}

void control_stop(struct control *c)
{
	if (!c)
		return;
	flag_set(&c->stopping);
	if (c->started) {
		agent_socket_hurry(c);
		/* The planners end after the socket thread, which alone gives them work. */
		pthread_join(c->thread, NULL);
	}
	if (c->planners)
		planners_stop(c->planners);
	agent_socket_close(c);
	if (c->program >= 0)
		close(c->program);
	if (c->listener >= 0)
		close(c->listener);
	if (c->hurry >= 0)
		close(c->hurry);
	free_images(c);
	while (c->handed < c->updates.n) /* nobody asks any more */
		image_update_free(&c->updates.at[c->handed++]);
	vec_free(&c->updates);
	turns_end(&c->turns);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c);
}

/* The caller owns *out. Updates come in the order in which they were told. */
bool control_next_update(struct control *c, struct image_update *out)
{
	bool any;

	pthread_mutex_lock(&c->lock);
	any = c->handed < c->updates.n;
	if (any)
		*out = c->updates.at[c->handed++];
	pthread_mutex_unlock(&c->lock);
	return any;
}

/* Now plus ms, by the clock that pthread_cond_timedwait() takes by default. */
static void deadline_in(struct timespec *until, long ms)
{
	clock_gettime(CLOCK_REALTIME, until);
	until->tv_nsec += ms % 1000 * 1000000;
	until->tv_sec += ms / 1000 + until->tv_nsec / 1000000000;
	until->tv_nsec %= 1000000000;
}

/* The socket thread tells the session before the process, so only an attached process can write
 * records of an image before its update is there. In small steps: a spoiled index must not be
 * waited for once nobody is alone. */
bool control_wait_update(struct control *c, uint32_t index)
{
	struct timespec step;
	bool there;

	pthread_mutex_lock(&c->lock);
	for (int waited = 0;
	     c->published <= index && waited < REPLY_MS && turns_are_taken_alone(&c->turns);
	     waited += STEP_MS) {
		deadline_in(&step, STEP_MS);
		pthread_cond_timedwait(&c->changed, &c->lock, &step);
	}
	there = c->published > index;
	pthread_mutex_unlock(&c->lock);
	return there;
}

/* Lock held. Waits until the socket thread has looked at everything once since now, at most
 * REPLY_MS. */
static void pass_rounds(struct control *c)
{
	uint64_t asked = ++c->asked;
	struct timespec until;

	agent_socket_hurry(c);
	deadline_in(&until, REPLY_MS);
	while (c->passed < asked &&
	       pthread_cond_timedwait(&c->changed, &c->lock, &until) != ETIMEDOUT)
		;
}

/* Afterwards everything is heard that agents had sent before the call. */
void control_hear_all(struct control *c)
{
	pthread_mutex_lock(&c->lock);
	pass_rounds(c);
	pthread_mutex_unlock(&c->lock);
}

bool control_is_busy(struct control *c)
{
	bool busy;

	pthread_mutex_lock(&c->lock);
	pass_rounds(c);
	busy = c->busy;
	pthread_mutex_unlock(&c->lock);
	return busy;
}

/* Lock held. Whether the program has ended, and everything that it said is known. */
static bool has_gone(struct control *c, bool (*alive)(void *), void *context)
{
	if (alive(context))
		return false;
	pass_rounds(c);
	return !c->first_done && !c->busy;
}

/* first_err was set by control_failed(), before first_done. */
int control_wait_first(struct control *c, bool (*alive)(void *), void *context, struct err *err)
{
	struct timespec until;
	int r = 0;

	pthread_mutex_lock(&c->lock);
	while (!c->first_done) {
		r = launch_check_given_up(err);
		if (r < 0)
			break;
		/* Woken by attach_done() and control_failed(); the 10 ms are for a program that
		 * ends without a word, and for an interrupt. */
		deadline_in(&until, 10);
		if (pthread_cond_timedwait(&c->changed, &c->lock, &until) == ETIMEDOUT &&
		    !c->first_done && has_gone(c, alive, context)) {
			r = err_set(err, ECHILD,
				    "the program ended before the agent could start in it");
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

/* A copy, since planners go on counting. */
void control_count(struct control *c, struct image_count *out)
{
	pthread_mutex_lock(&c->lock);
	*out = c->count;
	pthread_mutex_unlock(&c->lock);
}
