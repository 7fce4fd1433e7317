#include "daemon/wire.h"

#include <errno.h>
#include <sys/socket.h>

bool wire_send(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
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
