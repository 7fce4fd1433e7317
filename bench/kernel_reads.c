/* SPDX-License-Identifier: MIT */
/* A loop of calls that each read one byte of /dev/zero, in batches. Prints nanoseconds a call of
 * the quickest batch: in an emulated machine that others share, only the least of many is steady.
 *
 * kernel_reads BATCHES */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CALLS 500 /* of a batch */

__attribute__((noipa)) static long one_read(int fd, char *to)
{
	return read(fd, to, 1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const int batches = argc > 1 ? atoi(argv[1]) : 60, fd = open("/dev/zero", O_RDONLY);
	uint64_t least = UINT64_MAX;
	char byte;

	for (int i = 0; i < batches; i++) {
		const uint64_t begun = now_ns();
		uint64_t ns;

		for (int k = 0; k < CALLS; k++)
			if (one_read(fd, &byte) != 1)
				return 1;
		ns = now_ns() - begun;
		least = ns < least ? ns : least;
	}
	printf("%.0f\n", (double)least / CALLS);
	return 0;
}
