/* SPDX-License-Identifier: MIT */
/* Commands begin a meter when they begin to read; the screen that they print to ends it where it is
 * a terminal, or when it is closed (screen.c). A thread of its own draws five times a second, from
 * the reader's count, so that no reading loop knows of it. Nothing fails: without a thread there is
 * no line. */
#include "ui/meter.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/monotonic.h"
#include "base/path.h"

/* Most files are read in less than a second: they show no line. */
#define FIRST_NS 1000000000u
#define STEP_NS 200000000u
#define CELLS 24u
/* To the first column, and erase to the end of the line (ECMA-48, EL). */
#define CLEAR "\r\033[K"

static struct {
	const struct store_reader *reader; /* NULL: there is no meter */
	char *name;                        /* escaped */
	uint64_t begun;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool over;                         /* protected by lock */
} meter = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Whether the line stands on the terminal. Written under the lock while there is a thread, but for
 * end_by(), a signal handler, which may not take it. */
static volatile sig_atomic_t is_drawn;

/* A terminal that is gone is not told of. write() alone, not stdio: a handler calls it, too. */
static void put_text(const char *text, size_t n)
{
	ssize_t ignored = write(STDERR_FILENO, text, n);

	(void)ignored;
}

static void clear_line(void)
{
	if (is_drawn)
		put_text(CLEAR, strlen(CLEAR));
	is_drawn = 0;
}

/* --- the line --------------------------------------------------------------------------------- */

/* The time that is left, if the reading goes on as it went. */
static void put_left(char *to, size_t n, uint64_t spent, uint64_t read, uint64_t all)
{
	/* 128 bits: nanoseconds times bytes of a large file are more than 64. read is not 0. */
	const uint64_t left = (uint64_t)((unsigned __int128)spent * (all - read) / read) /
			      1000000000u;

	snprintf(to, n, "%" PRIu64 ":%02u left", left / 60, (unsigned)(left % 60));
}

/* "trace.brace [#####...................]  21 %  0:07 left". Behind the whole file it is read once
 * more, by some options: nobody knows then what is left. */
static void draw(void)
{
	char cells[CELLS + 1] = "", left[48] = "", line[256];
	uint64_t read, all, part;
	bool again;
	int n;

	/* The reader counts on meanwhile: both numbers are read once, and all that follows is of
	 * these. */
	store_progress(meter.reader, &read, &all);
	again = read > all;
	part = all ? (again ? (read - 1) % all + 1 : read) : 0;
	for (unsigned i = 0; i < CELLS; i++)
		cells[i] = (uint64_t)((unsigned __int128)i * all / CELLS) < part ? '#' : '.';
	if (again)
		snprintf(left, sizeof(left), "once more");
	else if (part == all)
		snprintf(left, sizeof(left), "all is read");
	else if (part)
		put_left(left, sizeof(left), monotonic_ns() - meter.begun, part, all);
	n = snprintf(line, sizeof(line), CLEAR "%.60s [%s] %3u %%  %s", meter.name, cells,
		     (unsigned)(all ? (unsigned __int128)part * 100 / all : 0), left);
	is_drawn = 1;
	put_text(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* A time of CLOCK_MONOTONIC, as the condition's clock is (start_thread()): a step of the machine's
 * clock changes nothing. */
static struct timespec in(uint64_t ns)
{
	const uint64_t at = monotonic_ns() + ns;

	return (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
}

/* Until the line is no longer wanted. Draws with the lock held: meter_make_room() waits for a line
 * that is half written. A wake-up without a timeout looks at `over` again. */
static void *run(void *arg)
{
	struct timespec until = in(FIRST_NS);

	pthread_mutex_lock(&meter.lock);
	while (!meter.over)
		if (pthread_cond_timedwait(&meter.wake, &meter.lock, &until)) {
			draw();
			until = in(STEP_NS);
		}
	pthread_mutex_unlock(&meter.lock);
	return arg;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define SIGNALS (sizeof(signals) / sizeof(*signals))

/* Ends brace as the signal would have, on a line that is clear. A signal handler: only what
 * signal-safety(7) allows. The signal is blocked until it returns, so that raise() takes effect
 * then, and the shell sees a process that a signal has ended. */
static void end_by(int sig)
{
	clear_line();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Signals that would end brace, or that do so because of us. Handlers of a command
 * (interrupt_catch()) are neither SIG_DFL nor ours, and stay. */
static void set_handlers(void (*from)(int), void (*to)(int))
{
	const struct sigaction act = { .sa_handler = to };
	struct sigaction now;

	for (size_t i = 0; i < SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler == from)
			sigaction(signals[i], &act, NULL);
}

/* Signals are the main thread's. */
static bool start_thread(void)
{
	pthread_condattr_t attr;
	sigset_t all, before;
	bool started;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&meter.wake, &attr);
	pthread_condattr_destroy(&attr);
	/* Blocked before the thread is there, and inherited by it: no signal can come in
	 * between. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	started = !pthread_create(&meter.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

/* A dumb terminal, an editor's shell for example, would show the codes themselves. */
static bool can_clear(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
}

void meter_begin(const struct store_reader *r, const char *path)
{
	/* A command that reads several files begins one after the other. */
	meter_end();
	if (!can_clear())
		return;
	meter.reader = r;
	meter.name = escape_line(path_file_name(path));
	meter.begun = monotonic_ns();
	meter.over = false;
	if (start_thread()) {
		set_handlers(SIG_DFL, end_by);
		return;
	}
	free(meter.name);
	meter.reader = NULL;
}

void meter_make_room(void)
{
	pthread_mutex_lock(&meter.lock);
	clear_line();
	pthread_mutex_unlock(&meter.lock);
}

/* The thread has ended before the line is cleared: otherwise it could be written once more. */
void meter_end(void)
{
	if (!meter.reader)
		return;
	pthread_mutex_lock(&meter.lock);
	meter.over = true;
	pthread_cond_signal(&meter.wake);
	pthread_mutex_unlock(&meter.lock);
	pthread_join(meter.thread, NULL);
	pthread_cond_destroy(&meter.wake);
	set_handlers(end_by, SIG_DFL);
	clear_line();
	free(meter.name);
	meter.reader = NULL;
}
