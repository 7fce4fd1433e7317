/* SPDX-License-Identifier: MIT */
/* The kernel's files and the importers' are read by it, on the thread that asks. It waits as long
 * as the file does; it has no bound of its own, so that its callers open regular files or the
 * kernel's. */
#include "base/read_all.h"

#include <errno.h>
#include <unistd.h>

#include "base/vec.h"

#define PIECE 65536u

char *read_all(int fd, size_t *n, int *error)
{
	VEC(char) text = { 0 };
	ssize_t got;

	do {
		vec_reserve(&text, text.n + PIECE);
		got = read(fd, text.at + text.n, text.cap - text.n - 1);
		text.n += got > 0 ? (size_t)got : 0;
	} while (got > 0 || (got < 0 && errno == EINTR));
	*error = got < 0 ? errno : 0;
	text.at[text.n] = '\0';
	*n = text.n;
	return text.at;
}
