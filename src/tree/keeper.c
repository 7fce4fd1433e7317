/* SPDX-License-Identifier: MIT */
#include "tree/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree/mount_point.h"

/* In a session of its own, where no terminal's Ctrl-C comes. The other end of the pipe is closed when
 * brace is gone, however it went. */
static void keep(const char *dir, int pipe)
{
	char c;

	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sig == SIGCHLD ? SIG_DFL : SIG_IGN);
	prctl(PR_SET_NAME, "brace-keeper");
	dup2(pipe, STDIN_FILENO);
	close_range(STDIN_FILENO + 1, ~0U, 0);
	open("/dev/null", O_WRONLY); /* standard output and error */
	open("/dev/null", O_WRONLY);
	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
	if (mount_point_is_dead(dir))
		mount_point_release(dir, true, NULL);
	_exit(0);
}

/* Twice, so that it is no child of brace's: nobody waits for it. */
int keeper_start(const char *dir, struct err *err)
{
	int pipe[2];
	pid_t pid;

	if (pipe2(pipe, O_CLOEXEC))
		return err_set(err, errno, "no pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(pipe[1]);
		if (!fork())
			keep(dir, pipe[0]);
		_exit(0);
	}
	close(pipe[0]);
	if (pid < 0)
		return err_set(err, errno, "cannot start a process: %s", strerror(errno));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0; /* pipe[1] stays open for as long as brace lives */
}
