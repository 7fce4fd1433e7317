/* The tree by itself: nodes of every kind with operations that note what is asked of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "golden.h"
#include "tree/tree.h"

static struct tree *t;
static unsigned shows, truncates, flushes, releases;
static char written[64], told[1024];

static int show(struct tree_file *f, struct out *text, struct err *err)
{
	out_printf(text, "%s %u\n", (const char *)f->arg, ++shows);
	return 0;
}

static int truncate_it(struct tree_file *f, struct err *err)
{
	truncates++;
	return f->arg ? 0 : err_set(err, EBUSY, "in use");
}

static ssize_t take_a_word(struct tree_file *f, const char *text, size_t n, struct err *err)
{
	size_t word = strcspn(text, " \n");

	if (!strncmp(text, "bad", 3))
		return err_at(err, EINVAL, text, 1, "it is bad");
	snprintf(written + strlen(written), sizeof(written) - strlen(written), "[%.*s]", (int)word, text);
	return (ssize_t)(word + (word < n));
}

static int flush(struct tree_file *f, struct err *err)
{
	flushes++;
	return 0;
}

static void release(struct tree_file *f)
{
	releases++;
}

static const struct tree_file_ops text_ops = {
	.show = show, .truncate = truncate_it, .write = take_a_word, .flush = flush, .release = release,
};
static const struct tree_file_ops once_ops = { .show = show, .exclusive = true, .location = "somewhere" };

/* Each time a line longer, with how many there are at its head; `rewritten`: of another
 * beginning. */
static unsigned lines;
static bool rewritten;

static int show_log(struct tree_file *f, struct out *text, struct err *err)
{
	out_printf(text, "# lines: %u\n", lines);
	for (unsigned i = 0; i < lines; i++)
		out_printf(text, "%s %u\n", rewritten ? "other" : "line", i);
	return 0;
}

static const struct tree_file_ops log_ops = { .show = show_log, .grows = true };

static void failed(struct tree_owner *owner, const char *location, const char *text, size_t n, const struct err *err)
{
	snprintf(told, sizeof(told), "%s|%.*s|%s|%zu", location, (int)n, text, err->text, err->column);
}

static struct tree_owner owner = { failed };

static int setup(void **state)
{
	struct tree_node *dir, *whole;

	shows = truncates = flushes = releases = 0;
	written[0] = told[0] = '\0';
	t = tree_new(&owner);
	tree_file(tree_root(t), "a", 0640, &text_ops, "a");
	tree_file(tree_root(t), "busy", 0640, &text_ops, NULL);
	dir = tree_dir(tree_root(t), "dir", 0750, NULL);
	tree_file(dir, "b", 0640, &text_ops, "b");
	whole = tree_file(dir, "once", 0440, &once_ops, "once");
	tree_set_whole(tree_file(dir, "part", 0440, &once_ops, "part"), whole);
	tree_set_whole(tree_file(dir, "rest", 0440, &once_ops, "rest"), whole);
	tree_file(tree_root(t), "log", 0440, &log_ops, "log");
	return 0;
}

static int teardown(void **state)
{
	tree_free(t);
	return 0;
}

static struct tree_open *open_file(const char *path, int flags)
{
	struct tree_node *n = tree_find(t, path);
	struct tree_open *o = NULL;

	assert_non_null(n);
	assert_int_equal(tree_open(n, flags, 0, 0, &o, NULL), 0);
	tree_put(n);
	return o;
}

static int open_error(const char *path, int flags)
{
	struct tree_node *n = tree_find(t, path);
	struct tree_open *o;
	int e = tree_open(n, flags, 0, 0, &o, NULL);

	tree_put(n);
	return e;
}

static void paths(void **state)
{
	static const char *const there[] = { "", "/", "a", "/a", "dir/b", "//dir//b/" };
	static const char *const not_there[] = { "x", "dir/x", "a/b", ".", ".." };

	for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++) {
		struct tree_node *n = tree_find(t, there[i]);

		assert_non_null(n);
		tree_put(n);
	}
	for (size_t i = 0; i < sizeof(not_there) / sizeof(*not_there); i++)
		assert_null(tree_find(t, not_there[i]));
}

static void attributes(void **state)
{
	struct tree_node *n = tree_find(t, "dir");
	struct tree_list l;
	struct stat st;

	tree_stat(n, &st);
	assert_int_equal(st.st_mode, S_IFDIR | 0750);
	assert_int_equal(st.st_uid, geteuid());
	tree_chmod(n, 0700);
	tree_chown(n, (uid_t)-1, 77);
	tree_stat(n, &st);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(st.st_gid, 77);
	assert_int_equal(st.st_uid, geteuid());
	tree_list(n, &l);
	assert_int_equal(l.entries.n, 4);
	assert_string_equal(l.entries.at[0].name, "b");
	tree_list_free(&l);
	tree_put(n);
}

