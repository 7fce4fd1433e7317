/* SPDX-License-Identifier: MIT */
/* Owned by one command, which writes on one thread at a time (graph: with the monitor's lock).
 * The first failed write stays in text.error; later text is dropped, and screen_close() says so. */
#include "ui/meter.h"
#include "ui/screen.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/child_signal.h"
#include "base/write_all.h"
#include "base/mem.h"
#include "base/new_file.h"
#include "ui/say.h"

#define USUAL_ROWS 24u /* of a terminal that does not tell */

/* Compared by address: a file may have that name. */
static const char standard_output[] = "standard output";

/* --color decides; without it, a terminal and the absence of NO_COLOR. */
static bool wants_colour(const struct invocation *inv)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (inv->colour != COLOUR_AUTO)
		return inv->colour == COLOUR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

/* In the child; does not return. */
static void run_pager(const char *pager, const int fd[2])
{
	/* F: no pager for one screen, R: colours, X: text stays on the terminal. */
	setenv("LESS", "FRX", 0);
	dup2(fd[0], STDIN_FILENO);
	close(fd[0]);
	close(fd[1]);
	/* A pager that is not there has read nothing. */
	execl("/bin/sh", "sh", "-c", mem_printf("%s\n[ $? -ne 127 ] || exec cat", pager), NULL);
	_exit(127);
}

/* less, if it is there: a bare system may have none. */
#define DEFAULT_PAGER "command -v less >/dev/null && exec less; exec cat"

/* Without a pager the text goes to standard output itself. */
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

/* The sink of o->text without colour: writes all n bytes, or returns -errno. */
static int write_text(void *arg, const char *bytes, size_t n)
{
	const struct screen *o = arg;

	return write_all(o->fd, bytes, n);
}

/* The sink of o->text with colour: hands painted lines on at once. */
static int paint_all(void *arg, const char *bytes, size_t n)
{
	struct screen *o = arg;

	paint_bytes(&o->paint, bytes, n);
	return out_flush(&o->bytes);
}

