/* SPDX-License-Identifier: MIT */
/* The watchdog is a process of its own that ui/cmd/mount.c begins before brace has threads;
 * mounting fails if it cannot be begun. It waits at a pipe whose other end only brace has: read()
 * returns when brace ends, in whatever way. It then looks whether the mount is dead, and detaches
 * it if so. It ignores all signals, so that a signal to brace's process group leaves it. */
#include "tree/unmount_watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/child.h"
#include "tree/mount_point.h"

/* The watchdog's process. A session of its own keeps a terminal's Ctrl-C away. The other end of the
 * pipe is closed when brace has ended, however that happened. */
static void watch_mount(const char *dir, int pipe, int ready)
{
	char c;

	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sig == SIGCHLD ? SIG_DFL : SIG_IGN);
	prctl(PR_SET_NAME, "brace-watchdog");
	dup2(pipe, STDIN_FILENO);
	dup2(ready, STDOUT_FILENO);
	/* No descriptor of brace's may stay open here: a reader would wait for its end. `ready` is
	 * the last to go, because brace goes on when it does. */
	close_range(STDOUT_FILENO + 1, ~0U, 0);
	close(STDOUT_FILENO);
	open("/dev/null", O_WRONLY); /* standard output and error */
	open("/dev/null", O_WRONLY);
	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
	if (mount_point_is_dead(dir))
		mount_point_release(dir, true, NULL);
	_exit(0);
}

/* Two pipes: one ends with brace, the other when the watchdog has closed all that it inherited. */
static int make_pipes(int pipe[2], int ready[2], struct err *err)
{
	int e;

	if (pipe2(pipe, O_CLOEXEC))
		return err_set(err, errno, "no pipe: %s", strerror(errno));
	if (pipe2(ready, O_CLOEXEC) == 0)
		return 0;
	e = err_set(err, errno, "no pipe: %s", strerror(errno));
	close(pipe[0]);
	close(pipe[1]);
	return e;
}

/* Until then the watchdog may hold a lock or a terminal of the one who called brace. */
static void wait_ready(int ready)
{
	char c;

	while (read(ready, &c, 1) < 0 && errno == EINTR)
		;
	close(ready);
}

/* Forks twice, so that the watchdog is no child of brace's: nobody would wait for it. */
int unmount_watchdog_start(const char *dir, struct err *err)
{
	int pipe[2], ready[2], e = make_pipes(pipe, ready, err);
	pid_t pid;

	if (e)
		return e;
	pid = fork();
	if (!pid) {
		close(pipe[1]);
		if (!fork())
			watch_mount(dir, pipe[0], ready[1]);
		_exit(0);
	}
	/* pipe[1] is inherited by nobody (O_CLOEXEC), so that it closes with brace. */
	close(pipe[0]);
	close(ready[1]);
	if (pid < 0) {
		e = err_set(err, errno, "cannot start a process: %s", strerror(errno));
		close(ready[0]);
		return e;
	}
	wait_ready(ready[0]);
	child_wait(pid);
	return 0; /* pipe[1] stays open for as long as brace lives */
}
