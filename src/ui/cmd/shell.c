/* SPDX-License-Identifier: MIT */
/* brace shell: runs a command that finds ftrace's tree where the kernel's would be. The command
 * runs in namespaces of its own. brace stays outside, where the processes to be traced are, and
 * serves the tree, or has a session in the background serve its own. The two sides talk over a
 * socket pair; if either one fails, the command is not run. On the main thread, but for the
 * waiter's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/child.h"
#include "base/child_signal.h"
#include "daemon/ask.h"
#include "instance/instances.h"
#include "tree/fuse_mount.h"
#include "tree/instance.h"
#include "tree/view.h"
#include "ui/background.h"
#include "ui/commands.h"
#include "ui/outside_totals.h"
#include "ui/say.h"
#include "ui/session_set.h"
#include "ui/run.h"
#include "ui/run_environment.h"

/* --- the command's side --------------------------------------------------------------- */

/* Sends the FUSE connection to brace, or the error. */
static void send_connection(int socket, int fuse, const struct err *err)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { (void *)err, sizeof(*err) };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fuse >= 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fuse, sizeof(int));
	}
	if (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		_exit(EXIT_BRACE); /* brace has gone */
	if (fuse >= 0)
		close(fuse); /* only brace's copy is left, so the connection ends with brace */
}

/* Waits until brace serves. Its end without a word means that it could not, and has told why. */
static void await_server(int socket)
{
	char c;
	ssize_t n;

	do {
		n = read(socket, &c, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_BRACE);
	close(socket);
}

/* In the child: enters the namespaces, waits until the tree is served, and becomes the command. It
 * does not return. A failure is said here, or sent to brace, which then says it. */
static void run_command(char **argv, int socket)
{
	struct err err = { 0 };
	int fuse = -1, e = view_enter(&fuse, &err);

	send_connection(socket, fuse, &err);
	if (e)
		_exit(EXIT_BRACE);
	await_server(socket);
	if (view_finish(&err))
		_exit(say_error(&err));
	child_signal_give_back();
	execvp(argv[0], argv);
	e = errno;
	say("brace: cannot run %s: %s\n", argv[0], strerror(e));
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* --- brace's side --------------------------------------------------------------------- */

static pid_t command; /* for the signal handler */

/* Passes signals on to the command. A terminal (SI_KERNEL) sends them to the command itself,
 * too. */
static void pass_on(int sig, siginfo_t *from, void *context)
{
	int e = errno;

	if (from->si_code != SI_KERNEL)
		kill(command, sig);
	errno = e;
}

/* The command decides what a signal means: brace lives until its end, whatever comes. */
static void catch_signals(void)
{
	static const int passed[] = { SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };
	struct sigaction act = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART },
			 now;

	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (!sigaction(passed[i], NULL, &now) && now.sa_handler == SIG_DFL) /* nohup */
			sigaction(passed[i], &act, NULL);
	child_signal_survive(SIGPIPE);
}

/* Waits for the child's message: 0 and the FUSE connection in *fuse, or -errno and *err, the
 * child's own error if it has sent one. */
static int receive_connection(int socket, int *fuse, struct err *err)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { err, sizeof(*err) };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	c = n == sizeof(*err) ? CMSG_FIRSTHDR(&m) : NULL;
	if (n == sizeof(*err) && err->code)
		return -err->code;
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return err_set(err, EIO,
			       "the process that was to run the command ended before it had begun");
	memcpy(fuse, CMSG_DATA(c), sizeof(int));
	return 0;
}

/* The thread that waits for the command, and what it found. */
struct waiter {
	struct fuse_mount *mount;
	int status;
};

/* The tree stands as long as the command runs. */
static void *await_command(void *arg)
{
	struct waiter *w = arg;

	w->status = child_wait(command);
	fuse_mount_stop(w->mount);
	return NULL;
}

