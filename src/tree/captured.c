/* SPDX-License-Identifier: MIT */
#include "tree/captured.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void captured_begin(struct captured *c)
{
	fflush(stderr);
	c->file = memfd_create("stderr", MFD_CLOEXEC);
	c->saved = c->file < 0 ? -1 : dup(STDERR_FILENO);
	if (c->file >= 0)
		dup2(c->file, STDERR_FILENO);
}

/* fusermount3 says most at last; a prefix names the program, which is not ours. */
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

void captured_end(struct captured *c, char *text, unsigned size)
{
	char all[1024] = "";

	fflush(stderr);
	if (c->saved >= 0) {
		dup2(c->saved, STDERR_FILENO);
		close(c->saved);
	} else if (c->file >= 0) {
		close(STDERR_FILENO); /* it was closed before */
	}
	if (c->file >= 0) {
		off_t end = lseek(c->file, 0, SEEK_END), begin = end > (off_t)sizeof(all) - 1 ? end - (off_t)sizeof(all) + 1 : 0;
		ssize_t n = pread(c->file, all, sizeof(all) - 1, begin);

		all[n > 0 ? n : 0] = '\0';
		close(c->file);
	}
	snprintf(text, size, "%s", last_line(all));
}
