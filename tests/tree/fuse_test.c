/* The mounted tree by real system calls: what reading, waiting, polling, splicing and closing
 * give. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/mem.h"
#include "golden.h"
#include "tree/fuse_internal.h"
#include "tree/mount_point.h"

static char where[] = "/tmp/brace-fuse.XXXXXX";
static struct tree *t;
static struct fuse_mount *face;
static struct tree_node *stream_node;
static pthread_t server;
static char *reason; /* why nothing can be mounted here; NULL: it can */

/* --- the tree that is mounted --------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char produced[4096]; /* and not read yet */
static size_t n_produced;
static unsigned count;
static pid_t writer;

/* The server's threads get their data through the kernel; this lock tells the sanitizer of that
 * order. */
static void set_count(unsigned n)
{
	pthread_mutex_lock(&lock);
	count = n;
	pthread_mutex_unlock(&lock);
}

static void produce(const char *text)
{
	pthread_mutex_lock(&lock);
	memcpy(produced + n_produced, text, strlen(text));
	n_produced += strlen(text);
	pthread_mutex_unlock(&lock);
	tree_wake(stream_node);
}

static ssize_t stream(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	ssize_t got = -EAGAIN;

	pthread_mutex_lock(&lock);
	if (n_produced) {
		got = (ssize_t)(n < n_produced ? n : n_produced);
		memcpy(buf, produced, (size_t)got);
		n_produced -= (size_t)got;
		memmove(produced, produced + got, n_produced);
	}
	pthread_mutex_unlock(&lock);
	return got;
}

static bool ready(struct tree_file *f)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = n_produced;
	pthread_mutex_unlock(&lock);
	return any;
}

/* Every reading gives a longer text: "1\n", "2 2\n", ... */
static int show(struct tree_file *f, struct out *text, struct err *err)
{
	unsigned now;

	pthread_mutex_lock(&lock);
	now = ++count;
	pthread_mutex_unlock(&lock);
	for (unsigned i = 1; i < now; i++)
		out_printf(text, "%u ", now);
	out_printf(text, "%u\n", now);
	return 0;
}

static ssize_t take(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	pthread_mutex_lock(&lock);
	writer = f->thread;
	pthread_mutex_unlock(&lock);
	return strncmp(text, "bad", 3) ? (ssize_t)n : -EOVERFLOW;
}

/* Longer than an open waits for a file that stays open. */
static void close_slowly(struct tree_file *f)
{
	poll(NULL, 0, 2 * FUSE_PATIENCE_MS);
}

static const struct tree_file_ops slow_ops = {
	.show = show, .release = close_slowly, .exclusive = true,
};
static const struct tree_file_ops stream_ops = { .stream = stream, .ready = ready, .exclusive = true };
static const struct tree_file_ops count_ops = { .show = show, .write = take };
static const struct tree_file_ops marker_ops = { .write = take };

static int make(struct tree_node *dir, const char *name, struct err *err)
{
	struct tree_node *n = tree_dir_new(t, name, 0750, NULL, NULL);

	tree_file(n, "file", 0640, &count_ops, NULL);
	return tree_attach(dir, n);
}

static int remove_it(struct tree_node *child, struct err *err)
{
	return 0;
}

static const struct tree_dir_ops dir_ops = { make, remove_it };

static struct tree *build(void)
{
	struct tree *tree = tree_new(NULL);

	tree_file(tree_root(tree), "count", 0640, &count_ops, NULL);
	tree_file(tree_root(tree), "marker", 0220, &marker_ops, NULL);
	tree_dir(tree_root(tree), "dirs", 0750, &dir_ops);
	tree_file(tree_root(tree), "slow", 0440, &slow_ops, NULL);
	stream_node = tree_file(tree_root(tree), "stream", 0440, &stream_ops, NULL);
	return tree;
}

static void *serve(void *arg)
{
	fuse_mount_serve(face, NULL);
	return NULL;
}

static int start(void)
{
	struct err err;
	char *path;
	int e = mount_point_take(where, &path, &err);

	t = build();
	if (!e) {
		e = fuse_mount_start(t, path, &face, &err);
		free(path);
	}
	if (e) {
		tree_free(t);
		reason = mem_strdup(err.text);
		return 0;
	}
	return pthread_create(&server, NULL, serve, NULL);
}

