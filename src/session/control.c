#include "session/control_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/attach.h"
#include "session/event_sites.h"
#include "session/notes.h"
#include "session/processes.h"
#include "session/switches.h"
#include "session/welcome.h"
#include "shared/points.h"
#include "tracee/launch_stop.h"

#define BEAT_MS 100    /* whatever the tracer's main thread waits for: a slow disk, us */
#define REFUSED_MS 1000
#define REPLY_MS 10000 /* an agent that is silent for so long is given up */

/* --- the socket -------------------------------------------------------------------------- */

/* An abstract address: nothing to leave behind, and a program that changed its root still finds
 * it. Nobody can guess it, and the kernel tells who calls. `@` stands for the leading NUL. */
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
	c->stop = eventfd(0, EFD_CLOEXEC);
	if (c->stop < 0)
		return err_set(err, errno, "cannot make an eventfd: %s", strerror(errno));
	return 0;
}

/* Executed by a traced process, or by the child that one made for it: a program of root's that
 * gave itself to another user. */
static bool is_ours(const struct control *c, pid_t pid)
{
	return memories_know(c->req.memories, (uint32_t)pid) || memories_know(c->req.memories, (uint32_t)processes_parent(pid));
}

/* Who calls: the kernel's word, not the caller's. Only our own user (or root), or who was traced before. */
static bool check_peer(const struct control *c, int fd, pid_t *pid)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		return false;
	*pid = who.pid;
	return who.uid == geteuid() || who.uid == 0 || (geteuid() == 0 && is_ours(c, who.pid));
}

static bool hear(int fd, void *out, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, REPLY_MS) == 1 && recv(fd, out, n, 0) == (ssize_t)n;
}

/* --- one image --------------------------------------------------------------------------- */

