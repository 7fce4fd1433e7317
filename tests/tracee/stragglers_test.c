/* Threads that wait in a FUSE file system, which answers when brace has given up: they go on, and
 * see no more of it than of nothing. */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "tracee/holder.h"

static char directory[] = "/tmp/stragglers_test.XXXXXX";
static char file[sizeof(directory) + 2];
static int go[2];           /* a byte for each answer: 'n' is EINTR */

/* --- the file system -------------------------------------------------------------------------- */

static int get_attributes(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = strcmp(path, "/") ? S_IFREG | 0444 : S_IFDIR | 0755;
	st->st_nlink = 1;
	st->st_size = strcmp(path, "/") ? 4 : 0;
	return 0;
}

static int open_directly(const char *path, struct fuse_file_info *fi)
{
	fi->direct_io = 1;
	return 0;
}

static int answer_late(const char *path, char *to, size_t n, off_t at, struct fuse_file_info *fi)
{
	char how;

	if (read(go[0], &how, 1) != 1)
		return -EIO;
	memcpy(to, "late", 4);
	return how == 'n' ? -EINTR : 4;
}

static pid_t serve(void)
{
	static const struct fuse_operations ops = { .getattr = get_attributes, .open = open_directly, .read = answer_late };
	char *argv[] = { "late", "-f", "-omax_threads=4", directory, NULL };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fuse_main(4, argv, &ops, NULL));
	}
	return pid;
}

static bool is_served(void)
{
	struct stat st;

	return stat(file, &st) == 0;
}

/* --- the program ------------------------------------------------------------------------------ */

static void read_slowly(struct report *r)
{
	int fd = open(file, O_RDONLY);
	char text[4];

	r->ready = 1;
	if (read(fd, text, 4) != 4 || memcmp(text, "late", 4)) {
		r->first_errno = errno;
		r->bad = 1;
	}
	r->rounds = 1;
	while (!r->stop)
		usleep(1000);
}

static bool waits_in_fuse(pid_t pid)
{
	char name[32], text[64] = "";
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/wchan", (int)pid);
	f = fopen(name, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return strstr(text, "request_wait_answer") != NULL;
}

/* --- */

static int hold(void *of)
{
	const pid_t *pid = of;
	struct tracee *t;
	struct err err;
	int r = tracee_stop(*pid, &t, &err);

	if (r == 0)
		tracee_release(t);
	else if (!strstr(err.text, "does not stop"))
		r = -1;
	return r;
}

static void answered(const char *answers)
{
	struct child c = child_start(read_slowly, 1);
	struct err err;

	wait_until(waits_in_fuse(c.pid));
	assert_int_equal(holder_run(hold, &c.pid, &err), -EBUSY);
	assert_int_equal(holder_run(hold, &c.pid, &err), -EBUSY); /* the first one's holder still has the thread */
	assert_int_equal(write(go[1], answers, strlen(answers)), strlen(answers));
	wait_until(c.report->rounds == 1);
	assert_int_equal(c.report->first_errno, 0);
	assert_int_equal(c.report->bad, 0);
	assert_int_equal(holder_run(hold, &c.pid, &err), 0);
	assert_int_equal(child_end(&c), 0);
}

static void test_it_goes_on(void **state)
{
	answered("y");
}

/* A file system that heeds the interrupt: the program did not ask for one. */
static void test_it_sees_no_eintr(void **state)
{
	answered("ny");
}

static void test_it_may_end(void **state)
{
	struct child c = child_start(read_slowly, 1);
	struct err err;

	wait_until(waits_in_fuse(c.pid));
	assert_int_equal(holder_run(hold, &c.pid, &err), -EBUSY);
	kill(c.pid, SIGKILL);
	assert_int_equal(write(go[1], "y", 1), 1); /* a FUSE request is waited out, also by the dead */
	child_kill(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_goes_on),
		cmocka_unit_test(test_it_sees_no_eintr),
		cmocka_unit_test(test_it_may_end),
	};
	pid_t server;
	int failed;

	if (pipe2(go, O_CLOEXEC) < 0 || !mkdtemp(directory))
		return 99;
	snprintf(file, sizeof(file), "%s/f", directory);
	server = serve();
	for (int i = 0; i < 10000 && !is_served(); i++)
		usleep(1000);
	failed = is_served() ? cmocka_run_group_tests(tests, NULL, NULL) : 99;
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	rmdir(directory);
	return failed;
}
