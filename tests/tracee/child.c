#include "child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void child_wait_ready(const struct child *c, unsigned threads)
{
	wait_until(c->report->ready >= threads);
}

struct child child_start(void (*body)(struct report *), unsigned threads)
{
	struct child c;

	c.report = mmap(NULL, sizeof(*c.report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fflush(NULL);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body(c.report);
		_exit(0);
	}
	child_wait_ready(&c, threads);
	return c;
}

int child_end(struct child *c)
{
	int status = -1;

	c->report->stop = 1;
	for (int turn = 0; turn < 10000; turn++) {
		pid_t r = waitpid(c->pid, &status, WNOHANG);

		if (r == c->pid) {
			munmap(c->report, sizeof(*c->report));
			return status;
		}
		assert_int_equal(r, 0);
		usleep(1000);
	}
	kill(c->pid, SIGKILL);
	fail_msg("process %d does not end", (int)c->pid);
	return -1;
}

void child_kill(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	munmap(c->report, sizeof(*c->report));
}

uint64_t hold_once(pid_t pid)
{
	struct tracee *t;
	struct err err;

	if (tracee_stop(pid, &t, &err) < 0)
		fail_msg("%s", err.text);
	return tracee_release(t);
}