/* A reader that goes on sees the text it began with; one that begins again sees the present one. */
static void a_text_stays_while_it_is_read(void **state)
{
	struct tree_open *o = open_file("a", O_RDONLY), *other;
	char buf[16] = "";

	assert_int_equal(tree_read(o, buf, 2, 0, NULL), 2);
	other = open_file("a", O_RDONLY);
	assert_int_equal(tree_read(other, buf, sizeof(buf), 0, NULL), 4);
	assert_memory_equal(buf, "a 2\n", 4);
	assert_int_equal(tree_read(o, buf, sizeof(buf), 2, NULL), 2);
	assert_memory_equal(buf, "1\n", 2);
	assert_int_equal(tree_read(o, buf, sizeof(buf), 4, NULL), 0);
	assert_int_equal(tree_read(o, buf, sizeof(buf), 1 << 30, NULL), 0);
	assert_int_equal(tree_read(o, buf, sizeof(buf), 0, NULL), 4);
	assert_memory_equal(buf, "a 3\n", 4);
	assert_int_equal(tree_read(o, buf, sizeof(buf), -1, NULL), -EINVAL);
	tree_close(o);
	tree_close(other);
}

static void text_ahead_of_reading(void **state)
{
	struct tree_open *o = open_file("a", O_RDONLY);
	const char *text;
	char buf[8];
	size_t n;

	assert_int_equal(tree_text(o, &text, &n, NULL), 0);
	assert_string_equal(text, "a 1\n");
	assert_int_equal(tree_read(o, buf, sizeof(buf), 0, NULL), 4);
	assert_int_equal(shows, 1);
	tree_close(o);
}

static void open_modes(void **state)
{
	struct tree_open *o = open_file("a", O_WRONLY);
	char buf[8];

	assert_int_equal(truncates, 0);
	assert_int_equal(tree_read(o, buf, sizeof(buf), 0, NULL), -EINVAL);
	tree_close(o);
	tree_close(open_file("a", O_WRONLY | O_TRUNC));
	assert_int_equal(truncates, 1);
	tree_close(open_file("a", O_RDONLY | O_TRUNC));
	assert_int_equal(truncates, 1);
	o = open_file("dir/once", O_RDWR);
	assert_int_equal(tree_write(o, 0, "x", 1, NULL), -EINVAL);
	tree_close(o);
	o = open_file("a", O_RDONLY);
	assert_int_equal(tree_write(o, 0, "x", 1, NULL), -EBADF);
	tree_close(o);
	assert_int_equal(open_error("dir", O_RDONLY), -EISDIR);
	assert_int_equal(releases, 4);
}

/* The open itself fails, and tells why; everything is given back. */
static void a_failing_truncate(void **state)
{
	assert_int_equal(open_error("busy", O_WRONLY | O_TRUNC), -EBUSY);
	assert_string_equal(told, "busy||in use|0");
	assert_int_equal(releases, 1);
	tree_close(open_file("busy", O_WRONLY | O_APPEND));
}

static void words_of_a_write(void **state)
{
	struct tree_open *o = open_file("a", O_WRONLY);

	assert_int_equal(tree_write(o, 7, "one two", 7, NULL), 4);
	assert_int_equal(tree_write(o, 7, "two", 3, NULL), 3);
	assert_string_equal(written, "[one][two]");
	assert_int_equal(tree_flush(o, NULL), 0);
	assert_int_equal(tree_flush(o, NULL), 0);
	tree_close(o);
	assert_int_equal(flushes, 3);
	written[0] = '\0';
	assert_int_equal(tree_echo(t, "dir/b", "three four five", true, NULL), 0);
	assert_string_equal(written, "[three][four][five]");
}

static void failures_are_told(void **state)
{
	struct err err;

	assert_int_equal(tree_echo(t, "dir/b", "bad word", false, &err), -EINVAL);
	assert_string_equal(err.text, "it is bad");
	assert_string_equal(told, "dir/b|bad word\n|it is bad|1");
	assert_int_equal(tree_echo(t, "nosuch", "x", false, &err), -ENOENT);
	assert_null(tree_cat(t, "nosuch", &err));
}

