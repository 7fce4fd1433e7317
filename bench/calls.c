/* SPDX-License-Identifier: MIT */
/* System calls, and nothing else: `calls N` prints what one cost, by the thread's own time; under
 * strace, of which most passes in another process, `calls N real` by the clock's. `calls N own
 * path` makes calls that are given a path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	clockid_t clock = argc > 2 && strcmp(argv[2], "real") == 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	struct timespec from, to;

	clock_gettime(clock, &from);
	for (long i = 0; i < n && argc <= 3; i++)
		getppid();
	for (long i = 0; i < n && argc > 3; i++)
		access("/etc/passwd", R_OK);
	clock_gettime(clock, &to);
	printf("%.2f ns a call\n", ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)n);
	return 0;
}
