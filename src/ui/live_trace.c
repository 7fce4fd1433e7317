/* SPDX-License-Identifier: MIT */
/* Used by brace tui, on its only thread. The recorder is a child that has not called exec: it runs
 * what brace record runs. If brace tui dies, so does its recording, by a signal that detaches. A
 * recorder that cannot begin is said. */
#include "ui/live_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/write_all.h"
#include "daemon/ask.h"
#include "store/store.h"
#include "ui/run.h"
#include "ui/say.h"

#define LOOK_NS 20000000  /* between two looks at the file */

/* --- the recorder ----------------------------------------------------------------------------- */

/* Output of brace and of the program goes to the file; keys are the screen's. */
static void leave_terminal(int said)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
	if (said >= 0) {
		dup2(said, STDOUT_FILENO);
		dup2(said, STDERR_FILENO);
	}
	setpgid(0, 0);
}

/* Returns the exit status. The first signal ends it, and the program goes on. `begun` gets a byte
 * once the program is traced: the file can be read before, also if nothing will be. */
static int record_trace(struct invocation *inv, const char *path, int begun)
{
	struct session_result result = { 0 };
	struct run_monitor monitor;
	struct session *session;
	struct err err;
	int status = run_start(inv, path, NULL, &session);

	if (status)
		return status;
	write_all(begun, "", 1);
	run_monitor_begin(&monitor, inv, session, NULL, NULL);
	monitor.ends_at_first = true;
	status = session_record(session, &result, &err) ? say_error(&err) : 0;
	run_monitor_end(&monitor);
	session_free(session);
	return status;
}

/* Does not return. The parent may have died between fork() and prctl(): then its number is
 * another's already. */
static void run_recorder(struct live_trace *t, struct invocation *inv, pid_t parent, int begun)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_BRACE);
	leave_terminal(t->said);
	status = record_trace(inv, t->path, begun);
	fflush(NULL);
	_exit(status);
}

/* --- the reader ------------------------------------------------------------------------------- */

/* A file that has just been created has no header yet. */
static bool is_readable(const char *path)
{
	struct store_reader *r;
	struct err ignored;

	if (store_open(path, &r, &ignored))
		return false;
	store_close(r);
	return true;
}

/* Waits for nothing. t->status has the recorder's exit status when this has become false. */
bool live_trace_goes_on(struct live_trace *t)
{
	int status;

	if (t->session)
		return ask_is_there(t->session);
	if (t->recorder && waitpid(t->recorder, &status, WNOHANG) == t->recorder) {
		t->recorder = 0;
		t->status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BRACE;
	}
	return t->recorder;
}

/* Bytes; 0: it is not there. Only growth matters to the caller. */
uint64_t live_trace_size(const struct live_trace *t)
{
	struct stat st;

	return stat(t->path, &st) ? 0 : (uint64_t)st.st_size;
}

/* The file of -o, or one that goes with the screen. */
static int choose_file(struct live_trace *t, const struct invocation *inv)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	t->kept = inv->output;
	t->path = inv->output ? mem_strdup(inv->output)
			      : mem_printf("%s/brace-tui.XXXXXX", dir && *dir ? dir : P_tmpdir);
	fd = inv->output ? 0 : mkstemp(t->path);
	if (fd < 0) {
		say("brace: cannot make a file in %s: %s\n", dir && *dir ? dir : P_tmpdir,
		    strerror(errno));
		free(t->path);
		t->path = NULL;
		return EXIT_BRACE;
	}
	if (fd)
		close(fd);
	return 0;
}

/* --- a session in the background -------------------------------------------------------------- */

/* The session makes the file, and would keep one of that name beside it. */
int live_trace_renew(struct live_trace *t, struct err *err)
{
	if (!t->session)
		return 0;
	unlink(t->path);
	return ask_extract(t->session, t->path, err);
}