/* A new thread has its creator's mask: there is no moment at which it could take a signal. */
static int start_waiter(struct waiter *w, pthread_t *thread, struct err *err)
{
	sigset_t all, before;
	int e;

	/* Signals are for the main thread: pass_on() may interrupt only its calls. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(thread, NULL, await_command, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e ? err_set(err, e, "cannot start a thread: %s", strerror(e)) : 0;
}

/* Serves until the command has ended. 0 and its wait status, or -errno and *err. */
static int serve_to_the_end(struct tree *tree, int fuse, int socket, int *status, struct err *err)
{
	char path[32];
	struct waiter w = { 0 };
	pthread_t thread;
	int e;

	/* libfuse takes a connection that is open already by such a path. */
	snprintf(path, sizeof(path), "/dev/fd/%d", fuse);
	e = fuse_mount_start(tree, path, &w.mount, err);
	if (e)
		return e;
	e = start_waiter(&w, &thread, err);
	if (!e) {
		while (write(socket, "", 1) < 0 && errno == EINTR)
			;
		e = fuse_mount_serve(w.mount, err);
		/* The command may have unmounted the tree, and still run. */
		pthread_join(thread, NULL);
		*status = w.status;
	}
	fuse_mount_free(w.mount);
	return e;
}

/* Splits --run's text into words, as a shell would. NULL and *err on failure; else the caller calls
 * wordfree. */
static char **words_of(const char *text, wordexp_t *words, struct err *err)
{
	int e = wordexp(text, words, WRDE_NOCMD);

	if (!e && words->we_wordc && *words->we_wordv[0])
		return words->we_wordv;
	if (!e)
		wordfree(words);
	err_at(err, EINVAL, text, 0,
	       e == WRDE_BADCHAR
		       ? "--run: |, &, ;, <, > and brackets stand in quotes; brace starts one program"
	       : e == WRDE_CMDSUB ? "--run: no command substitution is done"
	       : e		  ? "--run: a quote without its end"
				  : "--run needs a program's name");
	return NULL;
}

/* Gives up the terminal's input, which is the command's. */
static void take_no_input(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (null > STDIN_FILENO)
		close(null);
}

/* The time that a program has to end itself. */
#define END_MS 2000

/* Ends the program of --run, as a debugger that quits does: it was started for the command. By
 * SIGTERM, so that it may put its things in order, or go on if it ignores that. It may have ended;
 * nobody else waits for it any more. */
static void end_program(pid_t pid)
{
	siginfo_t is = { 0 };
	int fd;

	if (pid <= 0 || waitid(P_PID, (id_t)pid, &is, WEXITED | WNOHANG | WNOWAIT) || is.si_pid)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
	while (fd >= 0 && poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, END_MS) < 0 &&
	       errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
	if (waitpid(pid, NULL, WNOHANG) == 0)
		say("brace: process %d, the program of --run, goes on: SIGTERM has not ended it\n",
		    (int)pid);
}

/* Serves a tree of brace's own, over attached processes, the program argv, or nothing. Attached
 * processes go on when the command has ended; a program that was started for it is ended. */
static int serve_own(const struct invocation *inv, char *const *argv, int fuse, int socket,
		     int *status, struct err *err)
{
	struct tree *tree;
	struct instances *instances = NULL;
	struct run_environment environment = { 0 };
	pid_t program = 0;
	int e;

	argv = run_environment_begin(&environment, argv);
	if (background_check(inv, argv)) {
		run_environment_end(&environment);
		run_environment_free(&environment);
		return err_set(err, EINVAL, "nothing of what is named would be traced");
	}
	tree = instance_tree_new();
	e = background_set_up(inv, argv, tree, err);
	if (argv)
		take_no_input();
	if (!e)
		e = background_trace(inv, argv, tree, &instances, err);
	run_environment_end(&environment);
	if (!e)
		e = serve_to_the_end(tree, fuse, socket, status, err);
	if (argv && instances)
		program = session_pid(instances_session(instances));
	outside_totals_say(tree, false);
	instances_stop(instances);
	instance_tree_free(tree);
	end_program(program);
	run_environment_free(&environment);
	return e;
}

/* Has the session in the background serve its own tree on the connection. */
static int serve_session(const struct invocation *inv, int fuse, int socket, int *status,
			 struct err *err)
{
	int e = session_set(inv, err), session = e ? e : ask_mount(inv->session, fuse, err);

	close(fuse);
	if (session < 0)
		return session;
	while (write(socket, "", 1) < 0 && errno == EINTR)
		;
	*status = child_wait(command);
	close(session);
	return 0;
}

/* Chooses the tree: a session's if one is named, or runs and nothing else is asked for; else one of
 * brace's own. */
static int serve_shell(const struct invocation *inv, int fuse, int socket, int *status,
		       struct err *err)
{
	wordexp_t words;
	char **argv;
	int e;

	if (inv->session_named || (!inv->pids.n && !inv->run && ask_is_there(inv->session)))
		return serve_session(inv, fuse, socket, status, err);
	if (!inv->run)
		return serve_own(inv, NULL, fuse, socket, status, err);
	argv = words_of(inv->run, &words, err);
	if (!argv)
		return -err->code;
	e = serve_own(inv, argv, fuse, socket, status, err);
	wordfree(&words);
	return e;
}

/* Forks before brace has threads. The parent's end of the socket is in *socket. */
static int start_command(char **argv, int *socket, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return err_set(err, errno, "no socket: %s", strerror(errno));
	command = fork();
	if (command < 0)
		return err_set(err, errno, "cannot start a process: %s", strerror(errno));
	if (!command) {
		close(ends[0]);
		run_command(argv, ends[1]);
	}
	close(ends[1]);
	*socket = ends[0];
	catch_signals();
	return 0;
}

/* The command starts first and makes its namespaces; its FUSE connection comes back over the
 * socket, and brace serves the tree on it from outside of them. */
int cmd_shell(struct invocation *inv)
{
	char *shell[] = { getenv("SHELL"), NULL };
	struct err err = { 0 };
	int socket = -1, fuse = -1, status = 0, e;

	if ((inv->pids.n > 0) + (inv->run != NULL) + inv->session_named > 1) {
		say("brace: one of --pid, --run and --session, not several\n");
		return EXIT_BRACE;
	}
	if (!shell[0] || !*shell[0])
		shell[0] = "/bin/sh";
	e = start_command(inv->n_operands ? inv->operands : shell, &socket, &err);
	if (e)
		return say_error(&err);
	/* Nothing is traced before the command has its namespaces. */
	e = receive_connection(socket, &fuse, &err);
	if (!e)
		e = serve_shell(inv, fuse, socket, &status, &err);
	close(socket);
	if (!e)
		return run_exit(status);
	waitpid(command, NULL, 0);
	return say_error(&err);
}