static void reads(struct tree_open *o, off_t *at, const char *text)
{
	char buf[128];
	ssize_t n = tree_read(o, buf, sizeof(buf) - 1, *at, NULL);

	assert_true(n >= 0);
	buf[n] = '\0';
	assert_string_equal(buf, text);
	*at += n;
}

static void a_text_that_grows(void **state)
{
	struct tree_open *o = open_file("log", O_RDONLY);
	off_t at = 0;

	lines = 2;
	rewritten = false;
	reads(o, &at, "# lines: 2\nline 0\nline 1\n");
	lines = 3;
	reads(o, &at, "");
	reads(o, &at, "line 2\n");
	reads(o, &at, "");
	reads(o, &at, "");
	lines = 12; /* its head is longer */
	reads(o, &at, "line 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\nline 11\n");
	rewritten = true;
	reads(o, &at, "");
	reads(o, &at, "");
	at = lines = 0;
	reads(o, &at, "# lines: 0\n");
	tree_close(o);
}

static void parts_of_a_whole(void **state)
{
	struct tree_open *part = open_file("dir/part", O_RDONLY), *rest = open_file("dir/rest", O_RDONLY);

	assert_int_equal(open_error("dir/once", O_RDONLY), -EBUSY);
	assert_int_equal(open_error("dir/part", O_RDONLY), -EBUSY);
	tree_close(part);
	assert_int_equal(open_error("dir/once", O_RDONLY), -EBUSY);
	tree_close(rest);
	part = open_file("dir/once", O_RDONLY);
	assert_int_equal(open_error("dir/part", O_RDONLY), -EBUSY);
	tree_close(part);
	tree_close(open_file("dir/part", O_RDONLY));
}

static void once_at_a_time(void **state)
{
	struct tree_open *o = open_file("dir/once", O_RDONLY);

	assert_int_equal(open_error("dir/once", O_RDONLY), -EBUSY);
	tree_close(o);
	tree_close(open_file("dir/once", O_RDONLY));
}

/* --- making and removing ------------------------------------------------------------ */

static int refuse_removal;

static int make(struct tree_node *dir, const char *name, struct err *err)
{
	struct tree_node *n = tree_dir_new(t, name, 0750, NULL, &owner);

	tree_file(n, "file", 0640, &text_ops, "file");
	return tree_attach(dir, n);
}

static int remove_it(struct tree_node *child, struct err *err)
{
	return refuse_removal ? err_set(err, EBUSY, "not now") : 0;
}

static const struct tree_dir_ops dir_ops = { make, remove_it };

static void making_and_removing(void **state)
{
	struct tree_node *dir = tree_dir(tree_root(t), "many", 0750, &dir_ops), *kept;
	char long_name[257] = "";

	assert_int_equal(tree_mkdir(tree_root(t), "x", NULL), -EPERM);
	assert_int_equal(tree_mkdir(tree_root(t), "a", NULL), -EEXIST);
	assert_int_equal(tree_mkdir(dir, "x", NULL), 0);
	assert_int_equal(tree_mkdir(dir, "x", NULL), -EEXIST);
	assert_int_equal(tree_mkdir(dir, "..", NULL), -EINVAL);
	memset(long_name, 'n', sizeof(long_name) - 1);
	assert_int_equal(tree_mkdir(dir, long_name, NULL), -ENAMETOOLONG);
	assert_int_equal(tree_mkdir(dir, "x/y", NULL), -EINVAL);
	assert_int_equal(tree_rmdir(dir, "y", 0, NULL), -ENOENT);
	assert_int_equal(tree_rmdir(tree_root(t), "dir", 0, NULL), -EPERM);
	assert_int_equal(tree_rmdir(tree_root(t), "a", 0, NULL), -ENOTDIR);
	kept = tree_find(t, "many/x/file");
	refuse_removal = 1;
	assert_int_equal(tree_rmdir(dir, "x", 0, NULL), -EBUSY);
	refuse_removal = 0;
	tree_close(open_file("many/x/file", O_RDONLY));
	assert_int_equal(tree_rmdir(dir, "x", 0, NULL), 0);
	assert_null(tree_find(t, "many/x"));
	assert_int_equal(tree_open(kept, O_RDONLY, 0, 0, &(struct tree_open *){ NULL }, NULL), -ENOENT);
	tree_put(kept);
	assert_int_equal(tree_mkdir(dir, "x", NULL), 0);
}

static void *close_soon(void *o)
{
	tree_close(o);
	return NULL;
}

