/* SPDX-License-Identifier: MIT */
/* Any bytes from somebody who connects to a session: questions whole, cut short, of other
 * versions. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/request.h"
#include "daemon/wire.h"
#include "tree/instance.h"

static int extract(void *context, const char *path, struct err *err)
{
	return 0;
}

static bool is_over(void *context)
{
	return true;
}

static char *programs(void *context)
{
	return strdup("1 init\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree *tree = instance_tree_new();
	const struct serve_request request = { "fuzz", tree, extract, is_over, programs, NULL };
	atomic_bool stopping = true;
	char answer[4096];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		abort();
	size = size < 32768 ? size : 32768; /* the socket takes it at once */
	if (send(ends[0], data, size, MSG_NOSIGNAL) != (ssize_t)size)
		abort();
	shutdown(ends[0], SHUT_WR);
	fcntl(ends[1], F_SETFL, O_NONBLOCK); /* a long answer that nobody takes */
	request_handle(&(struct request_context){ &request, &stopping, -1 }, ends[1]);
	close(ends[1]);
	while (read(ends[0], answer, sizeof(answer)) > 0)
		;
	close(ends[0]);
	instance_tree_free(tree);
	return 0;
}
