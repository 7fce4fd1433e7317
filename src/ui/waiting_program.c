/* SPDX-License-Identifier: MIT */
/* For commands of the kernel (kernel_run.c, kernel_hist.c, kernel_sql.c, cmd/follow.c), on brace's
 * one thread: nothing holds such a program but a pipe. A program that cannot be begun is -errno and
 * a sentence. */
#include "ui/waiting_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child_signal.h"
#include "base/monotonic.h"
#include "ui/say.h"

#define WAIT_NS 50000000u

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define N_SIGNALS (sizeof(signals) / sizeof(*signals))

/* How many signals came since waiting_program_catch_interrupts(); a handler counts, the main thread
 * reads. */
static volatile sig_atomic_t interrupts;

/* A handler. The first interrupt is the program's, too, which may end by it; the second one ends
 * brace. */
static void count_interrupt(int sig)
{
	interrupts++;
}

void waiting_program_catch_interrupts(void)
{
	struct sigaction act = { .sa_handler = count_interrupt }, now;

	interrupts = 0;
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

/* In the child: Ctrl-C ends it, unless it is ignored. */
static void let_interrupts_end(void)
{
	struct sigaction act = { .sa_handler = SIG_DFL }, now;

	for (size_t i = 0; i < N_SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

/* The child: waits until the kernel knows its pid, then becomes the program. */
static void become_program(char *const *argv, int go, int told)
{
	char byte;
	int e;

	let_interrupts_end();
	child_signal_give_back();
	/* The end of the pipe without a byte: brace has given up, or is dead, and the program must
	 * not run untraced. */
	if (read(go, &byte, 1) != 1)
		_exit(EXIT_BRACE);
	execvp(argv[0], argv);
	/* execvp() came back: the errno goes to waiting_program_release(), which says it. Had it
	 * succeeded, O_CLOEXEC would have ended the pipe with nothing in it. */
	e = errno;
	if (write(told, &e, sizeof(e)) < 0)
		_exit(EXIT_BRACE);
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* `told` becomes readable with an errno if the program cannot be executed, and ends when it is. */
int waiting_program_start(struct waiting_program *w, char *const *argv, struct err *err)
{
	int go[2], tell[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(tell, O_CLOEXEC) < 0) {
		err_set(err, errno, "cannot make a pipe: %s", strerror(errno));
		close(go[0]);
		close(go[1]);
		return -err->code;
	}
	w->pid = fork();
	if (!w->pid) {
		close(go[1]);
		close(tell[0]);
		become_program(argv, go[0], tell[1]);
	}
	close(go[0]);
	close(tell[1]);
	w->go = go[1];
	w->told = tell[0];
	if (w->pid > 0)
		return 0;
	w->pid = 0;
	err_set(err, errno, "cannot start a process: %s", strerror(errno));
	close(w->go);
	close(w->told);
	return -err->code;
}

/* 0: the program runs. Else the exit status that a shell would give, and it is said. */
int waiting_program_release(struct waiting_program *w, const char *name)
{
	int error = 0;
	ssize_t n = write(w->go, "", 1);

	close(w->go);
	w->go = -1;
	do
		n = read(w->told, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(w->told);
	/* The end of the pipe: the program is executed. */
	if (n != sizeof(error))
		return 0;
	say("brace: cannot run %s: %s\n", name, strerror(error));
	waitpid(w->pid, &w->wait_status, 0);
	w->pid = 0;
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* While the program runs one interrupt is its to react to. */
bool waiting_program_is_over(struct waiting_program *w)
{
	if (w->pid && waitpid(w->pid, &w->wait_status, WNOHANG) == w->pid) {
		w->pid = 0;
		return true;
	}
	/* Without a program there is nobody else whom the first interrupt could be for. */
	return interrupts > (w->pid ? 1 : 0);
}

void waiting_program_wait(struct waiting_program *w, uint64_t duration_ns)
{
	const struct timespec t = { .tv_nsec = WAIT_NS };
	const uint64_t end = duration_ns ? monotonic_ms() + duration_ns / 1000000 : UINT64_MAX;

	while (!waiting_program_is_over(w) && monotonic_ms() < end)
		nanosleep(&t, NULL);
}

/* A program that still waits ends, because its pipe does. */
void waiting_program_drop(struct waiting_program *w)
{
	if (!w->pid || w->go < 0)
		return;
	close(w->go);
	close(w->told);
	waitpid(w->pid, &w->wait_status, 0);
	w->pid = 0;
}