/* close(2) returns before FUSE's release arrives: removal waits for it. */
static void removal_waits_for_a_close(void **state)
{
	struct tree_node *dir = tree_dir(tree_root(t), "many", 0750, &dir_ops);
	struct tree_open *o;
	pthread_t thread;

	assert_int_equal(tree_mkdir(dir, "x", NULL), 0);
	o = open_file("many/x/file", O_RDONLY);
	assert_int_equal(tree_rmdir(dir, "x", 1, NULL), -EBUSY);
	pthread_create(&thread, NULL, close_soon, o);
	assert_int_equal(tree_rmdir(dir, "x", 60000, NULL), 0);
	pthread_join(thread, NULL);
}

/* --- streams ------------------------------------------------------------------------ */

static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned produced, consumed;

static ssize_t stream(struct tree_file *f, char *buf, size_t n, struct err *err)
{
	ssize_t got = -EAGAIN;

	pthread_mutex_lock(&stream_lock);
	if (consumed < produced) {
		*buf = (char)('a' + consumed++ % 26);
		got = 1;
	}
	pthread_mutex_unlock(&stream_lock);
	return got;
}

static const struct tree_file_ops stream_ops = { .stream = stream };

#define LETTERS 20000

static void *produce(void *node)
{
	for (unsigned i = 0; i < LETTERS; i++) {
		pthread_mutex_lock(&stream_lock);
		produced++;
		pthread_mutex_unlock(&stream_lock);
		tree_wake(node);
	}
	return NULL;
}

/* No wake is missed, however the two threads run. */
static void a_reader_that_waits(void **state)
{
	struct tree_node *n = tree_file(tree_root(t), "stream", 0440, &stream_ops, NULL);
	struct tree_open *o = open_file("stream", O_RDONLY);
	unsigned got = 0;
	pthread_t thread;
	char c;

	produced = consumed = 0;
	pthread_create(&thread, NULL, produce, n);
	while (got < LETTERS) {
		unsigned wakes = tree_wakes(n);

		if (tree_read(o, &c, 1, 0, NULL) == 1)
			got++;
		else
			assert_true(tree_wait(n, wakes));
	}
	pthread_join(thread, NULL);
	assert_int_equal(tree_read(o, &c, 1, 0, NULL), -EAGAIN);
	tree_end(t);
	assert_false(tree_wait(n, tree_wakes(n)));
	tree_close(o);
}

/* --- many at once ------------------------------------------------------------------- */

static void *make_and_remove(void *arg)
{
	struct tree_node *dir = tree_find(t, "many");
	unsigned made = 0;

	for (unsigned i = 0; i < 2000; i++) {
		struct tree_node *n = tree_find(t, "many/x/file");
		struct tree_open *o;
		char buf[8];

		made += !tree_mkdir(dir, "x", NULL);
		if (n && !tree_open(n, O_RDONLY, 0, 0, &o, NULL)) {
			tree_read(o, buf, sizeof(buf), 0, NULL);
			tree_close(o);
		}
		if (n)
			tree_put(n);
		made -= !tree_rmdir(dir, "x", 0, NULL);
	}
	tree_put(dir);
	return (void *)(uintptr_t)made;
}

static int quiet(struct tree_file *f, struct out *text, struct err *err)
{
	out_str(text, "quiet\n");
	return 0;
}

static const struct tree_file_ops quiet_ops = { .show = quiet };

static int make_quiet(struct tree_node *dir, const char *name, struct err *err)
{
	struct tree_node *n = tree_dir_new(t, name, 0750, NULL, &owner);

	tree_file(n, "file", 0640, &quiet_ops, NULL);
	return tree_attach(dir, n);
}

static const struct tree_dir_ops quiet_dir_ops = { make_quiet, remove_it };

/* As many made as removed, but for what is there at the end. */
static void many_threads(void **state)
{
	pthread_t threads[4];
	unsigned made = 0;
	struct tree_node *left;

	tree_dir(tree_root(t), "many", 0750, &quiet_dir_ops);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, make_and_remove, NULL);
	for (unsigned i = 0; i < 4; i++) {
		void *n;

		pthread_join(threads[i], &n);
		made += (unsigned)(uintptr_t)n;
	}
	left = tree_find(t, "many/x");
	assert_int_equal(made, left ? 1 : 0);
	if (left)
		tree_put(left);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paths), TEST(attributes), TEST(a_text_stays_while_it_is_read), TEST(text_ahead_of_reading),
		TEST(open_modes), TEST(a_failing_truncate), TEST(words_of_a_write), TEST(failures_are_told),
		TEST(a_text_that_grows), TEST(once_at_a_time), TEST(parts_of_a_whole), TEST(making_and_removing), TEST(removal_waits_for_a_close),
		TEST(a_reader_that_waits), TEST(many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
