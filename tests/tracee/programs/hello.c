/* A static program's account of itself: its arguments, a constructor, a thread-local, its
 * signals. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __thread int mine = 5;
static int constructed;

static __attribute__((constructor)) void construct(void)
{
	constructed = 1;
}

int main(int argc, char **argv)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("%d %s %s %d %d %d\n", argc, argv[argc - 1], getenv("BRACE_TEST"), constructed, mine, sigismember(&mask, SIGUSR1));
	return 7;
}
