/* elsewhere TIMES [LIBRARY]: calls WHICH so often, or the library's work(); TIMES 0: until SIGTERM
 * comes. It says "ready", and at the end "right", or its sum was wrong. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elsewhere.h"

static volatile sig_atomic_t over;

static void end(int sig)
{
	over = sig;
}

static unsigned long own(unsigned long n)
{
	return WHICH(n) + 1;
}

int main(int argc, char **argv)
{
	const unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	unsigned long (*work)(unsigned long) = argc > 2 ? (unsigned long (*)(unsigned long))dlsym(library, "work") : own;

	if (!work)
		return 2;
	signal(SIGTERM, end);
	puts("ready");
	fflush(stdout);
	for (unsigned long i = 0; times ? i < times : !over; i++) {
		if (work(i) != ((i + 55) ^ i) + 1) {
			puts("wrong");
			return 1;
		}
		if (!times)
			usleep(1000);
	}
	puts("right");
	return 0;
}
