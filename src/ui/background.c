/* SPDX-License-Identifier: MIT */
/* Used by brace mount and start, and, without the background, by shell and tree_run.c. The server
 * is forked before it has threads. It reports through a pipe to the process that waits: a struct
 * err, whose code 0 means that it serves. Every failure before serving is told there, because only
 * that process can speak to the user. */
#include "ui/background.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "inject/launch.h"
#include "image/providers.h"
#include "tree/instance.h"
#include "ui/config_option.h"
#include "ui/event_writes.h"
#include "ui/missing.h"
#include "ui/say.h"

/* Pipe to the process that waits for the server to begin. */
static int awaited = -1;

/* Descriptors that brace inherited, a lock's or a pipe's. A program that the server starts has them
 * too; the server has no use for them, and a process that waits for their last holder would wait
 * for the server. */
static VEC(int) inherited;

/* Before anything is opened that is not closed at an exec. */
static void note_inherited(void)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *d;

	while (all && (d = readdir(all))) {
		int fd = atoi(d->d_name), flags = fcntl(fd, F_GETFD);

		if (fd > STDERR_FILENO && flags >= 0 && !(flags & FD_CLOEXEC))
			*vec_add(&inherited) = fd;
	}
	if (all)
		closedir(all);
}

/* Also what a program gave brace on purpose: the server needs none of it but the pipe, which is
 * closed at an exec anyway and so not in the list. */
static void close_inherited(void)
{
	for (size_t i = 0; i < inherited.n; i++)
		close(inherited.at[i]);
	vec_free(&inherited);
}

