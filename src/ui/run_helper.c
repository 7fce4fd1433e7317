/* SPDX-License-Identifier: MIT */
/* Called on brace's only thread, before a program is traced. No shell: names of files need no
 * quoting. The caller gets NULL for every failure. */
#include "ui/run_helper.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"

extern char **environ;

/* The length of the text's first n bytes up to the last `end` in them, with it; 0: none. */
static size_t whole_records(const char *text, size_t n, const char *end)
{
	const size_t length = strlen(end);

	while (n && (n < length || memcmp(text + n - length, end, length)))
		n--;
	return n;
}

/* Everything up to the end of the file, or whole records of its first `most` bytes. */
static struct helper_text read_to_end(int fd, size_t most, const char *end)
{
	const struct child_output all = child_read(fd, most, NULL);
	const bool cut = all.n > most;

	if (cut)
		all.text[whole_records(all.text, most, end)] = '\0';
	return (struct helper_text){ .text = all.text, .cut = cut };
}

/* 0, or an errno. */
static int spawn_helper(const char *const *argv, int out, int kept, int discarded, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int e;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, kept);
	posix_spawn_file_actions_addopen(&actions, discarded, "/dev/null", O_WRONLY, 0);
	e = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return e;
}

/* kept: the descriptor of the helper's that is read. */
static struct helper_text run(const char *const *argv, size_t most, const char *end, int kept,
			      int discarded)
{
	struct helper_text out = { 0 };
	int fd[2], status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return out;
	if (spawn_helper(argv, fd[1], kept, discarded, &pid)) {
		close(fd[0]);
		close(fd[1]);
		return out;
	}
	/* Only the helper has the write end now: its end is the text's end. */
	close(fd[1]);
	out = read_to_end(fd[0], most, end);
	close(fd[0]);
	if (out.cut)
		kill(pid, SIGKILL);
	status = child_wait(pid);
	/* A helper that failed, or died by a signal, has told nothing; one whose text was enough
	 * was ended. */
	if (status && !out.cut) {
		free(out.text);
		out.text = NULL;
	}
	return out;
}

struct helper_text run_helper(const char *const *argv, size_t most, const char *end)
{
	return run(argv, most, end, STDOUT_FILENO, STDERR_FILENO);
}

struct helper_text run_helper_errors(const char *const *argv, size_t most, const char *end)
{
	return run(argv, most, end, STDERR_FILENO, STDOUT_FILENO);
}
