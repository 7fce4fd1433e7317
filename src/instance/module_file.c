/* SPDX-License-Identifier: MIT */
/* A path may lead to another file than the one whose functions a trace has: another build was
 * installed, or the path is of another mount namespace. frames.c asks on the pump's thread, for
 * unwind tables; variables.c on a reader's, for kallsyms. */
#include "instance/module_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "image/mapped_file.h"
#include "sym/file_key.h"

/* A module without a build-id is taken at its word. */
static bool is_build(int fd, const struct trace_module *m)
{
	struct file_key key;

	return !m->build_id_len ||
	       (file_key_read(fd, m->path, "", &key) && key.build_id_len == m->build_id_len &&
		memcmp(key.build_id, m->build_id, m->build_id_len) == 0);
}

int module_file_open(pid_t pid, const struct trace_module *m)
{
	struct err ignored;
	int fd = mapped_file_at(pid, m->start, &ignored);

	if (fd == -ESRCH)
		fd = file_open(m->path, &ignored);
	if (fd >= 0 && !is_build(fd, m)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}
