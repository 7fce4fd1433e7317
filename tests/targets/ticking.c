/* ticking [N]: calls step(), and leaf() three times in it, until standard input ends or a SIGUSR1
 * comes, or N times. Prints how often it called step(), a line. For live screens: functions of
 * known proportions, as long as a test wants. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline, noclone))
static volatile unsigned long work;
static volatile sig_atomic_t over;

static void end(int sig)
{
	over = 1;
}

KEPT void leaf(void)
{
	for (int i = 0; i < 100; i++)
		work += (unsigned long)i;
}

KEPT void step(void)
{
	for (int i = 0; i < 3; i++)
		leaf();
	work++;
}

/* A millisecond's rest. */
KEPT int goes_on(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return !poll(&in, 1, 1) && !over;
}

int main(int argc, char **argv)
{
	unsigned long most = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, n = 0;

	signal(SIGUSR1, end);
	do {
		step();
		n++;
	} while (most ? n < most && !over : goes_on());
	printf("%lu steps\n", n);
	return 3;
}
