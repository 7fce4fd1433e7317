/* SPDX-License-Identifier: MIT */
/* The session's door: one thread that waits for all who come, and never for one of them. The kernel tells who calls before
 * anything is read. What takes long is the planners' (planners.h); what a peer says is read when it is there, and one that
 * says nothing costs a descriptor until it is given up, or until others need the place. The heart beats here.
 *
 * Nothing fails but for one peer: it is let go, and its program runs untraced. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "session/control_internal.h"
#include "collect/processes.h"
#include "shared/points.h"

#define BEAT_MS 100       /* whatever the tracer's main thread waits for: a slow disk, us */
#define REFUSED_MS 1000
#define HANDLER_MS 1000   /* how long a signal's handler waits for a quiet moment */
#define SLOW_MS 3000      /* who has not answered for so long gives way to others */
#define PEERS_MAX 384     /* descriptors: most processes may have 1024 */
#define PEERS_OF_ONE 8    /* of a process: it has one, and threads that set handlers */
#define INSIDE_MAX 96     /* each has two memories besides */

typedef VEC(struct pollfd) pollfds;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void door_hurry(struct control *c)
{
	const uint64_t one = 1;
	ssize_t n = write(c->hurry, &one, sizeof(one));

	(void)n; /* in vain: the door looks every BEAT_MS */
}

/* --- who calls ------------------------------------------------------------------------------ */

/* Executed by a traced process, or by the child that one made for it: a program of root's that
 * gave itself to another user. */
static bool is_ours(const struct control *c, pid_t pid)
{
	return memories_know(c->memories, (uint32_t)pid) || memories_know(c->memories, (uint32_t)processes_parent(pid));
}

/* The kernel's word, not the caller's. Only our own user (or root), or who was traced before. *pid 0: the kernel does not say. */
static bool check_peer(const struct control *c, int fd, pid_t *pid)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	*pid = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		return false;
	*pid = who.pid;
	return who.uid == geteuid() || who.uid == 0 || (geteuid() == 0 && is_ours(c, who.pid));
}

/* --- a peer's way ----------------------------------------------------------------------------- */

static bool is_busy(enum peer_phase phase)
{
	return phase == PEER_WAITS || phase == PEER_PLANNED || phase == PEER_WELCOMED;
}

