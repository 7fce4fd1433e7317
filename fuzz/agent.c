/* SPDX-License-Identifier: MIT */
/* Two traced programs that speak to their tracer as agents do, or as none does: the input is a
 * script, steps of one size, of what they say on their connections, of what they write into the
 * memories that they are given, and of what the session asks for. The socket thread, its planners
 * and the plans are those of a session. Each peer is a process of its own, a shell that waits: the
 * kernel says who it is that has connected, so it connects, and its connections are then ours. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "inject/attach.h"
#include "inject/setup_reply.h"
#include "session/control.h"

#define PEERS 2
#define CONNECTIONS 6 /* of each; the socket thread hears 8 */
#define FDS SETUP_REPLY_FDS
#define ANSWER_MS 5000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

struct connection {
	int fd;
	unsigned said;            /* how far it is on an agent's way: hello, what is written, done */
	struct protocol_setup setup;
	uint8_t *answers, *image; /* what came with it; NULL: nothing */
};

struct peer_process {
	pid_t pid;
	int hold;                 /* it ends when this is closed */
	struct connection at[CONNECTIONS];
};

/* A step: what is done, who does it (a peer and a connection of its), and how. Few bytes, of which
 * each matters. */
struct step { uint8_t what, who, how, which, low, high; };
static struct step step;
static struct settings settings;
static struct memories memories;
static const struct producers no_sources;
static struct control *control;
static struct peer_process peers[PEERS];
static char cache[] = "/tmp/brace-fuzz-agent-XXXXXX";

#define require(holds) do { if (!(holds)) { perror(#holds); abort(); } } while (0)

/* --- processes
 * ------------------------------------------------------------------------------------ */

struct start { struct sockaddr_un to; socklen_t n; struct peer_process *peer; char *const *argv; };

/* In the new process, in our memory and with our descriptors until it executes. */
static int connect_and_execute(void *context)
{
	const struct start *s = context;

	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		s->peer->at[i].fd = connect(fd, (const struct sockaddr *)&s->to, s->n) == 0 ? fd : -1;
	}
	execv(s->argv[0], s->argv);
	_exit(127);
}

/* A shell that has told that it runs, and reads. */
static void peer_begin(struct peer_process *p)
{
	static char stack[65536] __attribute__((aligned(16)));
	const char *name = control_way(control);
	const size_t length = strcspn(name, ":");
	struct start s = { .to.sun_family = AF_UNIX, .peer = p };
	char command[128], byte;
	int ready[2], hold[2];

	memset(p, 0, sizeof(*p));
	require(pipe(ready) == 0 && pipe(hold) == 0);
	fcntl(ready[0], F_SETFD, FD_CLOEXEC);
	fcntl(hold[1], F_SETFD, FD_CLOEXEC);
	snprintf(command, sizeof(command), "echo >/dev/fd/%d; read x </dev/fd/%d", ready[1], hold[0]);
	memcpy(s.to.sun_path + 1, name + 1, length - 1);
	s.n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	s.argv = (char *const[]){ "/bin/sh", "-c", command, NULL };
	p->pid = clone(connect_and_execute, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &s);
	require(p->pid > 0);
	close(ready[1]);
	close(hold[0]);
	require(TEMP_FAILURE_RETRY(read(ready[0], &byte, 1)) == 1);
	close(ready[0]);
	p->hold = hold[1];
	for (int i = 0; i < CONNECTIONS; i++)
		require(p->at[i].fd >= 0);
}

static void forget(struct connection *c)
{
	if (c->answers)
		munmap(c->answers, c->setup.answers_size);
	if (c->image)
		munmap(c->image, c->setup.image_size);
	c->answers = c->image = NULL;
}

static void hang_up(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void peer_end(struct peer_process *p)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		hang_up(&p->at[i]);
		forget(&p->at[i]);
	}
	close(p->hold);
	require(TEMP_FAILURE_RETRY(waitpid(p->pid, NULL, 0)) == p->pid);
}

/* --- what they say
 * ---------------------------------------------------------------------------------- */

