/* SPDX-License-Identifier: MIT */
/* Copies of others' files (file.c, apart.c) and what is given to a helper (fleet/http.c) are such
 * files. Called on any thread. Fails where the kernel has no memory or no descriptor. */
#include "base/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int add_seals(int fd, int seals)
{
	return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int memory_file_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

	if (fd < 0)
		return -errno;
	r = add_seals(fd, F_SEAL_SHRINK);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

int memory_file_seal(int fd)
{
	return add_seals(fd, F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}
