/* SPDX-License-Identifier: MIT */
/* Reads a byte of /dev/zero again and again, and prints the ticks of one read, the least of many
 * batches: what a probe at vfs_read() costs is the difference of two runs (bench/follow). */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

#define BATCHES 60
#define READS 500

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	uint64_t least = UINT64_MAX;
	char byte;

	for (int i = 0; i < BATCHES; i++) {
		uint64_t began = __rdtsc(), ticks;

		for (int k = 0; k < READS; k++)
			if (read(fd, &byte, 1) != 1)
				return 1;
		ticks = __rdtsc() - began;
		if (ticks < least)
			least = ticks;
	}
	printf("%" PRIu64 "\n", least / READS);
	return 0;
}