static int end(void)
{
	if (reason)
		return 0;
	fuse_mount_stop(face);
	pthread_join(server, NULL);
	fuse_mount_free(face);
	tree_free(t);
	return 0;
}

/* We serve ourselves: if a test crashes in the middle of a call there is nobody who answers it, and
 * the kernel waits for ever. A child then breaks the mount, and the crash can be seen. */
#define LONGEST_MS 90000

static int watched; /* closed when all is well */

static void watch_over(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	if (!poll(&p, 1, LONGEST_MS))
		umount2(where, MNT_FORCE);
	umount2(where, MNT_DETACH); /* that of a test that crashed */
	_exit(0);
}

static int mount_it(void **state)
{
	int to[2];

	if (!mkdtemp(where) || pipe2(to, O_CLOEXEC))
		return -1;
	if (!fork()) {
		close(to[1]);
		watch_over(to[0]);
	}
	close(to[0]);
	watched = to[1];
	return start();
}

static int unmount_it(void **state)
{
	end();
	close(watched);
	return rmdir(where);
}

/* --- helpers ------------------------------------------------------------------------ */

static void need_mount(void **state)
{
	if (!reason)
		return;
	print_message("skipped: %s\n", reason);
	skip();
}

static const char *in(const char *name)
{
	static _Thread_local char path[128];

	snprintf(path, sizeof(path), "%s/%s", where, name);
	return path;
}

static int open_in(const char *name, int flags)
{
	int fd = open(in(name), flags | O_CLOEXEC);

	if (fd < 0)
		fail_msg("open %s: %s", name, strerror(errno));
	return fd;
}

static void reads(int fd, const char *want)
{
	char buf[256] = "";
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	if (n < 0)
		fail_msg("read: %s", strerror(errno));
	assert_string_equal(buf, want);
}

struct reader { pthread_t thread; int fd; char buf[64]; ssize_t n; int error; };

static void *read_in_thread(void *arg)
{
	struct reader *r = arg;

	r->n = read(r->fd, r->buf, sizeof(r->buf) - 1);
	r->error = errno;
	return NULL;
}

/* Until a read of the stream waits in the server. */
static void await_waiting(void)
{
	bool waits = false;

	while (!waits) {
		pthread_mutex_lock(&face->lock);
		waits = face->waits;
		pthread_mutex_unlock(&face->lock);
		sched_yield();
	}
}

static void begin_read(struct reader *r, int fd)
{
	*r = (struct reader){ .fd = fd };
	pthread_create(&r->thread, NULL, read_in_thread, r);
	await_waiting();
}

/* --- texts -------------------------------------------------------------------------- */

static void a_text(void **state)
{
	int fd, other;
	char buf[8];

	need_mount(state);
	set_count(0);
	fd = open_in("count", O_RDONLY);
	other = open_in("count", O_RDONLY);
	reads(fd, "1\n");
	reads(fd, "");
	reads(other, "2 2\n");
	lseek(fd, 0, SEEK_SET);
	reads(fd, "3 3 3\n");
	assert_int_equal(pread(fd, buf, 2, 4), 2);
	assert_memory_equal(buf, "3\n", 2);
	close(fd);
	close(other);
}

/* sendfile(2) copies from the page cache: each open has its own there. */
static void a_text_by_sendfile(void **state)
{
	int a, b, to[2];
	struct stat st;

	need_mount(state);
	set_count(4);
	assert_int_equal(pipe(to), 0);
	a = open_in("count", O_RDONLY);
	b = open_in("count", O_RDONLY);
	assert_int_equal(sendfile(to[1], a, NULL, 4096), 10);
	reads(to[0], "5 5 5 5 5\n");
	assert_int_equal(sendfile(to[1], b, NULL, 4096), 12);
	reads(to[0], "6 6 6 6 6 6\n");
	assert_int_equal(fstat(b, &st), 0);
	assert_int_equal(st.st_size, 12);
	assert_int_equal(stat(in("count"), &st), 0);
	assert_int_equal(st.st_size, 0);
	close(a);
	close(b);
	close(to[0]);
	close(to[1]);
}

