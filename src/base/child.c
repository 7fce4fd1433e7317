/* SPDX-License-Identifier: MIT */
/* Called by whoever started a child, on that thread: the commands, the requests of fleets, a mount.
 * A failure shows in the child's status, or in an output that ends early. */
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

/* Milliseconds between two looks at stop. A signal that comes just before poll() does not end it,
 * hence a limit. */
#define LOOK_MS 100
#define READ_BYTES 65536u

/* Waits for bytes, or the end. False: stop is asked. */
static bool wait_for_bytes(int fd, const struct stop *stop)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (!stop_asked(stop)) {
		const int n = poll(&p, 1, stop ? LOOK_MS : -1);

		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
	}
	return false;
}

struct child_output child_read(int fd, size_t most, const struct stop *stop)
{
	VEC(char) text = { 0 };
	bool goes_on;
	ssize_t n = 0;

	do {
		vec_reserve(&text, text.n + READ_BYTES);
		goes_on = wait_for_bytes(fd, stop);
		/* One byte stays for the NUL. */
		if (goes_on)
			n = read(fd, text.at + text.n, READ_BYTES - 1);
		text.n += goes_on && n > 0 ? (size_t)n : 0;
	} while (goes_on && ((n > 0 && text.n <= most) || (n < 0 && errno == EINTR)));
	text.at[text.n] = '\0';
	return (struct child_output){ .text = text.at, .n = text.n, .stopped = !goes_on };
}

int child_wait(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
