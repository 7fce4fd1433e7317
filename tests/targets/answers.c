/* Does what it is told, a line at a time, and says when it is done: what was called between two
 * moments is known exactly.
 *
 *	N     request() once, which calls leaf() N times
 *	tN    the same in a thread of its own
 *	fN    the same in a child
 *	q     ends
 *
 * Every line is answered with "done LEAVES", leaves called by this process since it began. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long leaves;

__attribute__((noinline)) static void leaf(void)
{
	leaves++;
}

__attribute__((noinline)) static void request(unsigned long n)
{
	while (n--)
		leaf();
}

static void *in_thread(void *arg)
{
	request((unsigned long)arg);
	return NULL;
}

static void thread(unsigned long n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, (void *)n))
		abort();
	pthread_join(t, NULL);
}

static void child(unsigned long n)
{
	pid_t pid = fork();

	if (!pid) {
		request(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		if (*line == 't')
			thread(strtoul(line + 1, NULL, 10));
		else if (*line == 'f')
			child(strtoul(line + 1, NULL, 10));
		else
			request(strtoul(line, NULL, 10));
		printf("done %lu\n", leaves);
	}
	return 0;
}