static void go_on(struct peer *p, enum peer_phase phase)
{
	struct control *c = p->control;
	int change = is_busy(phase) - is_busy(p->phase);

	p->phase = phase;
	p->since = now_ms();
	if (!change)
		return;
	pthread_mutex_lock(&c->lock);
	c->busy += (uint32_t)change;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void end(struct peer *p)
{
	if (p->inside)
		turns_leave(&p->control->turns);
	p->inside = false;
	go_on(p, PEER_OVER);
}

static void settle(struct peer *p, const struct protocol_done *done)
{
	setup_settle(p->control, p, done);
	end(p);
}

/* Its answer, if it is there. */
static void hear_done(struct peer *p)
{
	struct protocol_done done;
	ssize_t n = recv(p->fd, &done, sizeof(done), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	settle(p, n == (ssize_t)sizeof(done) ? &done : NULL);
}

/* What a process said before is to be known before what it says now: that trampolines found no place, for which
 * it asks again. */
static void hear_earlier(const struct peer *p)
{
	for (size_t i = 0; i < p->control->peers.n; i++) {
		struct peer *other = p->control->peers.at[i];

		if (other->pid == p->pid && other->phase == PEER_WELCOMED)
			hear_done(other);
	}
}

/* The launched program's first words: whether it can be traced is how the session begins. */
static bool is_first(struct control *c, const struct peer *p)
{
	bool first;

	pthread_mutex_lock(&c->lock);
	if (!c->first_pid)
		c->first_pid = p->pid;
	first = c->first_pid == p->pid && !c->first_done;
	pthread_mutex_unlock(&c->lock);
	return first;
}

static void wrong_version(struct peer *p)
{
	struct err err;

	if (is_first(p->control, p)) {
		err_set(&err, EPROTO, "%s is of another version of brace", p->control->req.agent_path);
		control_failed(p->control, &err);
	}
	end(p);
}

/* The kernel does not give us what it says, or who it is. If it is the program that the session begins with, it may not go
 * on and run untraced: it waits, as one that is refused. */
static void not_heard(struct peer *p)
{
	struct err err;

	err_set(&err, errno, "cannot hear the agent: %s", strerror(errno));
	if (!is_first(p->control, p)) {
		end(p);
		return;
	}
	control_failed(p->control, &err);
	go_on(p, PEER_REFUSED);
}

static void hear_hello(struct peer *p)
{
	ssize_t n = recv(p->fd, &p->hello, sizeof(p->hello), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		not_heard(p);
		return;
	}
	if (n != (ssize_t)sizeof(p->hello)) {
		end(p);
		return;
	}
	POINT(hello_heard);
	if (p->hello.version != PROTOCOL_VERSION) {
		wrong_version(p);
		return;
	}
	hear_earlier(p);
	p->first = p->hello.request == PROTOCOL_HELLO && is_first(p->control, p);
	go_on(p, PEER_WAITS);
}

/* Planned: in a planner before, in the door's thread now. */
static void welcome(struct peer *p)
{
	bool begins = setup_begins(p);

	if (!begins) /* a handler: that we close is the answer */
		p->control->handler_waits = false;
	if (begins && setup_welcome(p->control, p))
		go_on(p, PEER_WELCOMED);
	else if (begins && p->first)
		go_on(p, PEER_REFUSED);
	else
		end(p);
}

static void heed(struct peer *p)
{
	switch (p->phase) {
	case PEER_SILENT:
		return hear_hello(p);
	case PEER_WELCOMED:
		return hear_done(p);
	case PEER_WAITS: /* readable: it is gone, or says what it should not */
	case PEER_REFUSED:
		return end(p);
	default:
		return;
	}
}

/* --- whose turn it is ---------------------------------------------------------------------------- */

static void run_plan(struct plan_job *job)
{
	struct peer *p = (struct peer *)job;

	setup_plan(p->control, p);
}

static void run_handler(struct plan_job *job)
{
	struct peer *p = (struct peer *)job;

	if (!turns_begin_alone(&p->control->turns, HANDLER_MS)) {
		control_handler_missed(p->control, p->pid, p->hello.handler);
		return;
	}
	control_handler(p->control, p->pid, p->hello.handler);
	turns_end_alone(&p->control->turns);
}

static void plan(struct peer *p, void (*run)(struct plan_job *job))
{
	go_on(p, PEER_PLANNED);
	p->job.run = run;
	planners_give(p->control->planners, &p->job);
}

static bool is_planned(const struct control *c, const struct peer *p)
{
	return p->hello.request == PROTOCOL_DLOPEN && p->hello.image < c->images.n && c->images.at[p->hello.image].planned;
}

/* False: nobody behind it may go first, for it waits until all that are inside have left. What nobody wants to know is not
 * worth that. */
static bool send_handler(struct control *c, struct peer *p)
{
	bool wanted;

	if (!turns_enter(&c->turns))
		return false;
	wanted = handlers_wanted(&c->req.events);
	turns_leave(&c->turns);
	if (!wanted) {
		end(p);
		return true;
	}
	if (!c->handler_waits)
		plan(p, run_handler);
	c->handler_waits = true;
	return false;
}

/* False: nobody behind it may go first. */
static bool send_in(struct control *c, struct peer *p)
{
	if (p->hello.request == PROTOCOL_HANDLER)
		return send_handler(c, p);
	if (!setup_begins(p)) {
		end(p);
		return true;
	}
	p->inside = turns_enter(&c->turns);
	if (!p->inside)
		return false;
	if (is_planned(c, p)) {
		turns_leave(&c->turns);
		p->inside = false;
	} else if (setup_begin(c, p)) {
		plan(p, run_plan);
	} else {
		end(p);
	}
	return true;
}

static size_t count_inside(const struct control *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->peers.n; i++)
		n += c->peers.at[i]->inside;
	return n;
}

/* Who has been welcomed, and silent, for longest. */
static void give_way(struct control *c, uint64_t now)
{
	struct peer *slow = NULL;

	for (size_t i = 0; i < c->peers.n; i++) {
		struct peer *p = c->peers.at[i];

		if (p->phase == PEER_WELCOMED && now - p->since > SLOW_MS && (!slow || p->since < slow->since))
			slow = p;
	}
	if (slow)
		settle(slow, NULL);
}

static void send_all_in(struct control *c)
{
	size_t inside = count_inside(c);

	for (size_t i = 0; i < c->peers.n; i++) {
		struct peer *p = c->peers.at[i];

		if (p->phase != PEER_WAITS)
			continue;
		if (inside >= INSIDE_MAX) {
			give_way(c, now_ms());
			return;
		}
		if (!send_in(c, p))
			return;
		inside += p->inside;
	}
}

/* --- who comes -------------------------------------------------------------------------------------- */

static size_t count_of(const struct control *c, pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < c->peers.n; i++)
		n += c->peers.at[i]->pid == pid && c->peers.at[i]->phase != PEER_OVER;
	return n;
}

static void take_away(struct peer *p)
{
	close(p->fd);
	setup_free(p);
	free(p);
}

static void drop_over(struct control *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->peers.n; i++) {
		if (c->peers.at[i]->phase == PEER_OVER)
			take_away(c->peers.at[i]);
		else
			c->peers.at[kept++] = c->peers.at[i];
	}
	c->peers.n = kept;
}