/* 0: standard output is no terminal, or one that does not tell. */
static unsigned terminal_width(void)
{
	struct winsize size = { 0 };

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* Text goes through `paint` only if it has colours. */
void screen_open(struct screen *o, const struct invocation *inv, enum screen_pager to,
		 painter *line)
{
	bool colour = line && wants_colour(inv);

	if (isatty(STDOUT_FILENO))
		meter_end();
	*o = (struct screen){ .fd = STDOUT_FILENO, .name = standard_output };
	child_signal_survive(SIGPIPE); /* a write to a closed pipe fails */
	if (to == SCREEN_PAGED && !inv->no_pager && isatty(STDOUT_FILENO))
		start_pager(o);
	out_init_raw(&o->bytes, write_text, o);
	o->paint = (struct paint){ .line = line, .to = &o->bytes };
	out_init(&o->text, colour ? paint_all : write_text, o);
	o->text.width = terminal_width();
}

/* The file is begun before a program runs, so that a directory that cannot be written to is told
 * before anything has happened. */
int screen_file_begin(struct invocation *inv, struct err *err)
{
	int fd = 0;

	if (inv->output && !inv->file.path)
		fd = new_file_begin(&inv->file, inv->output, "file", err);
	return fd < 0 ? fd : 0;
}

/* For commands that fail before they print: the user's old file stays. */
void screen_file_drop(struct invocation *inv)
{
	struct err ignored;

	if (inv->file.path)
		new_file_end(&inv->file, false, &ignored);
}

/* Neither colours nor a pager: the file is for later. */
static void begin_file(struct screen *o, const char *path, int fd)
{
	*o = (struct screen){ .name = path, .fd = fd };
	child_signal_survive(SIGPIPE); /* a write to a closed pipe fails */
	out_init_raw(&o->bytes, write_text, o);
	out_init(&o->text, write_text, o);
}

/* The file begun goes over to o: screen_close() ends it. */
void screen_open_begun(struct screen *o, struct invocation *inv, enum screen_pager to,
		       painter *line)
{
	if (!inv->output) {
		screen_open(o, inv, to, line);
		return;
	}
	new_file_name(&inv->file);
	begin_file(o, inv->output, inv->file.fd);
	o->whole = inv->file;
	inv->file = (struct whole_file){ .fd = -1 };
}

/* 0, or the exit status (said). */
int screen_open_output(struct screen *o, struct invocation *inv, enum screen_pager to,
		       painter *line)
{
	struct err err;

	if (screen_file_begin(inv, &err))
		return say_error(&err);
	screen_open_begun(o, inv, to, line);
	return 0;
}

/* For files that are useless in part (a picture, a page): screen_close() with a status leaves the
 * old one. */
int screen_open_whole(struct screen *o, const struct invocation *inv)
{
	struct whole_file whole;
	struct err err;

	if (!inv->output) {
		screen_open(o, inv, SCREEN_PLAIN, NULL);
		return 0;
	}
	if (new_file_begin(&whole, inv->output, "file", &err) < 0)
		return say_error(&err);
	begin_file(o, inv->output, whole.fd);
	o->whole = whole;
	return 0;
}

/* Raw bytes go anywhere but to a terminal. */
void screen_binary(struct screen *o)
{
	o->text.raw = !isatty(o->name == standard_output ? STDOUT_FILENO : o->fd);
}

/* The sink has failed: the reader has gone, or the disk is full. */
bool screen_is_done(const struct screen *o)
{
	return o->text.error;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Into memory: how much of the text fits on the screen is known only when all of it is there. */
static int append_text(void *arg, const char *bytes, size_t n)
{
	return fwrite(bytes, 1, n, arg) == n ? 0 : -EIO;
}

/* For free(). The text has no colours: they are added when it is printed. */
char *screen_text(void (*print)(void *arg, struct out *out), void *arg)
{
	struct out out;
	char *text;
	size_t n;
	FILE *to = mem_stream(&text, &n);

	out_init_raw(&out, append_text, to);
	print(arg, &out);
	out_flush(&out);
	out_free(&out);
	mem_stream_close(to, &text);
	return text;
}

/* As much of the text as fits, in the place of the page before: nothing scrolls. */
void screen_page(struct screen *o, const char *text)
{
	static const char clear[] = "\033[H\033[2J";
	struct winsize size = { 0 };
	const char *end = text;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		size.ws_row = USUAL_ROWS;
	for (unsigned i = 1; i < size.ws_row && *end; i++)
		end += strcspn(end, "\n") + (end[strcspn(end, "\n")] != '\0');
	out_flush(&o->text);
	/* Past the buffer, which escapes control characters. */
	if (write(STDOUT_FILENO, clear, sizeof(clear) - 1) < 0)
		return;
	out_bytes(&o->text, text, (size_t)(end - text));
	out_flush(&o->text);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The terminal is the pager's until it ends. */
static void wait_for_pager(struct screen *o)
{
	if (o->pager > 0)
		child_wait(o->pager);
}

/* Half a file is no file. */
static int close_whole(struct screen *o, int status, int error)
{
	struct err err;

	if (new_file_end(&o->whole, !status && !error, &err))
		return say_error(&err);
	return status;
}

/* The reader's end (EPIPE) is no error: `brace report | head` is in order. */
int screen_close(struct screen *o, int status)
{
	int error;

	if (!o->name)
		return status;
	meter_end();
	error = -out_flush(&o->text);
	/* After the flush: the last line may be without a newline. */
	paint_end(&o->paint);
	if (!error)
		error = -out_flush(&o->bytes);
	if (o->whole.path)
		status = close_whole(o, status, error);
	else if (close(o->fd) && !error)
		error = errno;
	wait_for_pager(o);
	out_free(&o->text);
	out_free(&o->bytes);
	if (!error || error == EPIPE)
		return status;
	say("brace: cannot write %s: %s\n", o->name, strerror(error));
	return EXIT_BRACE;
}
