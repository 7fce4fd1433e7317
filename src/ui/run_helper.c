/* SPDX-License-Identifier: MIT */
/* Called on brace's only thread, before a program is traced. No shell: names of files need no
 * quoting. The caller gets NULL for every failure. */
#include "ui/run_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

extern char **environ;

/* Everything up to the end of the file. The caller frees it. */
static char *read_to_end(int fd)
{
	VEC(char) text = { 0 };
	ssize_t n;

	do {
		vec_reserve(&text, text.n + 4096);
		/* One byte stays for the NUL. */
		n = read(fd, text.at + text.n, 4095);
		text.n += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	text.at[text.n] = '\0';
	return text.at;
}

/* 0, or an errno. */
static int spawn_helper(const char *const *argv, int out, pid_t *pid)
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

char *run_helper(const char *const *argv)
{
	int fd[2], status = -1;
	char *text;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return NULL;
	if (spawn_helper(argv, fd[1], &pid)) {
		close(fd[0]);
		close(fd[1]);
		return NULL;
	}
	/* Only the helper has the write end now: its end is the text's end. */
	close(fd[1]);
	text = read_to_end(fd[0]);
	close(fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* A helper that failed, or died by a signal, has told nothing. */
	if (status) {
		free(text);
		return NULL;
	}
	return text;
}