/* Room for one more: who has been silent for longest goes. An agent says hello as soon as it has connected. */
static bool make_room(struct control *c)
{
	for (size_t i = 0; c->peers.n >= PEERS_MAX && i < c->peers.n; i++)
		if (c->peers.at[i]->phase == PEER_SILENT) {
			end(c->peers.at[i]);
			drop_over(c);
		}
	return c->peers.n < PEERS_MAX;
}

static void let_in(struct control *c, int fd)
{
	struct peer *p;
	pid_t pid;
	bool may = check_peer(c, fd, &pid);

	if ((pid && !may) || count_of(c, pid) >= PEERS_OF_ONE) {
		close(fd);
		return;
	}
	p = mem_zalloc(sizeof(*p));
	*p = (struct peer){ .control = c, .fd = fd, .pid = pid, .since = now_ms(), .im = { .image_fd = -1, .code_fd = -1 } };
	*vec_add(&c->peers) = p;
	if (may)
		hear_hello(p);
	else
		not_heard(p);
}

/* As many as are there; not more at a time than there is room for, so that the others' turn comes. */
static void open_door(struct control *c)
{
	for (int i = 0; i < PEERS_MAX && make_room(c); i++) {
		int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		let_in(c, fd);
	}
}

/* --- the thread ---------------------------------------------------------------------------------------- */

static void take_plans(struct control *c)
{
	struct plan_job *job;

	while ((job = planners_take(c->planners)))
		welcome((struct peer *)job);
}

static void look_at_clock(struct control *c)
{
	uint64_t now = now_ms();

	for (size_t i = 0; i < c->peers.n; i++) {
		struct peer *p = c->peers.at[i];

		if (p->phase == PEER_WELCOMED && now - p->since > REPLY_MS)
			settle(p, NULL);
		else if ((p->phase == PEER_SILENT && now - p->since > REPLY_MS) ||
			 (p->phase == PEER_REFUSED && now - p->since > REFUSED_MS))
			end(p);
	}
}

/* Listener, hurry, program, then the peers in their order. */
enum { LISTENER, HURRY, PROGRAM, PEERS };

static void watch(struct control *c, pollfds *fds)
{
	fds->n = 0;
	*vec_add(fds) = (struct pollfd){ .fd = c->peers.n < PEERS_MAX || make_room(c) ? c->listener : -1, .events = POLLIN };
	*vec_add(fds) = (struct pollfd){ .fd = c->hurry, .events = POLLIN };
	*vec_add(fds) = (struct pollfd){ .fd = __atomic_load_n(&c->program, __ATOMIC_ACQUIRE), .events = POLLIN };
	for (size_t i = 0; i < c->peers.n; i++) {
		const struct peer *p = c->peers.at[i];

		*vec_add(fds) = (struct pollfd){ .fd = p->phase == PEER_PLANNED ? -1 : p->fd, .events = POLLIN };
	}
}

static void program_ended(struct control *c, int fd)
{
	__atomic_store_n(&c->program, -1, __ATOMIC_RELEASE);
	close(fd);
	memories_nudge(c->memories);
}

static void look(struct control *c, pollfds *fds, int ms)
{
	uint64_t told;

	watch(c, fds);
	if (poll(fds->at, fds->n, ms) < 0)
		return;
	if (fds->at[HURRY].revents && read(c->hurry, &told, sizeof(told)) < 0)
		(void)told; /* it hurries us again */
	if (fds->at[PROGRAM].revents)
		program_ended(c, fds->at[PROGRAM].fd);
	for (size_t i = PEERS; i < fds->n; i++)
		if (fds->at[i].revents)
			heed(c->peers.at[i - PEERS]);
	take_plans(c);
	if (fds->at[LISTENER].revents)
		open_door(c);
	look_at_clock(c);
	send_all_in(c);
	drop_over(c);
}

/* Begun after somebody asked for it: it sees all that was said before. */
static bool begin_pass(struct control *c, uint64_t *asked)
{
	bool any;

	pthread_mutex_lock(&c->lock);
	*asked = c->asked;
	any = c->asked != c->passed;
	pthread_mutex_unlock(&c->lock);
	return any;
}

static void end_pass(struct control *c, uint64_t asked)
{
	pthread_mutex_lock(&c->lock);
	c->passed = asked;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void *door_run(void *context)
{
	struct control *c = context;
	pollfds fds = { 0 };
	uint64_t asked;

	while (!c->stopping) {
		bool at_once = begin_pass(c, &asked);

		memories_beat(c->memories);
		look(c, &fds, at_once ? 0 : BEAT_MS);
		if (at_once)
			end_pass(c, asked);
	}
	vec_free(&fds);
	for (size_t i = 0; i < c->peers.n; i++)
		if (c->peers.at[i]->phase != PEER_PLANNED)
			end(c->peers.at[i]);
	return NULL;
}

void door_close(struct control *c)
{
	for (size_t i = 0; i < c->peers.n; i++)
		take_away(c->peers.at[i]);
	vec_free(&c->peers);
}
