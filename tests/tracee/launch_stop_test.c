/* Static programs held at their first safe moment: what is there, and that they do not notice. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracee/launch_stop.h"

#define CYCLES 20
#define GLIBC_TID 0x2d0

static const char *folder;

struct started {
	pid_t pid;
	struct tracee *t;
	struct launch_stop where;
	int out; /* its standard output */
	int r;
	struct err err;
};

/* Starts PROGRAM with its output in a pipe; SIGUSR1 is blocked, which it must inherit. */
static struct started start(const char *path, char *const *argv)
{
	struct started s = { 0 };
	int saved = dup(1), out[2];
	sigset_t set;

	fflush(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(pipe2(out, 02000000), 0);
	dup2(out[1], 1);
	s.r = launch_stop(path, argv, NULL, &s.pid, &s.t, &s.where, &s.err);
	dup2(saved, 1);
	close(saved);
	close(out[1]);
	s.out = out[0];
	return s;
}

static void work_in_it(struct tracee *t)
{
	int64_t at, result;
	struct err err;
	char text[8] = "";

	assert_int_equal(tracee_syscall(t, SYS_getpid, (uint64_t[6]){ 0 }, &result, &err), 0);
	assert_int_equal(result, tracee_pid(t));
	assert_int_equal(tracee_syscall(t, SYS_mmap, (uint64_t[6]){ 0, 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 }, &at, &err), 0);
	assert_int_equal(tracee_write(t, (uint64_t)at, "brace", 6, &err), 0);
	assert_int_equal(tracee_read(t, (uint64_t)at, text, 6, &err), 0);
	assert_string_equal(text, "brace");
}

/* Lets it go: it says what it has to say, once, and ends with 7. */
static void finish(struct started *s, const char *says)
{
	char text[256];
	size_t n = 0;
	ssize_t r;
	int status;

	tracee_release(s->t);
	while ((r = read(s->out, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	text[n] = '\0';
	close(s->out);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_string_equal(text, says);
	assert_int_equal(status, 7 << 8);
}

static char *program(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (access(path, X_OK) < 0)
		skip();
	return path;
}

static struct started begin(const char *name)
{
	char *path = program(name), *argv[] = { path, "an argument", NULL };
	struct started s = start(path, argv);

	if (s.r < 0)
		fail_msg("%s", s.err.text);
	assert_true(tracee_alive(s.t));
	assert_int_equal(tracee_pid(s.t), s.pid);
	assert_int_equal(tracee_threads(s.t), 1);
	assert_int_equal(tracee_regs(s.t, 0)->fs_base, s.where.fs);
	return s;
}

static void glibcs(const char *name)
{
	for (int i = 0; i < CYCLES; i++) {
		struct started s = begin(name);
		uint64_t self;
		uint32_t tid;
		struct err err;

		assert_int_equal(s.where.libc, LAUNCH_GLIBC);
		assert_int_equal(s.where.tid_address, s.where.fs + GLIBC_TID);
		assert_int_equal(tracee_read(s.t, s.where.fs, &self, sizeof(self), &err), 0);
		assert_int_equal(self, s.where.fs);
		assert_int_equal(tracee_read(s.t, s.where.tid_address, &tid, sizeof(tid), &err), 0);
		assert_int_equal(tid, s.pid);
		if (i % 2)
			work_in_it(s.t);
		finish(&s, "2 an argument value 1 5 1\n");
	}
}

static void static_glibc(void **state)
{
	glibcs("hello-glibc");
}

static void static_pie(void **state)
{
	glibcs("hello-pie");
}

static void static_musl(void **state)
{
	for (int i = 0; i < CYCLES; i++) {
		struct started s = begin("hello-musl");
		uint64_t self;
		struct err err;

		assert_int_equal(s.where.libc, LAUNCH_MUSL);
		assert_int_not_equal(s.where.tid_address, 0);
		assert_int_equal(tracee_read(s.t, s.where.fs, &self, sizeof(self), &err), 0);
		assert_int_equal(self, s.where.fs);
		if (i % 2)
			work_in_it(s.t);
		finish(&s, "2 an argument value 1 5 1\n");
	}
}

static void static_go(void **state)
{
	for (int i = 0; i < CYCLES; i++) {
		struct started s = begin("hello-go");

		assert_int_equal(s.where.libc, LAUNCH_OTHER);
		assert_int_not_equal(s.where.fs, 0);
		if (i % 2)
			work_in_it(s.t);
		finish(&s, "go an argument value\n");
	}
}

static void without_a_library(void **state)
{
	for (int i = 0; i < CYCLES; i++) {
		struct started s = begin("hello-asm");

		assert_int_equal(s.where.libc, LAUNCH_NO_TLS);
		assert_int_equal(s.where.fs, 0);
		assert_int_equal(tracee_regs(s.t, 0)->rip, s.where.entry);
		if (i % 2)
			work_in_it(s.t);
		finish(&s, "ok\n");
	}
}

static void busybox(void **state)
{
	char *argv[] = { "busybox", "sh", "-c", "echo $((6*7)); busybox true; exit 7", NULL };
	struct started s;

	if (access("/bin/busybox", X_OK) < 0)
		skip();
	s = start("/bin/busybox", argv);
	if (s.r < 0)
		fail_msg("%s", s.err.text);
	if (s.where.libc != LAUNCH_GLIBC) { /* the package that is not static */
		tracee_release(s.t);
		skip();
	}
	work_in_it(s.t);
	finish(&s, "42\n");
}

/* It may be executed anew: what was started held is traced no more after. */
static void held_again_later(void **state)
{
	char *argv[] = { "busybox", "sleep", "1000", NULL };
	struct started s;
	struct err err;
	int status;

	if (access("/bin/busybox", X_OK) < 0)
		skip();
	s = start("/bin/busybox", argv);
	assert_int_equal(s.r, 0);
	tracee_release(s.t);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(tracee_check(s.pid, &err), 0);
		assert_int_equal(tracee_stop(s.pid, &s.t, &err), 0);
		work_in_it(s.t);
		tracee_release(s.t);
	}
	kill(s.pid, SIGTERM);
	assert_int_equal(waitpid(s.pid, &status, 0), s.pid);
	assert_true(WIFSIGNALED(status));
	close(s.out);
}

static void what_cannot_start(void **state)
{
	char *path = program("crash-asm"), *argv[] = { "x", NULL };
	struct started s = start(path, argv);

	assert_int_equal(s.r, -EIO);
	assert_non_null(strstr(s.err.text, "ILL"));
	close(s.out);
	s = start("/proc/no/such/program", argv);
	assert_int_equal(s.r, -ENOENT);
	assert_non_null(strstr(s.err.text, "cannot execute /proc/no/such/program"));
	close(s.out);
	s = start("/etc/passwd", argv);
	assert_int_equal(s.r, -EACCES);
	close(s.out);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left of them */
}

/* The program dies with brace as long as it is held, not after. */
static void dies_with_its_tracer_while_held(void **state)
{
	char *argv[] = { "busybox", "sleep", "1000", NULL };
	int fds[2], status;
	pid_t brace, pid = 0;
	char c;

	if (access("/bin/busybox", X_OK) < 0)
		skip();
	assert_int_equal(pipe(fds), 0);
	brace = fork();
	if (brace == 0) {
		struct started s = start("/bin/busybox", argv);

		if (write(fds[1], &s.pid, sizeof(s.pid)) != sizeof(s.pid))
			abort();
		pause();
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &pid, sizeof(pid)), sizeof(pid));
	kill(brace, SIGKILL);
	waitpid(brace, &status, 0);
	assert_int_equal(read(fds[0], &c, 1), 0); /* the end of the pipe: the sleep that had it is gone too */
	close(fds[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(static_glibc),
		cmocka_unit_test(static_pie),
		cmocka_unit_test(static_musl),
		cmocka_unit_test(static_go),
		cmocka_unit_test(without_a_library),
		cmocka_unit_test(busybox),
		cmocka_unit_test(held_again_later),
		cmocka_unit_test(what_cannot_start),
		cmocka_unit_test(dies_with_its_tracer_while_held),
	};

	if (argc != 2)
		return 2;
	folder = argv[1];
	setenv("BRACE_TEST", "value", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
