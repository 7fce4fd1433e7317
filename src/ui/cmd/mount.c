/* brace mount: serves ftrace's tree on a directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tree/fuse_face.h"
#include "tree/instance.h"
#include "tree/keeper.h"
#include "tree/mount_point.h"
#include "ui/commands.h"
#include "ui/say.h"

static struct fuse_face *served; /* for the signal handler */

static void on_signal(int sig)
{
	fuse_face_stop(served);
}

/* SIGPIPE: a reader that goes away is no reason to end. Signals that were ignored stay so. */
static void catch_signals(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction act = { .sa_handler = on_signal }, now;

	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (!sigaction(ending[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(ending[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* What the server tells who started it: the directory is there, or why not. Then it has no terminal. */
static void report_start(int fd, const struct err *err)
{
	int null;

	if (fd < 0)
		return;
	while (write(fd, err, sizeof(*err)) < 0 && errno == EINTR)
		;
	close(fd);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
}

/* Mounts and serves to the end. 0 or -errno and *err, which `told` has heard if it came before serving. */
static int serve(const char *path, int told, struct err *err)
{
	struct tree *tree = instance_tree_new();
	struct err none = { 0 };
	int e = keeper_start(path, err);

	if (!e)
		e = fuse_face_mount(tree, path, &served, err);
	if (!e)
		catch_signals();
	report_start(told, e ? err : &none);
	if (!e) {
		e = fuse_face_serve(served, err);
		fuse_face_free(served);
	}
	instance_tree_free(tree);
	return e;
}

/* What the server reported; it went without a word if it was killed. */
static int await_start(int fd, struct err *err)
{
	ssize_t n;

	do {
		n = read(fd, err, sizeof(*err));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*err))
		err_set(err, EIO, "the process that serves the tree ended before it had begun");
	return -err->code;
}

static int serve_in_background(const char *path, struct err *err)
{
	struct err of_server;
	int pipe[2], e;
	pid_t pid;

	if (pipe2(pipe, O_CLOEXEC))
		return err_set(err, errno, "no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return err_set(err, errno, "cannot start a process: %s", strerror(errno));
	if (!pid) {
		close(pipe[0]);
		setsid();
		if (chdir("/"))
			_exit(EXIT_BRACE);
		_exit(serve(path, pipe[1], &of_server) ? EXIT_BRACE : 0);
	}
	close(pipe[1]);
	e = await_start(pipe[0], err);
	close(pipe[0]);
	if (e)
		waitpid(pid, NULL, 0);
	return e;
}

int cmd_mount(struct invocation *inv)
{
	struct err err = { 0 };
	char *path;
	int e = mount_point_take(inv->operands[0], &path, &err);

	if (e)
		return say_error(&err);
	e = inv->foreground ? serve(path, -1, &err) : serve_in_background(path, &err);
	free(path);
	return e ? say_error(&err) : 0;
}
