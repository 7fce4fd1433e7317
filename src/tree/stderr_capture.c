/* SPDX-License-Identifier: MIT */
/* Redirects file descriptor 2 for the whole process, for the moment of a mount or unmount. Failures
 * are not reported: the message is lost then, and the caller has a sentence of its own.
 * fuse_mount.c and mount_point.c call it, on the thread that mounts or unmounts. The file needs no
 * seals: helpers have to write to it, it is read and never mapped, and its text is foreign. */
#include "tree/stderr_capture.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* fflush() first: text from before must not come into the capture. -1 in c->saved, with a file:
 * descriptor 2 was closed, and is closed again at the end. */
void stderr_capture_begin(struct stderr_capture *c)
{
	fflush(stderr);
	c->file = memfd_create("stderr", MFD_CLOEXEC);
	c->saved = c->file < 0 ? -1 : dup(STDERR_FILENO);
	if (c->file >= 0)
		dup2(c->file, STDERR_FILENO);
}

/* The last line has the reason; the prefix names a program that the user did not call. */
static const char *last_line(char *text)
{
	static const char *const prefixes[] = { "fusermount3: ", "fuse: ", "umount: " };
	size_t n = strlen(text);
	const char *line;

	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
			return line + strlen(prefixes[i]);
	return line;
}

void stderr_capture_end(struct stderr_capture *c, char *text, unsigned size)
{
	char all[1024] = "";

	fflush(stderr);
	if (c->saved >= 0) {
		dup2(c->saved, STDERR_FILENO);
		close(c->saved);
	} else if (c->file >= 0) {
		close(STDERR_FILENO); /* was closed before */
	}
	if (c->file >= 0) {
		/* Only the end is kept: a long output must not be read into a small buffer. */
		off_t end = lseek(c->file, 0, SEEK_END),
		      begin = end > (off_t)sizeof(all) - 1 ? end - (off_t)sizeof(all) + 1 : 0;
		ssize_t n = pread(c->file, all, sizeof(all) - 1, begin);

		all[n > 0 ? n : 0] = '\0';
		close(c->file);
	}
	snprintf(text, size, "%s", last_line(all));
}
