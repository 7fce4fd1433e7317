/* SPDX-License-Identifier: MIT */
/* The socket to the tracer: hello, setup reply with four descriptors. init.c, delivery.c and
 * user.c use it on their thread, with signals blocked; attach.c reads a setup reply from a
 * socket that the tracer made. Any failure means that nothing new is traced. */
#include <asm/unistd.h>
#include <linux/socket.h>
#include <linux/un.h>

#include "agent/agent.h"
#include "agent/sys.h"
#include "agent/talk.h"

#define AF_UNIX 1
#define SOCK_SEQPACKET 5
#define SOCK_CLOEXEC 02000000
#define SOL_SOCKET 1
#define SO_PEERCRED 17
#define SCM_RIGHTS 1
#define MSG_CMSG_CLOEXEC 0x40000000
#define MSG_NOSIGNAL 0x4000

extern uint8_t agent_slow_record[], agent_slow_record2[], agent_slow_entry[], agent_slow_site[],
	agent_slow_state_entry[], agent_slow_nonlocal[], agent_intercept_filter[], agent_probe[],
	agent_event[], agent_syscall[], agent_delivery[], agent_arguments[], agent_lock[];
/* Their addresses only. */
extern int agent_find_fde(void), agent_find_object(void), agent_iterate_phdr(void);

struct iov { void *at; size_t bytes; };
struct msg {
	void *name;
	uint32_t name_len;
	struct iov *iov;
	size_t n_iov;
	void *control;
	size_t control_len;
	uint32_t flags;
};
struct control_message { size_t len; int level, type; int fds[TALK_FDS]; };

/* True if the peer is root or the process's own user. After the tracer's end another process could
 * bind its address, and a setup reply brings code. */
static bool is_trusted(int fd)
{
	struct { int32_t pid; uint32_t uid, gid; } who = { 0, ~0u, ~0u };
	uint32_t n = sizeof(who);

	return sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
	       (who.uid == 0 || who.uid == (uint32_t)sys0(__NR_geteuid));
}

/* `@` stands for the NUL of an abstract address. */
int talk_connect(const char *way)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	long fd;
	size_t n = 0;

	for (; way[n] && way[n] != PROTOCOL_TOKEN_MARK; n++) {
		if (n + 1 >= sizeof(to.sun_path))
			return -1;
		to.sun_path[n] = way[n];
	}
	if (way[0] == '@')
		to.sun_path[0] = 0;
	fd = sys3(__NR_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (sys3(__NR_connect, fd, &to, sizeof(to.sun_family) + n) < 0 || !is_trusted((int)fd)) {
		sys1(__NR_close, fd);
		return -1;
	}
	return (int)fd;
}

/* Behind the address. One that is shorter is none, and the tracer says so. */
static void say_token(const char *way, char token[PROTOCOL_TOKEN])
{
	while (*way && *way++ != PROTOCOL_TOKEN_MARK)
		;
	for (unsigned i = 0; i < PROTOCOL_TOKEN && way[i]; i++)
		token[i] = way[i];
}

bool talk_hello(int fd, const char *way, enum protocol_request request, uint64_t handler)
{
	struct protocol_hello h = {
		.request = request,
		.version = PROTOCOL_VERSION,
		.image = request == PROTOCOL_HELLO ? MEMORY_NONE : agent.image_id,
		.tls = agent.tls_offset,
		.flags = agent.flags,
		.key = agent.key,
		.table = (uint64_t)agent_table,
		.arena = (uint64_t)agent.arena,
		.slow_record = (uint64_t)agent_slow_record,
		.slow_record2 = (uint64_t)agent_slow_record2,
		.slow_entry = (uint64_t)agent_slow_entry,
		.slow_site = (uint64_t)agent_slow_site,
		.state_entry = (uint64_t)agent_slow_state_entry,
		.slow_nonlocal = (uint64_t)agent_slow_nonlocal,
		.intercept_filter = (uint64_t)agent_intercept_filter,
		.probe = (uint64_t)agent_probe, .event = (uint64_t)agent_event,
		.syscall = (uint64_t)agent_syscall,
		.delivery = (uint64_t)agent_delivery, .handler = handler,
		.arguments = (uint64_t)agent_arguments, .lock = (uint64_t)agent_lock,
		.find_fde = (uint64_t)agent_find_fde,
		.find_object = (uint64_t)agent_find_object,
		.iterate_phdr = (uint64_t)agent_iterate_phdr,
	};

	say_token(way, h.token);
	return sys6(__NR_sendto, fd, (long)&h, sizeof(h), MSG_NOSIGNAL, 0, 0) == sizeof(h);
}

void talk_wait(int fd)
{
	uint8_t byte;
	struct iov iov = { &byte, sizeof(byte) };
	struct msg m = { .iov = &iov, .n_iov = 1 };
	long n;

	do {
		n = sys3(__NR_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	} while (n == -4 /* EINTR */);
}

bool talk_setup(int fd, struct protocol_setup *w, int fds[TALK_FDS])
{
	struct control_message c = { 0 };
	struct iov iov = { w, sizeof(*w) };
	struct msg m = { .iov = &iov, .n_iov = 1, .control = &c, .control_len = sizeof(c) };
	long n;

	do {
		n = sys3(__NR_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	} while (n == -4 /* EINTR */);
	if (n != sizeof(*w) || !w->trace || c.type != SCM_RIGHTS || c.len != 16 + sizeof(c.fds)) {
		/* With few free descriptors only some of them arrive. */
		for (unsigned i = 0; c.type == SCM_RIGHTS && 16 + i * sizeof(int) < c.len; i++)
			sys1(__NR_close, c.fds[i]);
		return false;
	}
	for (int i = 0; i < TALK_FDS; i++)
		fds[i] = c.fds[i];
	return true;
}
