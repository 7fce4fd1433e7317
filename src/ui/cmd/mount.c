/* brace mount: serves ftrace's tree on a directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/live.h"
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

/* What the server tells who started it: the directory is there, or why not. Then it has no terminal, and no
 * place of its own. */
static void report_start(int fd, const struct err *err)
{
	int null;

	if (fd < 0)
		return;
	while (write(fd, err, sizeof(*err)) < 0 && errno == EINTR)
		;
	close(fd);
	if (chdir("/"))
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
}

/* As the command line's options say: each is a write to a file. */
static int write_settings(const struct invocation *inv, struct tree *tree, struct err *err)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];
		int e = tree_echo(tree, w->file, w->text, w->append, err);

		if (e)
			return e;
		if (inv->verbose)
			say("brace: echo %s %s %s\n", w->text, w->append ? ">>" : ">", w->file);
	}
	return 0;
}

/* Programs, if there are to be any. */
static int start_programs(const struct invocation *inv, struct tree *tree, struct live **live, struct err *err)
{
	const struct live_request req = { .argv = inv->pids.n ? NULL : inv->operands + 1, .pids = inv->pids.at,
					  .n_pids = inv->pids.n };

	return inv->pids.n || inv->n_operands > 1 ? live_start(&req, tree, live, err) : 0;
}

/* Mounts and serves to the end. 0 or -errno and *err, which `told` has heard if it came before serving. */
static int serve(const struct invocation *inv, const char *path, int told, struct err *err)
{
	struct tree *tree = instance_tree_new();
	struct live *live = NULL;
	struct err none = { 0 };
	int e = write_settings(inv, tree, err);

	if (!e)
		e = keeper_start(path, err);
	if (!e)
		e = fuse_face_mount(tree, path, &served, err);
	if (!e)
		e = start_programs(inv, tree, &live, err);
	if (!e)
		catch_signals();
	report_start(told, e ? err : &none);
	if (!e)
		e = fuse_face_serve(served, err);
	live_stop(live);
	if (served)
		fuse_face_free(served);
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

static int serve_in_background(const struct invocation *inv, const char *path, struct err *err)
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
		_exit(serve(inv, path, pipe[1], &of_server) ? EXIT_BRACE : 0);
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
	int e;

	if (inv->pids.n && inv->n_operands > 1) {
		say("brace: mount either runs a program or attaches with -p, not both\n");
		return EXIT_BRACE;
	}
	e = mount_point_take(inv->operands[0], &path, &err);
	if (e)
		return say_error(&err);
	e = inv->foreground ? serve(inv, path, -1, &err) : serve_in_background(inv, path, &err);
	free(path);
	return e ? say_error(&err) : 0;
}
