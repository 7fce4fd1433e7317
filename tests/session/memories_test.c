/* SPDX-License-Identifier: MIT */
/* The users that session memories vouch for: one's bytes were written by programs of its user. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/memories.h"

#define OTHER 65534

static struct memories memories;

static void write_pid(struct shared_memory *m, pid_t pid)
{
	m->header->threads_used = 1;
	m->threads[0].pid = (uint32_t)pid;
}

/* A process of another user's, which lives until it is killed. */
static pid_t start_other(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (setuid(OTHER) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void programs_of_a_user_vouch_for_that_user(void **state)
{
	const struct shared_memory_shape shape = { .mode = MEMORY_STREAM, .thread_kb = 128 };
	struct shared_memory *others;
	pid_t other = start_other();
	struct err err;

	(void)state;
	assert_int_equal(memories_begin(&memories, &shape, &err), 0);
	assert_int_equal(memories_of(&memories, OTHER, &others, &err), 0);
	assert_false(memories_know(&memories, 0));
	assert_false(memories_know(&memories, (uint32_t)getpid()));
	write_pid(others, getpid());
	assert_false(memories_know(&memories, (uint32_t)getpid()));
	write_pid(others, other);
	assert_true(memories_know(&memories, (uint32_t)other));
	write_pid(others, 0);
	write_pid(&memories.at[0], other); /* it was root's, and a program of root's may become anybody */
	assert_true(memories_know(&memories, (uint32_t)other));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	memories_end(&memories);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(programs_of_a_user_vouch_for_that_user) };

	if (geteuid() != 0) {
		puts("1..0 # SKIP only root has programs of several users");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
