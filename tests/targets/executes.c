/* Executes a program in the way the first argument says: what it runs is to be traced on by any of
 * them. Fails first: names that are not there, a file that is no program. */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

extern char **environ;

TRACED static int tries(const char *path, char **argv)
{
	execve(path, argv, environ);
	return errno;
}

static void by_execve(char **argv) { execve(argv[0], argv, environ); }
static void by_execv(char **argv) { execv(argv[0], argv); }
static void by_empty(char **argv)
{
	char *nothing[] = { NULL };

	execve(argv[0], argv, nothing);
}
static void by_execveat(char **argv)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	execveat(root, argv[0] + 1, argv, environ, 0);
}
static void by_fexecve(char **argv) { fexecve(open(argv[0], O_RDONLY | O_CLOEXEC), argv, environ); }
static void by_path(char **argv) { fexecve(open(argv[0], O_PATH | O_CLOEXEC), argv, environ); }
static void by_syscall(char **argv) { syscall(SYS_execve, argv[0], argv, environ); }
static void by_syscall_at(char **argv) { syscall(SYS_execveat, AT_FDCWD, argv[0], argv, environ, 0); }

static void ends_as(pid_t pid)
{
	int status = 0;

	require(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child");
	exit(WEXITSTATUS(status));
}

static void by_vfork(char **argv)
{
	pid_t pid = vfork();

	if (!pid) {
		execve(argv[0], argv, environ);
		_exit(127);
	}
	ends_as(pid);
}

static void by_posix_spawn(char **argv)
{
	pid_t pid = 0;

	require(!posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), "posix_spawn");
	ends_as(pid);
}

static void by_system(char **argv)
{
	int status = system(argv[0]);

	require(WIFEXITED(status), "system");
	exit(WEXITSTATUS(status));
}

static void by_popen(char **argv)
{
	char line[256];
	FILE *f = popen(argv[0], "r");

	require(f != NULL, "popen");
	while (fgets(line, sizeof(line), f))
		fputs(line, stdout);
	exit(WEXITSTATUS(pclose(f)));
}

static const struct { const char *name; void (*execute)(char **argv); } ways[] = {
	{ "execve", by_execve }, { "execv", by_execv }, { "empty", by_empty }, { "execveat", by_execveat },
	{ "fexecve", by_fexecve }, { "path", by_path }, { "syscall", by_syscall }, { "syscallat", by_syscall_at },
	{ "vfork", by_vfork }, { "spawn", by_posix_spawn }, { "system", by_system }, { "popen", by_popen },
};

int main(int argc, char **argv)
{
	require(argc > 2, "two arguments");
	printf("%d %d %d\n", tries("/nowhere/at/all", argv), tries("/etc/passwd", argv), tries("/", argv));
	truth("tries", 3);
	fflush(stdout);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, argv[1]))
			ways[i].execute(argv + 2);
	return 126;
}
