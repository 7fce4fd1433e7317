/* SPDX-License-Identifier: MIT */
/* write() to the end: a pipe or a disk that is nearly full takes less than it was given. Signals
 * are no failure. Any thread. */
#include "base/write_all.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n) {
		ssize_t wrote = write(fd, from, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		from += wrote;
		n -= (size_t)wrote;
	}
	return 0;
}