static void writes(void **state)
{
	int fd;

	need_mount(state);
	fd = open_in("count", O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "good", 4), 4);
	pthread_mutex_lock(&lock);
	assert_int_equal(writer, getpid());
	pthread_mutex_unlock(&lock);
	assert_int_equal(write(fd, "bad", 3), -1);
	assert_int_equal(errno, EOVERFLOW);
	close(fd);
	fd = open_in("marker", O_WRONLY);
	assert_int_equal(lseek(fd, 0, SEEK_SET), -1);
	assert_int_equal(errno, ESPIPE);
	close(fd);
}

static void refused(void **state)
{
	struct stat st;

	need_mount(state);
	assert_true(open(in("nosuch"), O_RDONLY) < 0 && errno == ENOENT);
	assert_true(open(in("nosuch"), O_WRONLY | O_CREAT, 0666) < 0 && errno == EACCES);
	assert_true(mkdir(in("x"), 0777) && errno == EPERM);
	assert_true(unlink(in("count")) && errno == EPERM);
	assert_true(rename(in("count"), in("marker")) && errno == EPERM);
	assert_true(symlink("a", in("b")) && errno == EPERM);
	assert_true(rmdir(in("dirs")) && errno == EPERM);
	assert_true(rmdir(in("nosuch")) && errno == ENOENT);
	assert_int_equal(chmod(in("count"), 0600), 0);
	assert_int_equal(stat(in("count"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(truncate(in("count"), 0), 0);
}

/* close(2) returns before the server hears of it; what follows must not fail for that. */
static void right_after_close(void **state)
{
	need_mount(state);
	for (unsigned i = 0; i < 200; i++) {
		int fd = open_in("stream", O_RDONLY);

		if (!i)
			assert_true(open(in("stream"), O_RDONLY) < 0 && errno == EBUSY);
		close(fd);
		close(open_in("stream", O_RDONLY));
		assert_int_equal(mkdir(in("dirs/x"), 0777), 0);
		fd = open_in("dirs/x/file", O_RDWR);
		if (!i)
			assert_true(rmdir(in("dirs/x")) && errno == EBUSY);
		close(fd);
		assert_int_equal(rmdir(in("dirs/x")), 0);
	}
}

/* A server that has no processor for a while: the close is waited for, not the time. */
static void right_after_a_slow_close(void **state)
{
	need_mount(state);
	close(open_in("slow", O_RDONLY));
	close(open_in("slow", O_RDONLY));
}

/* --- streams ------------------------------------------------------------------------ */

static void a_read_that_waits(void **state)
{
	int fd;

	need_mount(state);
	fd = open_in("stream", O_RDONLY);
	for (unsigned i = 0; i < 200; i++) {
		struct reader r;

		begin_read(&r, fd);
		produce("line\n");
		pthread_join(r.thread, NULL);
		assert_int_equal(r.n, 5);
		assert_string_equal(r.buf, "line\n");
	}
	close(fd);
}

static void a_read_that_does_not(void **state)
{
	int fd;
	char c;

	need_mount(state);
	fd = open_in("stream", O_RDONLY | O_NONBLOCK);
	assert_true(read(fd, &c, 1) < 0 && errno == EAGAIN);
	produce("ab");
	reads(fd, "ab");
	fcntl(fd, F_SETFL, 0);
	produce("c");
	reads(fd, "c");
	assert_int_equal(lseek(fd, 0, SEEK_SET), -1);
	close(fd);
}

static void on_signal(int sig)
{
}

/* The reader is let go, and what comes afterwards is all there. */
static void an_interrupted_read(void **state)
{
	struct sigaction act = { .sa_handler = on_signal };
	int fd;

	need_mount(state);
	sigaction(SIGUSR1, &act, NULL);
	fd = open_in("stream", O_RDONLY);
	for (unsigned i = 0; i < 200; i++) {
		struct reader r;

		begin_read(&r, fd);
		pthread_kill(r.thread, SIGUSR1);
		pthread_join(r.thread, NULL);
		assert_int_equal(r.n, -1);
		assert_int_equal(r.error, EINTR);
		produce("kept");
		reads(fd, "kept");
	}
	close(fd);
}

/* A signal and data at the same time: the read gives the one or the other, and no byte is lost. */
static void interrupts_lose_nothing(void **state)
{
	unsigned in_time = 0;
	int fd;

	need_mount(state);
	fd = open_in("stream", O_RDONLY);
	for (unsigned i = 0; i < 500 || (!in_time && i < 50000); i++) { /* on a busy machine the signal mostly wins */
		struct reader r;

		begin_read(&r, fd);
		produce("x");
		pthread_kill(r.thread, SIGUSR1);
		pthread_join(r.thread, NULL);
		if (r.n < 0)
			reads(fd, "x");
		else
			in_time++;
	}
	assert_true(in_time > 0);
	close(fd);
}

static void polls(void **state)
{
	struct pollfd p = { .events = POLLIN };
	int fd;

	need_mount(state);
	fd = open_in("count", O_RDONLY);
	p.fd = fd;
	assert_int_equal(poll(&p, 1, 0), 1);
	close(fd);
	p.fd = open_in("stream", O_RDONLY);
	assert_int_equal(poll(&p, 1, 0), 0);
	produce("y");
	assert_int_equal(poll(&p, 1, 0), 1);
	reads(p.fd, "y");
	assert_int_equal(poll(&p, 1, 0), 0);
	close(p.fd);
}

static void *poll_in_thread(void *arg)
{
	struct reader *r = arg;
	struct pollfd p = { r->fd, POLLIN, 0 };

	r->n = poll(&p, 1, 60000);
	return NULL;
}

static void a_poll_that_waits(void **state)
{
	int fd;

	need_mount(state);
	fd = open_in("stream", O_RDONLY);
	for (unsigned i = 0; i < 100; i++) {
		struct reader r = { .fd = fd };
		bool waits = false;

		pthread_create(&r.thread, NULL, poll_in_thread, &r);
		while (!waits) {
			pthread_mutex_lock(&face->lock);
			for (struct fuse_open *o = face->opens; o; o = o->next)
				waits |= o->poll != NULL;
			pthread_mutex_unlock(&face->lock);
			sched_yield();
		}
		produce("z");
		pthread_join(r.thread, NULL);
		assert_int_equal(r.n, 1);
		reads(fd, "z");
	}
	close(fd);
}

/* --- many at once, and the end --------------------------------------------------------- */

static void *use_all(void *arg)
{
	for (unsigned i = 0; i < 300; i++) {
		char buf[4096];
		int fd = open(in("count"), O_RDWR | O_CLOEXEC);

		pthread_mutex_lock(&lock);
		count %= 100;
		pthread_mutex_unlock(&lock);
		if (fd < 0 || read(fd, buf, sizeof(buf)) <= 0 || write(fd, "x", 1) != 1)
			*(bool *)arg = true;
		close(fd);
		if (!mkdir(in("dirs/y"), 0777))
			rmdir(in("dirs/y"));
	}
	return NULL;
}

static void many_threads(void **state)
{
	pthread_t threads[4];
	bool wrong[4] = { false };

	need_mount(state);
	set_count(0);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, use_all, &wrong[i]);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_false(wrong[i]);
	}
}

/* A reader that waits sees the end; files that are open answer with errors; the directory is
 * free. */
static void the_end(void **state)
{
	struct reader r;
	int fd, text;
	char c;

	need_mount(state);
	fd = open_in("stream", O_RDONLY);
	text = open_in("count", O_RDWR);
	begin_read(&r, fd);
	end();
	pthread_join(r.thread, NULL);
	assert_true(r.n <= 0);
	assert_true(read(fd, &c, 1) < 0);
	assert_true(write(text, "x", 1) < 0);
	close(fd);
	close(text);
	assert_true(access(in("count"), F_OK) && errno == ENOENT);
	start();
	assert_null(reason);
	set_count(0);
	close(open_in("count", O_RDONLY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text), cmocka_unit_test(a_text_by_sendfile), cmocka_unit_test(writes),
		cmocka_unit_test(refused), cmocka_unit_test(right_after_close),
		cmocka_unit_test(right_after_a_slow_close), cmocka_unit_test(a_read_that_waits),
		cmocka_unit_test(a_read_that_does_not), cmocka_unit_test(an_interrupted_read),
		cmocka_unit_test(interrupts_lose_nothing), cmocka_unit_test(polls), cmocka_unit_test(a_poll_that_waits),
		cmocka_unit_test(many_threads), cmocka_unit_test(the_end),
	};

	return cmocka_run_group_tests(tests, mount_it, unmount_it);
}
