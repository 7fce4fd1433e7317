/* SPDX-License-Identifier: MIT */
/* Any bytes as a program with a configuration attached: it is refused, or its configuration has at
 * most the bytes that it may have. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/attached.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	char bytes[4096];
	struct err err;

	if (write(fd, data, n) != (ssize_t)n)
		abort();
	if (attached_read(fd, "program", bytes, sizeof(bytes), &err) > (int)sizeof(bytes))
		abort();
	close(fd);
	return 0;
}
