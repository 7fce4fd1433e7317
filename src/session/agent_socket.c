/* SPDX-License-Identifier: MIT */
/* The session's agent socket: one thread that waits for all agents, and never for a single one.
 * Before anything is read, the kernel tells who calls. Slow work is the planners' (planners.h).
 * A peer that says nothing costs a descriptor until it is given up, or until others need the
 * place. The tracer's heartbeat is raised here.
 *
 * The socket's thread owns `peers`; it takes c->lock only for the counts that other threads wait
 * on. Nothing fails as a whole: a peer that fails is let go, and its program runs untraced. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/flag.h"
#include "base/monotonic.h"
#include "session/control_internal.h"
#include "collect/messages.h"
#include "collect/processes.h"
#include "shared/points.h"

/* heartbeat: independent of slow disks that the session's thread may wait for */
#define HEARTBEAT_MS 100
#define REFUSED_MS 1000
#define HANDLER_MS 1000   /* longest that a signal's handler waits to be alone */
#define SLOW_MS 3000      /* a peer silent for so long gives way to others */
#define PEERS_MAX 384     /* descriptors: most processes may have 1024 */
/* of one process: it needs one, and one for each thread that sets handlers */
#define PEERS_OF_ONE 8
#define INSIDE_MAX 96     /* each inside has three memory files besides */

typedef VEC(struct pollfd) pollfds;

void agent_socket_hurry(struct control *c)
{
	const uint64_t one = 1;
	ssize_t n = write(c->hurry, &one, sizeof(one));

	(void)n; /* full already: the socket thread looks every HEARTBEAT_MS anyway */
}

/* --- who calls ------------------------------------------------------------------------------ */

/* Whether a traced process executed it, or made it: a program of root's that gave itself to another
 * user. */
static bool is_ours(const struct control *c, pid_t pid)
{
	return memories_know(c->memories, (uint32_t)pid) ||
	       memories_know(c->memories, (uint32_t)processes_parent(pid));
}

/* By the kernel's word, not the caller's: only our own user, root, or (for root's session) a
 * process that was traced before. *pid 0: the kernel does not tell. */
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

/* Takes the same time however much is right, so that the token cannot be guessed by parts. */
static bool knows_token(const struct control *c, const struct protocol_hello *hello)
{
	unsigned differ = 0;

	for (unsigned i = 0; i < PROTOCOL_TOKEN; i++)
		differ |= (unsigned)(hello->token[i] ^ c->token[i]);
	return !differ;
}

/* --- a peer's way ----------------------------------------------------------------------------- */

/* `busy` keeps a session from taking its program for gone. */
static bool is_busy(enum peer_phase phase)
{
	return phase == PEER_WAITS || phase == PEER_PLANNED || phase == PEER_SET_UP;
}