int live_trace_begin_session(struct live_trace *t, const char *session)
{
	const char *dir = getenv("TMPDIR");
	struct err err;

	*t = (struct live_trace){ .said = -1, .session = session };
	t->directory = mem_printf("%s/brace-tui.XXXXXX", dir && *dir ? dir : P_tmpdir);
	if (!mkdtemp(t->directory)) {
		say("brace: cannot make a directory in %s: %s\n", dir && *dir ? dir : P_tmpdir,
		    strerror(errno));
		free(t->directory);
		t->directory = NULL;
		return EXIT_BRACE;
	}
	t->path = mem_printf("%s/trace", t->directory);
	return live_trace_renew(t, &err) ? say_error(&err) : 0;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Starts the recorder. *begun: a pipe's end, which has a byte once the program is traced. 0, or
 * the exit status (said). */
static int start_recorder(struct live_trace *t, struct invocation *inv, int *begun)
{
	const pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		say("brace: cannot make a pipe: %s\n", strerror(errno));
		return EXIT_BRACE;
	}
	t->recorder = fork();
	if (!t->recorder)
		run_recorder(t, inv, parent, ends[1]);
	close(ends[1]);
	*begun = ends[0];
	if (t->recorder > 0)
		return 0;
	t->recorder = 0;
	close(ends[0]);
	say("brace: cannot start a process: %s\n", strerror(errno));
	return EXIT_BRACE;
}

/* Whether there is something to be shown. *begun: the pipe has had its byte. */
static bool is_there(const struct live_trace *t, int pipe, bool *begun)
{
	char byte;

	*begun = *begun || read(pipe, &byte, 1) == 1;
	return *begun && is_readable(t->path);
}

/* Returns when the program is traced and the file can be read, or the recorder has ended before
 * that: 0, or the exit status (said). */
int live_trace_begin(struct live_trace *t, struct invocation *inv, const struct stop *stop)
{
	const struct timespec look = { 0, LOOK_NS };
	FILE *said = tmpfile();
	bool begun = false, shown;
	int pipe, status;

	*t = (struct live_trace){ .said = -1 };
	if (said) {
		t->said = fcntl(fileno(said), F_DUPFD_CLOEXEC, 3);
		fclose(said);
	}
	if (choose_file(t, inv))
		return EXIT_BRACE;
	status = start_recorder(t, inv, &pipe);
	if (status)
		return status;
	while (live_trace_goes_on(t) && !stop_asked(stop) && !is_there(t, pipe, &begun))
		nanosleep(&look, NULL);
	/* The trace may have begun and ended between two looks. */
	shown = t->recorder || is_there(t, pipe, &begun);
	close(pipe);
	if (stop_asked(stop))
		return 128 + stop_asked(stop);
	return shown ? 0 : t->status ? t->status : EXIT_BRACE;
}

/* Copies what was printed since the last time. */
static void print_said(struct live_trace *t)
{
	char bytes[16384];
	ssize_t n;

	while (t->said >= 0 && (n = pread(t->said, bytes, sizeof(bytes), t->printed)) > 0) {
		write_all(STDOUT_FILENO, bytes, (size_t)n);
		t->printed += n;
	}
}

/* As brace top does, it stays until a program that it has started ends: whoever waits for brace
 * waits for the program. Signals are the program's then. */
static void wait_for_program(struct live_trace *t, const struct stop *stop)
{
	const struct timespec look = { 0, LOOK_NS };
	bool told = false;

	while (live_trace_goes_on(t)) {
		print_said(t);
		if (stop_asked(stop) && !told)
			told = !kill(-t->recorder, stop_asked(stop));
		nanosleep(&look, NULL);
	}
}

/* The recording ends by SIGTERM, which detaches; a file of -o stays. */
void live_trace_end(struct live_trace *t, const struct stop *stop)
{
	if (t->recorder) {
		kill(t->recorder, SIGTERM);
		wait_for_program(t, stop);
	}
	print_said(t);
	if (t->said >= 0)
		close(t->said);
	if (t->path && !t->kept)
		unlink(t->path);
	if (t->directory)
		rmdir(t->directory);
	free(t->directory);
	free(t->path);
	*t = (struct live_trace){ .said = -1 };
}
