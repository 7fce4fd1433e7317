/* SPDX-License-Identifier: MIT */
/* Blocking transfers on a session's socket, for both sides. Timeouts are the socket's (SO_RCVTIMEO,
 * SO_SNDTIMEO): an expired one looks like a side that is gone. ask.c and request.c call it, each on
 * the thread that owns the socket; no state. */
#include "daemon/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* A signal in the middle does not end a transfer; a timeout (EAGAIN) does, since whoever waited so
 * long does not read any more. */
bool wire_send(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		/* MSG_NOSIGNAL: the reader may have closed. */
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* All n bytes or nothing: a side that closes early gives 0, which is a failure here. */
bool wire_receive(int fd, void *bytes, size_t n)
{
	char *at = bytes;

	while (n) {
		ssize_t got = recv(fd, at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

/* One byte goes along: a stream socket passes descriptors only with data. */
bool wire_send_fd(int fd, int given)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec bytes = { &byte, 1 };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &given, sizeof(int));
	do {
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

/* -1: none came. One byte travels with it, since a message without bytes cannot carry a
 * descriptor. The caller closes it. */
int wire_receive_fd(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec bytes = { &byte, 1 };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	int given = -1;
	ssize_t n;

	do {
		/* Room for exactly one descriptor: the kernel closes any others. */
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&given, CMSG_DATA(c), sizeof(int));
	return given;
}
