/* SPDX-License-Identifier: MIT */
/* Runs `brace start` for brace_session.c, on the host's calling thread. The host may have threads,
 * handlers and children of its own: the command is made by posix_spawn(), so that nothing of the
 * host runs between its fork and its exec, and only that child is waited for. What it says comes
 * through a pipe (--logger-fd), because standard error belongs to the traced program. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "library/library.h"

extern char **environ;

/* --- where the command is ------------------------------------------------------------ */

/* Frees path. True: *out is the path of a program. */
static bool take_program(char *path, char **out)
{
	if (access(path, X_OK) == 0) {
		*out = path;
		return true;
	}
	free(path);
	return false;
}

/* The directory of the file that has this code: the library's, or that of a program with a static
 * copy. free() it; NULL: not known. */
static char *library_directory(void)
{
	const char *slash;
	Dl_info self;

	if (!dladdr((const void *)library_spawn, &self) || !self.dli_fname)
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	return slash ? mem_strndup(self.dli_fname, (size_t)(slash - self.dli_fname)) : NULL;
}

/* In the order: as built (beside the library), as installed (lib, or Debian's lib/TRIPLET), and
 * by PATH. The caller frees it. A brace of another version would speak another protocol: the one
 * that came with this library is tried first. */
static char *find_brace(void)
{
	char *dir = library_directory(), *found = NULL;

	if (!dir || (!take_program(mem_printf("%s/brace", dir), &found) &&
		     !take_program(mem_printf("%s/../bin/brace", dir), &found) &&
		     !take_program(mem_printf("%s/../../bin/brace", dir), &found)))
		found = mem_strdup("brace");
	free(dir);
	return found;
}

/* --- what it says -------------------------------------------------------------------- */

/* More than a sentence and the text at fault ever need; the rest is read and dropped, so that the
 * command does not wait for a reader. */
#define SAID_MAX 4096

/* Reads until the command, and the session that it leaves in the background, have closed their end.
 * *said ends with NUL. */
static void read_words(int fd, char said[SAID_MAX])
{
	char rest[512];
	size_t n = 0;
	ssize_t got;

	do {
		bool full = n == SAID_MAX - 1;

		got = full ? read(fd, rest, sizeof(rest)) : read(fd, said + n, SAID_MAX - 1 - n);
		if (got > 0 && !full)
			n += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	said[n] = '\0';
}

/* The lines of say_error() (ui/say.c): "brace: SENTENCE", and perhaps " INPUT" and " ^" below it.
 * Warnings are passed over. False: there is no error among them. said is taken apart in place.
 * The column is what the caret stands under, two blanks in. */
static bool take_error(char *said, int code)
{
	char *line, *rest = said, *input;
	size_t column;

	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "brace: ", 7) && strncmp(line, "brace: warning: ", 16))
			break;
	if (!line)
		return false;
	input = rest ? strsep(&rest, "\n") : NULL;
	if (!input || strncmp(input, "  ", 2) || !rest || rest[strspn(rest, " ")] != '^') {
		err_set(library_error(), code, "%s", line + 7);
		return true;
	}
	column = strspn(rest, " ") - 2;
	err_at(library_error(), code, input + 2, column < strlen(input + 2) ? column : 0, "%s", line + 7);
	return true;
}

/* The errno of an exit status of brace's own (ui/say.h). */
static int status_code(int status)
{
	if (!WIFEXITED(status))
		return EIO;
	return WEXITSTATUS(status) == 127 ? ENOENT : WEXITSTATUS(status) == 126 ? EACCES : EINVAL;
}

/* --- the run ------------------------------------------------------------------------- */

/* Starts the command with the writing end of the pipe as descriptor `logger`, its own number. 0, or
 * an errno. */
static int spawn_command(char *const *words, int logger, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int e = posix_spawn_file_actions_init(&actions);

	if (e)
		return e;
	/* Onto itself: that takes FD_CLOEXEC away in the child alone. */
	e = posix_spawn_file_actions_adddup2(&actions, logger, logger);
	if (!e)
		e = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return e;
}

/* Waits for that child alone. A host that ignores SIGCHLD, or waits for every child, takes the
 * status away: *status is 0 then, and whether there is a session tells. */
static void await_command(pid_t pid, int *status)
{
	pid_t got;

	do {
		got = waitpid(pid, status, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		*status = 0;
}

/* words->at[0] and [2] are filled in here. 0: the command ended well; else the sentence that it
 * printed is the caller's error. */
int library_spawn(const char *brace, library_words *words)
{
	char *found = brace ? mem_strdup(brace) : find_brace(), said[SAID_MAX];
	char logger[32];
	int ends[2], e, status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC)) {
		e = errno;
		free(found);
		return err_set(library_error(), e, "no pipe: %s", strerror(e));
	}
	snprintf(logger, sizeof(logger), "--logger-fd=%d", ends[1]);
	words->at[0] = found;
	words->at[2] = logger;
	e = spawn_command(words->at, ends[1], &pid);
	close(ends[1]);
	if (!e) {
		read_words(ends[0], said);
		await_command(pid, &status);
	}
	close(ends[0]);
	if (e)
		e = err_set(library_error(), e, "cannot start the command %s: %s", found, strerror(e));
	else if (take_error(said, status_code(status)))
		e = -library_error()->code;
	else if (status)
		e = err_set(library_error(), EIO, "%s start ended with status %d and no word", found,
			    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	free(found);
	return e;
}