static void take_memories(struct connection *c, const struct protocol_setup *w, const int fds[FDS])
{
	forget(c);
	c->setup = *w;
	c->image = mmap(NULL, w->image_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	c->answers = w->answers_size ? mmap(NULL, w->answers_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[3], 0) : NULL;
	require(c->answers != MAP_FAILED);
	/* The code memory is not theirs to change. */
	require(!w->code_size || mmap(NULL, w->code_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[2], 0) == MAP_FAILED);
	if (c->image == MAP_FAILED) /* what is added to an image has none of its own */
		c->image = NULL;
	for (int i = 0; i < FDS; i++)
		close(fds[i]);
}

/* An answer, if there will be one: the tracer's, or that it hangs up. */
static void hear(struct connection *c, int ms)
{
	struct pollfd readable = { .fd = c->fd, .events = POLLIN };
	struct protocol_setup w;
	union { struct cmsghdr h; char bytes[CMSG_SPACE(FDS * sizeof(int))]; } control_bytes;
	struct iovec iov = { &w, sizeof(w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control_bytes, .msg_controllen = sizeof(control_bytes) };
	int fds[FDS];

	if (c->fd < 0 || TEMP_FAILURE_RETRY(poll(&readable, 1, ms)) <= 0 || recvmsg(c->fd, &m, MSG_DONTWAIT) != sizeof(w))
		return;
	require(m.msg_controllen == CMSG_LEN(sizeof(fds)) || m.msg_controllen == CMSG_SPACE(sizeof(fds)));
	memcpy(fds, CMSG_DATA(&control_bytes.h), sizeof(fds));
	take_memories(c, &w, fds);
}

/* Bytes, with so many descriptors. */
static void say(struct connection *c, const void *bytes, size_t n, unsigned with)
{
	union { struct cmsghdr h; char bytes[CMSG_SPACE(FDS * sizeof(int))]; } control_bytes = { 0 };
	struct iovec iov = { (void *)bytes, n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (with) {
		m.msg_control = &control_bytes;
		m.msg_controllen = CMSG_SPACE(with * sizeof(int));
		control_bytes.h = (struct cmsghdr){ CMSG_LEN(with * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		for (unsigned i = 0; i < with; i++)
			memcpy(CMSG_DATA(&control_bytes.h) + i * sizeof(int), &c->fd, sizeof(int));
	}
	if (c->fd >= 0)
		sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	control_hear_all(control);
}

/* Values that break programs: ends of ranges, small numbers. */
static uint64_t any_value(void)
{
	static const uint64_t edges[] = { 0, 1ull << 12, 1ull << 32, 1ull << 47, 1ull << 63, UINT64_MAX - 255, 0xffffffffull - 255, 1ull << 24 };

	return edges[step.high % 8] + step.low;
}

/* That are sent along. */
static unsigned descriptors(void)
{
	return step.how % 16 == 2 ? step.how / 16 % (FDS + 1) : 0;
}

/* The second peer is the first one's child. `how`: it is not, or one of its fields is anything. */
static void say_hello(struct connection *c)
{
	static const uint32_t requests[] = { PROTOCOL_HELLO, PROTOCOL_DLOPEN, PROTOCOL_USER };
	const uint64_t value = any_value();
	struct protocol_hello h = {
		.request = requests[step.how % 16 == 3 ? 2 : (step.how % 16 == 1) != (c >= peers[1].at)], .version = PROTOCOL_VERSION,
		.image = step.which < 192 ? 0 : step.which % 4, .tls = -64,
	};

	memcpy(h.token, strchr(control_way(control), PROTOCOL_TOKEN_MARK) + 1, PROTOCOL_TOKEN);
	if (step.how >= 224)
		memcpy((uint8_t *)&h + step.which % (sizeof(h) / 4) * 4, &value, step.which % (sizeof(h) / 4) % 2 ? 4 : 8);
	say(c, &h, sizeof(h), descriptors());
	if (h.version == PROTOCOL_VERSION && (h.request == PROTOCOL_HELLO || h.request == PROTOCOL_DLOPEN || h.request == PROTOCOL_USER))
		hear(c, ANSWER_MS);
}

static void say_done(struct connection *c)
{
	const struct protocol_done d = { .request = PROTOCOL_DONE, .note = step.which % 32 };

	say(c, &d, sizeof(d), descriptors());
}

/* Anything, of any length. */
static void say_anything(struct connection *c)
{
	uint8_t bytes[2 * sizeof(struct protocol_hello)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i % 2 ? step.high : step.low;
	say(c, bytes, step.which % sizeof(bytes), descriptors());
	hear(c, 0);
}

/* --- what they write
 * ---------------------------------------------------------------------------------- */

/* All answers, as an agent gives them, or not. */
static void write_answers(const struct connection *c)
{
	const uint8_t other = step.low >> 1;

	for (uint32_t i = 0; i < c->setup.n_regions; i++)
		c->answers[i] = step.low & 1 ? 1 : other;
	for (uint32_t i = 0; i < c->setup.n_patches; i++)
		c->answers[c->setup.n_regions + i] = i % 2 || step.low & 1 ? PATCH_APPLIED : other;
}

/* One answer, or a byte behind them. */
static void write_answer(const struct connection *c)
{
	c->answers[(step.which * 256u + step.how) % c->setup.answers_size] = step.low;
}

/* A word of a page: its modules', or sites. */
static void write_image(const struct connection *c)
{
	const uint64_t value = any_value();

	memcpy(c->image + step.which % 4 * 4096 + step.how * 8, &value, 8);
}

/* --- what the session does
 * ---------------------------------------------------------------------------- */

static void take_update(void)
{
	struct image_update update;

	while (control_next_update(control, &update))
		image_update_free(&update);
}

/* Peers that have been welcomed go: the control waits until nobody is inside, seconds if they stay
 * silent. */
static void change_alone(bool leaves, pid_t pid)
{
	struct attach_report rep = { 0 };
	struct err ignored;

	for (int i = 0; i < PEERS * CONNECTIONS; i++)
		if (peers[i % PEERS].at[i / PEERS].answers || peers[i % PEERS].at[i / PEERS].image)
			hang_up(&peers[i % PEERS].at[i / PEERS]);
	if (leaves)
		control_detach(control, pid, &rep, &ignored);
	else
		control_keep(control, &settings);
}

/* Each peer's next step, as an agent's, on its next connection. */
static void go_on(struct peer_process *p)
{
	struct connection *c = p->at;

	while (c + 1 < p->at + CONNECTIONS && c->said == 3)
		c++;
	switch (c->said++) {
	case 0:
		return say_hello(c);
	case 1:
		return c->answers ? write_answers(c) : (void)0;
	case 2:
		return say_done(c);
	}
}

static void take_step(void)
{
	struct peer_process *p = &peers[step.who % PEERS];
	struct connection *c = &p->at[step.who / PEERS % CONNECTIONS];

	switch (step.what < 200 ? 0 : step.what % 10) {
	case 1:
		return say_hello(c);
	case 2:
		return say_done(c);
	case 3:
		return say_anything(c);
	case 4:
		return hang_up(c);
	case 5:
		return take_update();
	case 6:
		return change_alone(step.how & 1, p->pid);
	case 7:
		return c->answers ? write_answers(c) : (void)0;
	case 8:
		return c->answers ? write_answer(c) : (void)0;
	case 9:
		return c->image ? write_image(c) : (void)0;
	default:
		return go_on(p);
	}
}

static void begin(void)
{
	const struct shared_memory_shape shape = { .mode = MEMORY_STREAM, .settings.tracer = MEMORY_GRAPH, .thread_kb = 256 };
	const struct control_request req = { .settings = &settings, .agent_path = "/no/agent", .memories = &memories,
					     .producers = &no_sources, .tracer = MEMORY_GRAPH };
	struct err err;

	require(memories_begin(&memories, &shape, &err) == 0 && control_start(&req, &control, &err) == 0);
	for (int i = 0; i < PEERS; i++)
		peer_begin(&peers[i]);
}

static void end(void)
{
	control_hear_all(control);
	take_update();
	control_stop(control);
	for (int i = 0; i < PEERS; i++)
		peer_end(&peers[i]);
	memories_end(&memories);
}

static void remove_cache(void)
{
	char *command = mem_printf("rm -r %s", cache);

	require(system(command) == 0);
	free(command);
}

/* Peers have one layout, as forked ones do; and their plans are kept. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	require(personality(ADDR_NO_RANDOMIZE) >= 0 && mkdtemp(cache) && setenv("XDG_CACHE_HOME", cache, 1) == 0);
	atexit(remove_cache);
	settings_init(&settings);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin();
	for (; size >= sizeof(step); data += sizeof(step), size -= sizeof(step)) {
		memcpy(&step, data, sizeof(step));
		take_step();
	}
	end();
	return 0;
}
