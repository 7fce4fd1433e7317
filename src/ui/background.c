/* SPDX-License-Identifier: MIT */
#include "ui/background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "image/event_sites.h"
#include "inject/launch.h"
#include "image/probes.h"
#include "tree/instance.h"
#include "ui/event_writes.h"
#include "ui/missing.h"
#include "ui/say.h"

/* The pipe to the process that waits for the server to begin. */
static int awaited = -1;

static bool report(const struct err *err)
{
	ssize_t n;

	do {
		n = write(awaited, err, sizeof(*err));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(*err);
}

/* The waiting process speaks to the user. */
static bool report_no_memory(struct mem_last_act *self)
{
	static const struct err none = { .code = ENOMEM, .text = MEM_NONE };

	return report(&none);
}

static struct mem_last_act no_memory = { report_no_memory, NULL };

bool background_begun(int fd, const struct err *err)
{
	static const struct err none;
	bool heard;
	int null;

	if (fd < 0)
		return true;
	heard = report(err ? err : &none);
	mem_last_act_remove(&no_memory);
	close(fd);
	if (chdir("/"))
		return heard;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
	return heard;
}

/* The server's report; a server that was killed went without a word. One that lives is not to go on unknown. */
static int await_start(int fd, pid_t pid, struct err *err)
{
	ssize_t n;

	do {
		n = read(fd, err, sizeof(*err));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*err)) {
		kill(pid, SIGTERM);
		err_set(err, EIO, "the process in the background ended before it had begun");
	}
	return -err->code;
}

int background_start(background_server *serve, void *arg, struct err *err)
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

void background_signals(void (*on_signal)(int))
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction act = { .sa_handler = on_signal }, now;

	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (!sigaction(ending[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(ending[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int write_settings(const struct invocation *inv, struct tree *tree, struct err *err)
{
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];
		int e = event_write_is(w) ? 0 : tree_echo(tree, w->file, w->text, w->append, err);

		if (e)
			return e;
		if (inv->verbose && !event_write_is(w))
			invocation_show_write(w);
	}
	return 0;
}

static int echo(void *arg, const char *path, const char *text, bool append, struct err *err)
{
	return tree_echo(arg, path, text, append, err);
}

static int cat(void *arg, const char *path, char **text, struct err *err)
{
	*text = tree_cat(arg, path, err);
	return *text ? 0 : -err->code;
}

/* Those about events, which the tree has to know by then. */
static int set_events(const struct invocation *inv, struct tree *tree, struct err *err)
{
	const struct event_files files = { echo, cat, tree };

	return event_writes(inv, &files, err);
}

/* The events of the program's file. */
static int know_program(const char *program, struct tree *tree, struct err *err)
{
	char *path, *image;
	struct err ignored;
	int e = launch_resolve(program, &path, &image, err), fd;

	if (e)
		return e;
	fd = file_open(image, &ignored); /* the launch says what is wrong with it */
	if (fd >= 0) {
		event_sites_know(fd, image, instance_events(tree));
		probes_catalogue(fd, image, instance_events(tree));
		close(fd);
	}
	free(path);
	free(image);
	return 0;
}

/* The lists of functions that the command line writes. */
static void read_lists(const struct invocation *inv, struct settings *s)
{
	settings_init(s);
	for (size_t i = 0; i < inv->writes.n; i++) {
		const struct setting_write *w = &inv->writes.at[i];

		if (w->file && settings_list(s, w->file))
			settings_write(s, w->file, w->text, w->append, NULL); /* what is refused is said when it is written */
	}
}

static int check_program(const struct settings *s, const char *program)
{
	char *path, *image;
	int status;

	if (launch_resolve(program, &path, &image, NULL))
		return 0; /* the launch says what is wrong with it */
	status = missing_functions(s, image);
	free(path);
	free(image);
	return status;
}

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

int background_set_up(const struct invocation *inv, char *const *argv, struct tree *tree, struct err *err)
{
	int e = write_settings(inv, tree, err);

	if (!e && argv)
		e = know_program(argv[0], tree, err);
	return e || inv->pids.n ? e : set_events(inv, tree, err);
}

int background_trace(const struct invocation *inv, char *const *argv, struct tree *tree, struct live **live, struct err *err)
{
	const struct live_request req = { .argv = argv, .pids = inv->pids.at, .n_pids = inv->pids.n };
	int e;

	if (!argv && !inv->pids.n)
		return 0;
	e = live_start(&req, tree, live, err);
	return e || !inv->pids.n ? e : set_events(inv, tree, err);
}
