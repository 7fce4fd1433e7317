/* SPDX-License-Identifier: MIT */
#include "ui/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

extern char **environ;

static char *read_all(int fd)
{
	VEC(char) text = { 0 };
	ssize_t n;

	do {
		vec_reserve(&text, text.n + 4096);
		n = read(fd, text.at + text.n, 4095);
		text.n += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	text.at[text.n] = '\0';
	return text.at;
}

static int spawn(const char *const *argv, int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int e;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	e = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return e;
}

char *capture(const char *const *argv)
{
	int fd[2], status = -1;
	char *text;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return NULL;
	if (spawn(argv, fd[1], &pid)) {
		close(fd[0]);
		close(fd[1]);
		return NULL;
	}
	close(fd[1]);
	text = read_all(fd[0]);
	close(fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status) {
		free(text);
		return NULL;
	}
	return text;
}