/* Moves the peer to a phase, and keeps the count of busy peers that other threads wait on. */
static void go_on(struct peer *p, enum peer_phase phase)
{
	struct control *c = p->control;
	int change = is_busy(phase) - is_busy(p->phase);

	p->phase = phase;
	p->since = monotonic_ms();
	if (!change)
		return;
	pthread_mutex_lock(&c->lock);
	c->busy += (uint32_t)change;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Ends the peer's turn. drop_over() frees the peer later. */
static void end_peer(struct peer *p)
{
	if (p->inside)
		turns_leave(&p->control->turns);
	p->inside = false;
	go_on(p, PEER_OVER);
}

/* Takes the outcome over, then ends the peer. */
static void finish_peer(struct peer *p, const struct protocol_done *done)
{
	setup_finish(p->control, p, done);
	end_peer(p);
}

/* Reads the peer's answer, if it is there. */
static void hear_done(struct peer *p)
{
	struct protocol_done done;
	ssize_t n = recv(p->fd, &done, sizeof(done), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* No answer, or a cut one: the process died. */
	finish_peer(p, n == (ssize_t)sizeof(done) ? &done : NULL);
}

/* Anything that the process said on another connection has to be known first: that trampolines
 * found no place, for which it now asks again. */
static void hear_earlier(const struct peer *p)
{
	for (size_t i = 0; i < p->control->peers.n; i++) {
		struct peer *other = p->control->peers.at[i];

		if (other->pid == p->pid && other->phase == PEER_SET_UP)
			hear_done(other);
	}
}

/* Whether these are the first words of the launched program: its plan decides on the session's
 * start. */
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

/* An agent of another brace: the launched program fails the session, any other runs untraced. */
static void wrong_version(struct peer *p)
{
	struct err err;

	if (is_first(p->control, p)) {
		err_set(&err, EPROTO, "%s is of another version of brace",
			p->control->req.agent_path);
		control_failed(p->control, &err);
	}
	end_peer(p);
}

/* The kernel does not give us the peer's words or its identity. The program that the session begins
 * with may not run on untraced: it waits, as a refused one. */
static void not_heard(struct peer *p)
{
	struct err err;

	err_set(&err, errno, "cannot hear the agent: %s", strerror(errno));
	if (!is_first(p->control, p)) {
		end_peer(p);
		return;
	}
	control_failed(p->control, &err);
	go_on(p, PEER_REFUSED);
}

/* Reads the first message. A peer that does not know the token is a stranger, which is noted. */
static void hear_hello(struct peer *p)
{
	ssize_t n = recv(p->fd, &p->hello, sizeof(p->hello), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		not_heard(p);
		return;
	}
	/* A cut or foreign message. */
	if (n != (ssize_t)sizeof(p->hello)) {
		end_peer(p);
		return;
	}
	POINT(hello_heard);
	if (!knows_token(p->control, &p->hello)) {
		messages_add(control_messages(p->control), MESSAGE_STRANGER, p->pid, "");
		end_peer(p);
		return;
	}
	if (p->hello.version != PROTOCOL_VERSION) {
		wrong_version(p);
		return;
	}
	/* Then its own earlier answers are heard before this request is planned. */
	hear_earlier(p);
	p->first = p->hello.request == PROTOCOL_HELLO && is_first(p->control, p);
	go_on(p, PEER_WAITS);
}

/* After the plan: a planner had the peer before, now the socket's thread has it. */
static void setup_peer(struct peer *p)
{
	bool begins = setup_is_asked(p);

	if (!begins) /* for a handler, our closing of the socket is the answer */
		p->control->handler_waits = false;
	if (begins && setup_reply(p->control, p))
		go_on(p, PEER_SET_UP);
	else if (begins && p->first)
		go_on(p, PEER_REFUSED);
	else
		end_peer(p);
}

/* Reads from a peer that poll() found readable. */
static void heed_peer(struct peer *p)
{
	switch (p->phase) {
	case PEER_SILENT:
		return hear_hello(p);
	case PEER_SET_UP:
		return hear_done(p);
	case PEER_WAITS: /* readable: it died, or says what it should not */
	case PEER_REFUSED:
		return end_peer(p);
	default:
		return;
	}
}

/* --- whose turn it is ------------------------------------------------------------------------- */

/* On a planner's thread. */
static void run_plan(struct plan_job *job)
{
	struct peer *p = (struct peer *)job;

	setup_plan(p->control, p);
}

/* On a planner's thread. The process' thread waits in the agent until the socket thread closes its
 * socket. */
static void run_handler(struct plan_job *job)
{
	struct peer *p = (struct peer *)job;

	/* The planner waits here until it is alone; other planners go on. */
	if (!turns_begin_alone(&p->control->turns, HANDLER_MS)) {
		control_handler_missed(p->control, p->pid, p->hello.handler);
		return;
	}
	control_handler(p->control, p->pid, p->hello.handler);
	turns_end_alone(&p->control->turns);
}

/* Gives the peer to a planner. setup_peer() gets it back. */
static void plan_peer(struct peer *p, void (*run)(struct plan_job *job))
{
	go_on(p, PEER_PLANNED);
	p->job.run = run;
	planners_give(p->control->planners, &p->job);
}

/* Whether another dlopen of the image is being planned. */
static bool is_planned(const struct control *c, const struct peer *p)
{
	return p->hello.request == PROTOCOL_DLOPEN && p->hello.image < c->images.n &&
	       c->images.at[p->hello.image].planned;
}

/* False: nobody behind it may go first, because the handler waits until all that are inside have
 * left. A handler that nobody wants to see is not worth that, and is answered at once. */
static bool send_handler(struct control *c, struct peer *p)
{
	bool wanted;

	if (!turns_enter(&c->turns))
		return false;
	wanted = handlers_wanted(&c->req.events);
	turns_leave(&c->turns);
	if (!wanted) {
		end_peer(p);
		return true;
	}
	/* Only one handler is planned at a time. */
	if (!c->handler_waits)
		plan_peer(p, run_handler);
	c->handler_waits = true;
	return false;
}

/* False: nobody behind this peer may go first. */
static bool send_in(struct control *c, struct peer *p)
{
	if (p->hello.request == PROTOCOL_HANDLER)
		return send_handler(c, p);
	if (!setup_is_asked(p)) {
		end_peer(p);
		return true;
	}
	p->inside = turns_enter(&c->turns);
	if (!p->inside)
		return false;
	/* Another dlopen of this image is being planned: this one waits, but others may go. */
	if (is_planned(c, p)) {
		turns_leave(&c->turns);
		p->inside = false;
	} else if (setup_begin(c, p)) {
		plan_peer(p, run_plan);
	} else {
		end_peer(p);
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

/* Gives up the peer that has been welcomed and silent for longest, if that is more than SLOW_MS. */
static void give_way(struct control *c, uint64_t now)
{
	struct peer *slow = NULL;

	for (size_t i = 0; i < c->peers.n; i++) {
		struct peer *p = c->peers.at[i];

		if (p->phase == PEER_SET_UP && now - p->since > SLOW_MS &&
		    (!slow || p->since < slow->since))
			slow = p;
	}
	if (slow)
		finish_peer(slow, NULL);
}

/* Lets waiting peers in, in order of arrival, at most INSIDE_MAX at a time. */
static void send_all_in(struct control *c)
{
	size_t inside = count_inside(c);

	for (size_t i = 0; i < c->peers.n; i++) {
		struct peer *p = c->peers.at[i];

		if (p->phase != PEER_WAITS)
			continue;
		if (inside >= INSIDE_MAX) {
			give_way(c, monotonic_ms());
			return;
		}
		if (!send_in(c, p))
			return;
		inside += p->inside;
	}
}

/* --- who comes -------------------------------------------------------------------------------- */

/* The number of connections that the process has. */
static size_t count_of(const struct control *c, pid_t pid)
{
	size_t n = 0;

	for (size_t i = 0; i < c->peers.n; i++)
		n += c->peers.at[i]->pid == pid && c->peers.at[i]->phase != PEER_OVER;
	return n;
}

/* The socket's end tells the process, if it still waits for a reply. */
static void take_away(struct peer *p)
{
	close(p->fd);
	setup_free(p);
	free(p);
}

/* Frees ended peers. Not while a loop goes over `peers`. */
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

/* Makes room for one more peer: the one that has been silent for longest goes. An agent says hello
 * as soon as it has connected. */
static bool make_room(struct control *c)
{
	for (size_t i = 0; c->peers.n >= PEERS_MAX && i < c->peers.n; i++)
		if (c->peers.at[i]->phase == PEER_SILENT) {
			end_peer(c->peers.at[i]);
			drop_over(c);
		}
	return c->peers.n < PEERS_MAX;
}

/* Takes a caller, unless it may not call or has too many connections. */
static void let_in(struct control *c, int fd)
{
	struct peer *p;
	pid_t pid;
	bool may = check_peer(c, fd, &pid);

	/* pid 0: the kernel did not tell, which not_heard() explains. */
	if ((pid && !may) || count_of(c, pid) >= PEERS_OF_ONE) {
		close(fd);
		return;
	}
	p = mem_zalloc(sizeof(*p));
	*p = (struct peer){ .control = c,
			    .fd = fd,
			    .pid = pid,
			    .since = monotonic_ms(),
			    .im = { .image_fd = -1, .code_fd = -1, .answers_fd = -1 } };
	*vec_add(&c->peers) = p;
	if (may)
		hear_hello(p);
	else
		not_heard(p);
}

/* Accepts all callers, at most PEERS_MAX at a time, so that present peers get their turn. */
static void open_agent_socket(struct control *c)
{
	for (int i = 0; i < PEERS_MAX && make_room(c); i++) {
		int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		let_in(c, fd);
	}
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Plans that are ready are replied to by this thread alone. */
static void take_plans(struct control *c)
{
	struct plan_job *job;

	while ((job = planners_take(c->planners)))
		setup_peer((struct peer *)job);
}

/* Gives up peers whose time is over. */
static void look_at_clock(struct control *c)
{
	uint64_t now = monotonic_ms();

	for (size_t i = 0; i < c->peers.n; i++) {
		struct peer *p = c->peers.at[i];

		if (p->phase == PEER_SET_UP && now - p->since > REPLY_MS)
			finish_peer(p, NULL);
		else if ((p->phase == PEER_SILENT && now - p->since > REPLY_MS) ||
			 (p->phase == PEER_REFUSED && now - p->since > REFUSED_MS))
			end_peer(p);
	}
}

/* Order of pollfds: listener, hurry, program, then the peers in their order. */
enum { LISTENER, HURRY, PROGRAM, PEERS };

/* Fills *fds for poll(). A peer that a planner has is not read. */
static void watch_peers(struct control *c, pollfds *fds)
{
	/* With every place taken, callers wait in the listener's queue. The load of `program` pairs
	 * with the release in control_watch(). */
	fds->n = 0;
	*vec_add(fds) =
		(struct pollfd){ .fd = c->peers.n < PEERS_MAX || make_room(c) ? c->listener : -1,
				 .events = POLLIN };
	*vec_add(fds) = (struct pollfd){ .fd = c->hurry, .events = POLLIN };
	*vec_add(fds) = (struct pollfd){ .fd = __atomic_load_n(&c->program, __ATOMIC_ACQUIRE),
					 .events = POLLIN };
	for (size_t i = 0; i < c->peers.n; i++) {
		const struct peer *p = c->peers.at[i];

		*vec_add(fds) = (struct pollfd){ .fd = p->phase == PEER_PLANNED ? -1 : p->fd,
						 .events = POLLIN };
	}
}

/* The launched program has ended: memories_wait() has to return. */
static void program_ended(struct control *c, int fd)
{
	/* Pairs with the acquire in watch_peers(), on this same thread. */
	__atomic_store_n(&c->program, -1, __ATOMIC_RELEASE);
	close(fd);
	memories_wake(c->memories);
}

/* Waits at most ms for peers, then serves them: reads what came, answers, accepts new ones, drops
 * the silent ones, and lets the next ones in. */
static void look_at_peers(struct control *c, pollfds *fds, int ms)
{
	uint64_t told;

	watch_peers(c, fds);
	if (poll(fds->at, fds->n, ms) < 0)
		return;
	if (fds->at[HURRY].revents && read(c->hurry, &told, sizeof(told)) < 0)
		(void)told; /* the eventfd stays readable, and hurries us again */
	if (fds->at[PROGRAM].revents)
		program_ended(c, fds->at[PROGRAM].fd);
	for (size_t i = PEERS; i < fds->n; i++)
		if (fds->at[i].revents)
			heed_peer(c->peers.at[i - PEERS]);
	/* Before new callers: plans that are done make room. */
	take_plans(c);
	if (fds->at[LISTENER].revents)
		open_agent_socket(c);
	look_at_clock(c);
	send_all_in(c);
	/* Only here: loops above hold pointers and indices into `peers`. */
	drop_over(c);
}

/* A pass that begins after it was asked for sees everything that was said before. */
static bool begin_pass(struct control *c, uint64_t *asked)
{
	bool any;

	pthread_mutex_lock(&c->lock);
	*asked = c->asked;
	any = c->asked != c->passed;
	pthread_mutex_unlock(&c->lock);
	return any;
}

/* Lets the threads go on that have asked for a pass. */
static void end_pass(struct control *c, uint64_t asked)
{
	pthread_mutex_lock(&c->lock);
	c->passed = asked;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* The heartbeat is its first duty: processes that miss it for long believe that brace is dead. */
void *agent_socket_run(void *context)
{
	struct control *c = context;
	pollfds fds = { 0 };
	uint64_t asked;

	while (!flag_is_set(&c->stopping)) {
		bool at_once = begin_pass(c, &asked);

		memories_heartbeat(c->memories);
		look_at_peers(c, &fds, at_once ? 0 : HEARTBEAT_MS);
		if (at_once)
			end_pass(c, asked);
	}
	/* Peers with a planner stay until planners_stop(), then agent_socket_close() frees them. */
	vec_free(&fds);
	for (size_t i = 0; i < c->peers.n; i++)
		if (c->peers.at[i]->phase != PEER_PLANNED)
			end_peer(c->peers.at[i]);
	return NULL;
}

/* When the socket thread and the planners have ended: nobody else has the peers. */
void agent_socket_close(struct control *c)
{
	for (size_t i = 0; i < c->peers.n; i++)
		take_away(c->peers.at[i]);
	vec_free(&c->peers);
}