void control_publish(struct control *c, struct image *im, pid_t pid)
{
	pthread_mutex_lock(&c->lock);
	*vec_add(&c->news) = im->news;
	c->published += !im->news.addition;
	if (!c->first_done)
		c->first_pid = pid;
	if (pid == c->first_pid)
		image_count_add(&c->count, &im->count, im->news.addition && !im->news.again);
	c->first_done = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void fail_first(struct control *c, const struct err *err)
{
	pthread_mutex_lock(&c->lock);
	if (!c->first_done)
		c->first_err = *err;
	c->first_done = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static int follow(struct control *c, pid_t pid, struct err *err)
{
	return switches_follow(c->switches, &c->req.events, control_is_sleepless(c->req.settings), pid, err);
}

static int check_selected(struct control *c, const struct image *im, struct err *err)
{
	if (c->first_done)
		return 0;
	if (im->selected || c->req.settings->nop)
		return event_sites_check(&c->req.events, err);
	return err_set(err, EINVAL, "no function of %s matches the filters: brace list -f shows their names",
		       im->news.about.exe);
}

static int set_up(struct control *c, int fd, pid_t pid, const struct protocol_hello *hello, uint32_t index,
		  struct image *im, struct err *err)
{
	struct image_state *state = &c->images.at[index];
	const struct image_request req = {
		.index = index, .first_id = state->next_id, .known = &state->known, .pid = pid, .hello = hello,
		.settings = c->req.settings, .agent_path = c->req.agent_path, .tracer = c->req.tracer,
		.events = &c->req.events,
	};
	struct protocol_done done = { 0 };
	struct shared_memory *memory;
	int r = image_prepare(&req, im, err);

	if (r == 0)
		r = memories_of_peer(c->req.memories, fd, &memory, err);
	if (r == 0 && hello->request == PROTOCOL_HELLO)
		r = check_selected(c, im, err);
	if (r == 0 && hello->request == PROTOCOL_HELLO)
		r = follow(c, pid, err);
	if (r < 0)
		return r;
	POINT(image_prepared);
	state->next_id = im->next_id;
	im->news.addition = hello->request == PROTOCOL_DLOPEN;
	im->welcome.memory_size = memory->size;
	if (!welcome_send(fd, &im->welcome, (int[]){ memory->fd, im->image_fd, im->code_fd }))
		return err_set(err, EPIPE, "%s ended before it could be hooked", im->news.about.exe);
	POINT(welcome_sent);
	/* Or it died: what was patched until then stands in the patches. */
	if (hear(fd, &done, sizeof(done)) && done.note > NOTE_NONE && done.note < NOTE_KINDS)
		notes_add(control_notes(c), done.note, pid, im->news.about.exe);
	POINT(done_heard);
	image_settle(im, &req);
	if (hello->request == PROTOCOL_HELLO) {
		patch_lists_begin(&c->patches, pid);
		handlers_begin(&c->handlers, pid);
	}
	handlers_tell(im, pid, control_notes(c));
	patch_lists_add(&c->patches, pid, im->patches, im->welcome.n_patches);
	return 0;
}

/* The image this caller speaks of: a new one, or the one it names. */
static bool index_of(struct control *c, const struct protocol_hello *hello, uint32_t *index)
{
	if (hello->request == PROTOCOL_HELLO) {
		*index = (uint32_t)c->images.n;
		*vec_add(&c->images) = (struct image_state){ .next_id = 1 };
		return true;
	}
	*index = hello->image;
	return hello->request == PROTOCOL_DLOPEN && hello->image < c->images.n;
}

/* The program waits for our answer, and is not to run: whoever launched it ends it now. */
static void refuse(struct control *c, int fd, const struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool first = !c->first_done;

	fail_first(c, err);
	if (first)
		poll(&p, 1, REFUSED_MS);
}

static void serve(struct control *c, int fd)
{
	struct protocol_hello hello;
	struct image im = { .image_fd = -1, .code_fd = -1 };
	struct err err = { 0 };
	uint32_t index;
	pid_t pid;

	if (!check_peer(c, fd, &pid) || !hear(fd, &hello, sizeof(hello)))
		return;
	POINT(hello_heard);
	if (hello.version != PROTOCOL_VERSION) {
		err_set(&err, EPROTO, "%s is of another version of brace", c->req.agent_path);
		fail_first(c, &err);
		return;
	}
	if (hello.request == PROTOCOL_HANDLER)
		control_handler(c, pid, hello.handler);
	if (!index_of(c, &hello, &index))
		return;
	if (set_up(c, fd, pid, &hello, index, &im, &err) < 0)
		refuse(c, fd, &err);
	control_publish(c, &im, pid);
	POINT(image_published);
	image_close(&im);
}

/* What the eventfd is told: look again, or end. */
enum { LOOK = 1, STOP = 1 << 20 };

static void tell(struct control *c, uint64_t what)
{
	ssize_t n = write(c->stop, &what, sizeof(what));

	(void)n; /* an eventfd of our own takes eight bytes */
}

static void set_serving(struct control *c, bool serving)
{
	pthread_mutex_lock(&c->lock);
	c->serving = serving;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Is somebody at the door, or inside? Lock held. */
static bool is_busy(const struct control *c)
{
	struct pollfd p = { .fd = c->listener, .events = POLLIN };

	return c->serving || poll(&p, 1, 0) == 1;
}

static void *run(void *context)
{
	struct control *c = context;
	struct memories *memories = c->memories;
	struct pollfd p[3] = { { .fd = c->listener, .events = POLLIN }, { .fd = c->stop, .events = POLLIN } };

	for (;;) {
		uint64_t told;
		int fd;

		p[2] = (struct pollfd){ .fd = __atomic_load_n(&c->program, __ATOMIC_ACQUIRE), .events = POLLIN };
		memories_beat(memories);
		if (poll(p, 3, BEAT_MS) < 0)
			continue;
		if (p[2].revents) {
			__atomic_store_n(&c->program, -1, __ATOMIC_RELEASE);
			close(p[2].fd);
			memories_nudge(memories);
		}
		if (p[1].revents && (read(c->stop, &told, sizeof(told)) < 0 || told >= STOP))
			return NULL;
		if (!p[0].revents)
			continue;
		set_serving(c, true);
		fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			pthread_mutex_lock(&c->work);
			serve(c, fd);
			pthread_mutex_unlock(&c->work);
			close(fd);
		}
		set_serving(c, false);
	}
}

/* --- for the session --------------------------------------------------------------------- */

int control_start(const struct control_request *req, struct control **out, struct err *err)
{
	struct control *c = mem_zalloc(sizeof(*c));
	int r;

	c->req = *req;
	c->memories = req->memories;
	c->switches = switches_new(req->memories);
	event_set_copy(&c->req.events, &req->settings->events);
	c->listener = c->stop = c->program = -1;
	pthread_mutex_init(&c->work, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	r = make_socket(c, err);
	if (r == 0 && (errno = pthread_create(&c->thread, NULL, run, c)) != 0)
		r = err_set(err, errno, "cannot start a thread: %s", strerror(errno));
	if (r < 0) {
		c->thread = 0;
		control_stop(c);
		return r;
	}
	*out = c;
	return 0;
}

/* A process that runs, or one that we hold. Lock `work` held. */
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
	int r = follow(c, pid, err); /* before: so nothing of a call is missed, and if it may not be nothing is changed */

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
	patch_lists_begin(&c->patches, pid);
	patch_lists_add(&c->patches, pid, im->patches, im->welcome.n_patches);
	handlers_tell(im, pid, control_notes(c));
	*vec_add(&c->images) = state;
	return 0;
}

static int attach_and_tell(struct control *c, pid_t pid, struct tracee *held, struct attach_report *rep,
			   struct err *err)
{
	struct image im = { .image_fd = -1, .code_fd = -1 };
	int r;

	pthread_mutex_lock(&c->work);
	r = attach(c, pid, held, &im, rep, err);
	if (r == 0)
		control_publish(c, &im, pid);
	else
		image_news_free(&im.news);
	if (r == 0 && !held)
		control_look_for_handlers(c, pid);
	pthread_mutex_unlock(&c->work);
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

	pthread_mutex_lock(&c->work);
	patch_lists_add(&c->patches, pid, NULL, 0); /* a forked one's own: what is lowered in it is not in others */
	r = attach_leave(pid, c->req.agent_path, patch_lists_of(&c->patches, pid), rep, err);
	pthread_mutex_unlock(&c->work);
	return r;
}

void control_watch(struct control *c, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	__atomic_store_n(&c->program, fd, __ATOMIC_RELEASE);
	tell(c, LOOK);
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
	if (c->thread) {
		tell(c, STOP);
		pthread_join(c->thread, NULL);
	}
	if (c->program >= 0)
		close(c->program);
	if (c->listener >= 0)
		close(c->listener);
	if (c->stop >= 0)
		close(c->stop);
	free_images(c);
	switches_free(c->switches);
	while (c->handed < c->news.n) /* nobody asked any more */
		image_news_free(&c->news.at[c->handed++]);
	vec_free(&c->news);
	pthread_mutex_destroy(&c->work);
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

/* Does anything go on that could end in news? A program has an index only while it is set up or attached to, or after its
 * news. Lock held. */
static bool is_at_work(struct control *c)
{
	if (is_busy(c) || pthread_mutex_trylock(&c->work) != 0)
		return true;
	pthread_mutex_unlock(&c->work);
	return false;
}

/* In small steps: the control thread is busy, so it is we who say that the tracer lives. */
bool control_wait_news(struct control *c, uint32_t index)
{
	struct timespec step;
	bool there;

	pthread_mutex_lock(&c->lock);
	for (int waited = 0; c->published <= index && waited < REPLY_MS && is_at_work(c); waited += BEAT_MS) {
		soon(&step, BEAT_MS);
		pthread_cond_timedwait(&c->changed, &c->lock, &step);
		memories_beat(c->req.memories);
	}
	there = c->published > index;
	pthread_mutex_unlock(&c->lock);
	return there;
}

int control_wait_first(struct control *c, bool (*alive)(void *), void *context, struct err *err)
{
	struct timespec until;
	int r = 0;

	pthread_mutex_lock(&c->lock);
	while (!c->first_done) {
		soon(&until, 10);
		if (pthread_cond_timedwait(&c->changed, &c->lock, &until) == ETIMEDOUT && !c->first_done &&
		    !alive(context) && !is_busy(c)) {
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
