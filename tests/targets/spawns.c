/* vfork and exec, posix_spawn, system, popen, and exec of itself: the child of a vfork runs in
 * the parent's memory and must not take its returns. */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "truth.h"

extern char **environ;

TRACED static int child_step(int n)
{
	BARRIER();
	return n + 1;
}

TRACED static int by_vfork(int code)
{
	int status;
	char text[8];
	pid_t pid;

	snprintf(text, sizeof(text), "%d", code);
	pid = vfork();
	if (!pid) {
		child_step(1);
		execl("/bin/sh", "sh", "-c", "exit $0", text, NULL);
		_exit(child_step(100));
	}
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "vfork's child");
	return WEXITSTATUS(status);
}

TRACED static int by_vfork_exit(int code)
{
	int status;
	pid_t pid = vfork();

	if (!pid)
		_exit(child_step(code));
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "vfork's child");
	return WEXITSTATUS(status);
}

TRACED static int by_spawn(int code)
{
	char text[8], *argv[] = {"sh", "-c", "exit $0", text, NULL};
	int status;
	pid_t pid;

	snprintf(text, sizeof(text), "%d", code);
	require(!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), "posix_spawn");
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "posix_spawn's child");
	return WEXITSTATUS(status);
}

TRACED static int by_popen(int code)
{
	char command[64], line[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "echo out %d; exit %d", code, code);
	f = popen(command, "r");
	require(f && fgets(line, sizeof(line), f), "popen");
	line[strcspn(line, "\n")] = 0;
	printf("%s\n", line);
	return WEXITSTATUS(pclose(f));
}

int main(int argc, char **argv)
{
	int i, sum = 0;

	if (argc > 1) {
		printf("again: %s\n", argv[1]);
		truth("main", 2);
		return 21;
	}
	for (i = 1; i <= 5; i++)
		sum += by_vfork(i) * 1000 + by_vfork_exit(i) * 100 + by_spawn(i) * 10 + by_popen(i);
	printf("sum %d, system %d\n", sum, WEXITSTATUS(system("exit 4")));
	truth("by_vfork", 5);
	truth("by_vfork_exit", 5);
	truth("child_step", 10);
	truth("by_spawn", 5);
	fflush(stdout);
	execl("/proc/self/exe", argv[0], "second", NULL);
	return 98;
}