/* False: the waiting process has gone. */
static bool report_error(const struct err *err)
{
	ssize_t n;

	do {
		n = write(awaited, err, sizeof(*err));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(*err);
}

/* The waiting process, not the server, tells the user that memory has run out. */
static bool report_no_memory(struct mem_last_act *self)
{
	static const struct err none = { .code = ENOMEM, .text = MEM_NONE };

	return report_error(&none);
}

static struct mem_last_act no_memory = { report_no_memory, NULL };

/* Nothing of the terminal is kept: else closing it would wait for the server. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		dup2(null, i);
	say_end(null);
	if (null > 2)
		close(null);
}

/* The waiting process goes on at the report: whoever called brace finds no lock and no pipe of its
 * own held by the server then. */
bool background_begun(int fd, const struct err *err)
{
	static const struct err none;
	bool heard;

	if (fd < 0)
		return true;
	close_inherited();
	if (chdir("/") == 0)
		leave_terminal();
	heard = report_error(err ? err : &none);
	mem_last_act_remove(&no_memory);
	close(fd);
	return heard;
}

/* Reads the server's report. A server that was killed leaves none; one that lives without a report
 * must not go on unknown. */
static int await_start(int fd, pid_t pid, struct err *err)
{
	ssize_t n;

	do {
		n = read(fd, err, sizeof(*err));
	} while (n < 0 && errno == EINTR);
	/* Less than a whole report: the server has ended, or its end of the pipe is closed. */
	if (n != sizeof(*err)) {
		kill(pid, SIGTERM);
		err_set(err, EIO, "the process in the background ended before it had begun");
	}
	return -err->code;
}

/* 0: the server serves, and goes on by itself when this process ends. serve() runs in the child
 * and never returns to the caller's code. */
int background_start(background_server *serve, void *arg, struct err *err)
{
	struct err of_server;
	int pipe[2], e;
	pid_t pid;

	note_inherited();
	if (pipe2(pipe, O_CLOEXEC))
		return err_set(err, errno, "no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return err_set(err, errno, "cannot start a process: %s", strerror(errno));
	/* The child. A session of its own: signals of the terminal do not reach it. */
	if (!pid) {
		close(pipe[0]);
		awaited = pipe[1];
		mem_last_act_add(&no_memory);
		setsid();
		_exit(serve(arg, pipe[1], &of_server) ? EXIT_BRACE : 0);
	}
	close(pipe[1]);
	e = await_start(pipe[0], pid, err);
	close(pipe[0]);
	if (e)
		waitpid(pid, NULL, 0);
	return e;
}

/* Signals that were ignored when brace began (nohup) stay ignored. A write to a client that has
 * gone is an error of that write, not the server's end. */
void background_signals(void (*on_signal)(int))
{
	/* Without SA_RESTART: a call in which the server waits ends with EINTR. */
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction act = { .sa_handler = on_signal }, now;

	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (!sigaction(ending[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(ending[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Writes about events come later: set_events(). */
static int write_settings(const struct invocation *inv, struct tree *tree, struct err *err)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];
		int e = event_write_is(w) ? 0 : tree_echo(tree, w->file, w->text, w->append, err);

		if (e)
			e = config_option_failed(inv, w, err);
		if (e)
			return e;
		if (inv->verbose && !event_write_is(w))
			invocation_show_write(w);
	}
	return 0;
}

/* event_writes() works through these on a tree in this process, as session_set.c does over the
 * socket. */
static int background_echo(void *arg, const char *path, const char *text, bool append,
			   struct err *err)
{
	return tree_echo(arg, path, text, append, err);
}

/* For free(). */
static int background_cat(void *arg, const char *path, char **text, struct err *err)
{
	*text = tree_cat(arg, path, err);
	return *text ? 0 : -err->code;
}

static int background_mkdir(void *arg, const char *dir, const char *name, struct err *err)
{
	struct tree_node *parent = tree_find(arg, dir);
	int e = parent ? tree_mkdir(parent, name, err) : err_set(err, ENOENT, "no %s", dir);

	if (parent)
		tree_put(parent);
	return e;
}

/* Writes about events, which the tree has to know by then. */
static int set_events(const struct invocation *inv, struct tree *tree, struct err *err)
{
	const struct event_files files = { background_echo, background_cat, background_mkdir,
					   tree };

	return event_writes(inv, &files, err);
}

/* Adds the events of the program's file to the catalogue. */
static int know_program(const char *program, struct tree *tree, struct err *err)
{
	char *path, *image;
	struct err ignored;
	int e = launch_resolve(program, &path, &image, err), fd;

	if (e)
		return e;
	fd = file_open(image, &ignored); /* the launch tells what is wrong with it */
	if (fd >= 0) {
		providers_catalogue(fd, image, instance_events(tree));
		close(fd);
	}
	free(path);
	free(image);
	return 0;
}

/* Reads the function lists of the command line into *s. */
static void read_lists(const struct invocation *inv, struct settings *s)
{
	settings_init(s);
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (w->file && settings_list(s, w->file))
			/* A refused write is told when it is carried out. */
			settings_write(s, w->file, w->text, w->append, NULL);
	}
}

/* Checks that the program can be executed, and warns of named functions that it does not have.
 * 0, or the exit status (said). */
static int check_program(const struct settings *s, const char *program)
{
	char *path, *image;
	struct err err;
	int status;

	if (launch_resolve(program, &path, &image, &err))
		return say_exec_error(&err);
	status = missing_functions(s, image);
	free(path);
	free(image);
	return status;
}

/* Before the fork, because a warning is for the user's terminal. */
int background_check(const struct invocation *inv, char *const *argv)
{
	struct settings s;
	int status = 0;

	read_lists(inv, &s);
	if (argv)
		status = check_program(&s, argv[0]);
	for (size_t i = 0; i < inv->pids.n && !status; i++)
		status = missing_functions_of(&s, inv->pids.at[i]);
	settings_free(&s);
	return status;
}

int background_set_up(const struct invocation *inv, char *const *argv, struct tree *tree,
		      struct err *err)
{
	int e = write_settings(inv, tree, err);

	if (!e && argv)
		e = know_program(argv[0], tree, err);
	/* Events of attached processes are known only when the processes have been looked at
	 * (background_trace). */
	return e || inv->pids.n ? e : set_events(inv, tree, err);
}

/* *instances is set only if something is traced: a tree without processes is complete, too. */
int background_trace(const struct invocation *inv, char *const *argv, struct tree *tree,
		     struct instances **instances, struct err *err)
{
	const struct instances_request req = { .argv = argv,
					       .pids = inv->pids.at,
					       .n_pids = inv->pids.n,
					       .compress = inv->compress,
					       .slow = &inv->slow,
					       .ring = inv->ring,
					       .ring_kb = inv->ring_kb };
	int e;

	if (!argv && !inv->pids.n)
		return 0;
	e = instances_start(&req, tree, instances, err);
	return e || !inv->pids.n ? e : set_events(inv, tree, err);
}
