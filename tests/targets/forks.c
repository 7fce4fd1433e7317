/* fork at depth: parent and children go on, return through frames that existed before the
 * fork, and fork again; some children end by _exit, one by a signal. */
#include <signal.h>
#include <sys/wait.h>

#include "truth.h"

TRACED static int work(int n)
{
	int r = n < 2 ? n : work(n - 1) + work(n - 2);

	BARRIER(); /* or the second call becomes a loop */
	return r;
}

static unsigned long work_calls(int n)
{
	return n < 2 ? 1 : 1 + work_calls(n - 1) + work_calls(n - 2);
}

TRACED static pid_t nested_fork(int depth)
{
	pid_t pid = depth ? nested_fork(depth - 1) : fork();

	BARRIER();
	return pid;
}

TRACED static int generation(int n)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = nested_fork(10);
	require(pid >= 0, "fork");
	if (!pid) {
		int below = n ? generation(n - 1) : 0;

		printf("child %d: %d below %d\n", n, work(10), below);
		fflush(stdout);
		_exit(n + 3);
	}
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child's end");
	return WEXITSTATUS(status) + work(5);
}

int main(void)
{
	int status;
	pid_t pid;

	printf("parent: %d\n", generation(4));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		work(8);
		raise(SIGKILL);
	}
	require(waitpid(pid, &status, 0) == pid, "waitpid");
	printf("killed by %d, then %d\n", WTERMSIG(status), work(12));
	truth("work", 5 * (work_calls(10) + work_calls(5)) + work_calls(8) + work_calls(12));
	truth("generation", 5);
	/* each generation's 11 calls happen once, though 2 processes return from them */
	truth("nested_fork", 5 * 11);
	return 0;
}
