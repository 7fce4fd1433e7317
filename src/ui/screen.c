/* SPDX-License-Identifier: MIT */
#include "ui/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/new_file.h"
#include "ui/say.h"

static const char standard_output[] = "standard output";

static void ignore(int sig)
{
}

/* A write to a closed pipe shall fail instead of killing brace. A handler, not SIG_IGN: that
 * would be inherited by the traced program. */
static void catch_sigpipe(void)
{
	struct sigaction now;

	if (!sigaction(SIGPIPE, NULL, &now) && now.sa_handler == SIG_DFL)
		signal(SIGPIPE, ignore);
}

static bool wants_colour(const struct invocation *inv)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (inv->colour != COLOUR_AUTO)
		return inv->colour == COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static void run_pager(const char *pager, const int fd[2])
{
	setenv("LESS", "FRX", 0);
	dup2(fd[0], STDIN_FILENO);
	close(fd[0]);
	close(fd[1]);
	execl("/bin/sh", "sh", "-c", pager, NULL);
	_exit(127);
}

/* less if there is one: a bare system may have none. */
#define DEFAULT_PAGER "command -v less >/dev/null && exec less; exec cat"

static void start_pager(struct screen *o)
{
	const char *pager = getenv("PAGER");
	int fd[2];

	if (!pager)
		pager = DEFAULT_PAGER;
	if (!*pager || !strcmp(pager, "cat") || pipe2(fd, O_CLOEXEC))
		return;
	o->pager = fork();
	if (!o->pager)
		run_pager(pager, fd);
	close(fd[0]);
	if (o->pager > 0)
		o->fd = fd[1];
	else
		close(fd[1]);
}

/* The sink of o->text: all n bytes, or -errno. */
static int write_all(void *arg, const char *bytes, size_t n)
{
	const struct screen *o = arg;

	while (n) {
		ssize_t wrote = write(o->fd, bytes, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		bytes += wrote;
		n -= (size_t)wrote;
	}
	return 0;
}

/* The sink of o->text when there is colour. Hands on at once what is painted. */
static int paint_all(void *arg, const char *bytes, size_t n)
{
	struct screen *o = arg;

	paint_bytes(&o->paint, bytes, n);
	return out_flush(&o->bytes);
}

void screen_open(struct screen *o, const struct invocation *inv, enum screen_pager to, painter *line)
{
	bool colour = line && wants_colour(inv);

	*o = (struct screen){ .fd = STDOUT_FILENO, .name = standard_output };
	catch_sigpipe();
	if (to == SCREEN_PAGED && !inv->no_pager && isatty(STDOUT_FILENO))
		start_pager(o);
	out_init_raw(&o->bytes, write_all, o);
	o->paint = (struct paint){ .line = line, .to = &o->bytes };
	out_init(&o->text, colour ? paint_all : write_all, o);
}

int screen_open_file(struct screen *o, const char *path)
{
	struct err err;
	bool is_ours;

	*o = (struct screen){ .name = path };
	catch_sigpipe();
	o->fd = new_file(path, "file", &is_ours, &err);
	if (o->fd < 0)
		return say_error(&err);
	out_init_raw(&o->bytes, write_all, o);
	out_init(&o->text, write_all, o);
	return 0;
}

void screen_binary(struct screen *o)
{
	o->text.raw = !isatty(o->name == standard_output ? STDOUT_FILENO : o->fd);
}

bool screen_is_done(const struct screen *o)
{
	return o->text.error;
}

static void wait_for_pager(struct screen *o)
{
	if (o->pager > 0)
		while (waitpid(o->pager, NULL, 0) < 0 && errno == EINTR)
			;
}

int screen_close(struct screen *o, int status)
{
	int error = -out_flush(&o->text);

	paint_end(&o->paint);
	if (!error)
		error = -out_flush(&o->bytes);
	if (close(o->fd) && !error)
		error = errno;
	wait_for_pager(o);
	out_free(&o->text);
	out_free(&o->bytes);
	if (!error || error == EPIPE)
		return status;
	say("brace: cannot write %s: %s\n", o->name, strerror(error));
	return EXIT_BRACE;
}
