/* SPDX-License-Identifier: MIT */
/* Used over the socket thread's sockets (session/setup.c) and over those in attached processes
 * (agent_layout.c). A peer that is gone gives EPIPE, not a signal. */
#include "inject/setup_reply.h"

#include <string.h>
#include <sys/socket.h>

bool setup_reply_send(int fd, const struct protocol_setup *w, const int fds[SETUP_REPLY_FDS])
{
	struct iovec iov = { (void *)w, sizeof(*w) };
	union {
		struct cmsghdr h;
		char bytes[CMSG_SPACE(SETUP_REPLY_FDS * sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(SETUP_REPLY_FDS * sizeof(int));
	memcpy(CMSG_DATA(h), fds, SETUP_REPLY_FDS * sizeof(int));
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*w);
}
