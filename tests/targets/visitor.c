/* A visitor of a session's socket who does not behave: visitor SOCKET WAY TIMES. It holds TIMES
 * connections until it is ended, says "ready" when all of them stand, and "sent away" when one is
 * closed.
 *   silent: says nothing
 *   slow:   a byte a second
 *   unread: asks for the trace and does not read it
 *   stands: has the stream of trace_pipe, and does not read it */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/wire.h"

enum { MANY = 256 };

static struct pollfd fds[MANY];

static void ask(int fd, uint32_t request, const char *path)
{
	const struct wire_question q = { .magic = WIRE_MAGIC, .request = request, .path_bytes = (uint32_t)strlen(path) };

	if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q) || send(fd, path, strlen(path), MSG_NOSIGNAL) != (ssize_t)strlen(path))
		exit(3);
}

int main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const char *way = argc > 2 ? argv[2] : "";
	int n = argc > 3 ? atoi(argv[3]) : 1, told = 0;
	const unsigned char byte = 'b';

	if (argc < 2 || n > MANY)
		return 2;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", argv[1]);
	for (int i = 0; i < n; i++) {
		fds[i] = (struct pollfd){ .fd = socket(AF_UNIX, SOCK_STREAM, 0), .events = POLLRDHUP };
		if (fds[i].fd < 0 || connect(fds[i].fd, (struct sockaddr *)&at, sizeof(at)) < 0)
			return 3;
		if (strcmp(way, "unread") == 0)
			ask(fds[i].fd, WIRE_CAT, "trace");
		if (strcmp(way, "stands") == 0)
			ask(fds[i].fd, WIRE_STREAM, "trace_pipe");
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (poll(fds, (nfds_t)n, 1000) > 0 && !told++) {
			puts("sent away");
			fflush(stdout);
		}
		for (int i = 0; i < n && strcmp(way, "slow") == 0; i++)
			if (send(fds[i].fd, &byte, 1, MSG_NOSIGNAL) < 0)
				fds[i].fd = -1;
		for (int i = 0; i < n; i++)
			if (fds[i].revents)
				fds[i].fd = -1;
	}
}
