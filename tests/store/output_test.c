/* Where the file goes: its mode, what it may replace, and disks and pipes that fail. */
#include "cmocka_all.h"
#include "sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/record.h"

static char dir[64];

static const char *in_dir(const char *name)
{
	static char paths[4][128];
	static unsigned i;

	snprintf(paths[++i % 4], sizeof(paths[0]), "%s/%s", dir, name);
	return paths[i % 4];
}

static int make_dir(void **state)
{
	strcpy(dir, "store-output.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	static const char *const names[] = { "a", "a.old", "b", "c", "c.old", "link", "pipe", "locked/a" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_dir(names[i]));
	rmdir(in_dir("locked"));
	return rmdir(dir);
}

static struct trace_info *small_info(void)
{
	struct trace_info *info = trace_info_new();

	info->version = mem_strdup("test");
	*vec_add(&info->images) = (struct trace_image){0};
	*vec_add(&info->threads) = (struct trace_thread){0};
	return info;
}

/* Creates and finishes an empty trace. */
static int write_empty(const char *path, struct err *err)
{
	struct trace_info *info = small_info();
	struct store_writer *w;
	int r = store_create(path, info, &w, err);

	if (!r)
		r = store_finish(w, err);
	trace_info_free(info);
	return r;
}

/* Incompressible records until an error comes; `most` words at most. */
static int write_noise(struct store_writer *w, size_t most, struct err *err)
{
	static uint64_t words[8192];
	uint64_t random = 1, tsc = 0, near;
	int r = 0;

	for (size_t done = 0; done < most && !r; done += 8192) {
		near = tsc;
		for (int i = 0; i < 8192; i++) {
			uint64_t v = sample_random(&random);

			tsc += v >> 32;
			words[i] = record_word(tsc, v & RECORD_ID_MAX, RECORD_ENTRY);
		}
		r = store_records(w, 0, near, 0, 0, words, 8192, err);
	}
	return r;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_mode(void **state)
{
	mode_t old = umask(0);
	struct stat st;
	struct err err;

	assert_int_equal(write_empty(in_dir("a"), &err), 0);
	umask(old);
	assert_int_equal(stat(in_dir("a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* A new file, not the old one overwritten: who has that open keeps it, and its mode goes too. */
static void test_replaces(void **state)
{
	char text[4] = "";
	struct stat st;
	struct err err;
	int fd;

	write_text(in_dir("a"), "bra");
	fd = open(in_dir("a"), O_RDONLY);
	assert_int_equal(write_empty(in_dir("a"), &err), 0);
	assert_int_equal(read(fd, text, 3), 3);
	assert_string_equal(text, "bra");
	close(fd);
	assert_int_equal(stat(in_dir("a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(st.st_size > 24);
}

static size_t size_of(const char *name)
{
	struct stat st;

	return stat(in_dir(name), &st) ? 0 : (size_t)st.st_size;
}

/* The last trace but one is the oldest that is kept. */
static void test_keeps_the_old(void **state)
{
	struct err err;

	write_text(in_dir("a"), "brace\r\n\x1a first");
	assert_int_equal(write_empty(in_dir("a"), &err), 0);
	assert_int_equal(size_of("a.old"), 14);
	assert_int_equal(write_empty(in_dir("a"), &err), 0);
	assert_int_equal(size_of("a.old"), size_of("a"));
	unlink(in_dir("a.old"));
}

static void test_no_trace_is_not_replaced(void **state)
{
	struct err err;

	write_text(in_dir("a"), "precious");
	assert_int_equal(write_empty(in_dir("a"), &err), -EEXIST);
	assert_non_null(strstr(err.text, "is no trace file"));
	assert_int_equal(size_of("a"), 8);
	write_text(in_dir("c"), "brace");
	write_text(in_dir("c.old"), "precious");
	assert_int_equal(write_empty(in_dir("c"), &err), -EEXIST);
	assert_int_equal(size_of("c"), 5);
	assert_int_equal(size_of("c.old"), 8);
}

/* Without a record nothing replaces what was there. */
static void test_brings_the_old_back(void **state)
{
	struct trace_info info = { 0 };
	struct store_writer *w;
	struct err err;

	write_text(in_dir("a"), "brace\r\n\x1a first");
	assert_int_equal(store_create(in_dir("a"), &info, &w, &err), 0);
	assert_int_equal(size_of("a.old"), 14);
	store_discard(w);
	assert_int_equal(size_of("a"), 14);
	assert_int_equal(size_of("a.old"), 0);
}

static void test_symlink(void **state)
{
	struct stat st;
	struct err err;

	write_text(in_dir("b"), "target");
	assert_int_equal(symlink("b", in_dir("link")), 0);
	assert_int_equal(write_empty(in_dir("link"), &err), -ELOOP);
	assert_non_null(strstr(err.text, "symbolic link"));
	assert_int_equal(stat(in_dir("b"), &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(lstat(in_dir("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_another_users(void **state)
{
	struct err err;

	if (geteuid())
		skip();
	write_text(in_dir("b"), "theirs");
	assert_int_equal(chown(in_dir("b"), 65534, 65534), 0);
	assert_int_equal(write_empty(in_dir("b"), &err), -EPERM);
	assert_int_equal(access(in_dir("b"), F_OK), 0);
}

static void test_no_directory(void **state)
{
	struct err err;

	assert_int_equal(write_empty(in_dir("none/a"), &err), -ENOENT);
	assert_int_equal(write_empty(dir, &err), -EISDIR);
	assert_int_equal(mkdir(in_dir("locked"), 0500), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(write_empty(in_dir("locked/a"), &err), -EACCES);
	assert_non_null(strstr(err.text, "Permission denied"));
	assert_int_equal(seteuid(getuid()), 0);
}

static void test_full(void **state)
{
	struct err err;

	assert_int_equal(write_empty("/dev/full", &err), -ENOSPC);
	assert_non_null(strstr(err.text, "/dev/full: No space left on device"));
	assert_int_equal(access("/dev/full", F_OK), 0);
	assert_int_equal(write_empty("/dev/null", &err), 0);
	assert_int_equal(access("/dev/null", F_OK), 0);
}

/* The disk fills up under way: said by the next call, and the file reads up to there. */
static void test_full_later(void **state)
{
	struct rlimit old, small = { 3 << 20, 0 };
	struct trace_info *info = small_info();
	struct store_writer *w;
	struct store_reader *r;
	struct events got;
	struct err err;

	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(store_create(in_dir("a"), info, &w, &err), 0);
	assert_int_equal(write_noise(w, 16 << 20, &err), -EFBIG);
	assert_int_equal(store_finish(w, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(store_open(in_dir("a"), &r, &err), 0);
	assert_true(store_was_cut(r, NULL));
	assert_int_equal(read_thread(r, 0, &got, &err), 0);
	assert_true(got.n > 100000);
	vec_free(&got);
	store_close(r);
	trace_info_free(info);
}

#define PRODUCED (768 << 10)

/* Names that no compression shortens, in a module of their own: the end of the file needs room for
 * them once more. */
static void add_names(struct trace_info *info, size_t n)
{
	struct trace_module *m = vec_add(&info->modules);
	uint64_t random = 7;

	*m = (struct trace_module){ .path = mem_strdup("/m"), .name = mem_strdup("m") };
	*vec_add(&m->strings) = 0;
	for (uint32_t i = 0; i < n; i++) {
		char name[32];

		*vec_add(&m->functions) = (struct trace_function){ .vaddr = i, .name = (uint32_t)m->strings.n };
		snprintf(name, sizeof(name), "%016llx", (unsigned long long)sample_random(&random));
		for (char *c = name; c == name || c[-1]; c++)
			*vec_add(&m->strings) = *c;
	}
}

/* Records of one thread until long after `limit` bytes are full; another's come when it is too
 * late. */
static void fill(const char *path, struct trace_info *info, uint64_t limit, int want, struct err *why)
{
	struct rlimit old, small = { limit, 0 };
	struct store_writer *w;
	struct err err = { 0 };

	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(store_create(path, info, &w, &err), 0);
	write_noise(w, PRODUCED, &err);
	*why = (struct err){ 0 };
	info->threads.at[0].records = PRODUCED;
	info->threads.at[1].records = 1000;
	info->threads.at[1].lost = 11;
	assert_int_equal(store_end(w, info, why, &err), want);
	setrlimit(RLIMIT_FSIZE, &old);
}

/* The file has an end, and kept + lost = produced, of each thread, in the file and in what its
 * writer says. */
static void check_short(const char *path, const struct trace_info *said, size_t names)
{
	struct store_reader *r;
	struct events got;
	struct err err;

	assert_int_equal(store_open(path, &r, &err), 0);
	assert_false(store_was_cut(r, NULL));
	for (uint32_t t = 0; t < 2; t++) {
		const struct trace_thread *thread = &store_info(r)->threads.at[t];
		uint64_t lost = 0, records = 0;

		assert_int_equal(thread->records + thread->lost, t ? 1011 : PRODUCED);
		assert_int_equal(thread->lost, said->threads.at[t].lost);
		assert_int_equal(read_thread(r, t, &got, &err), 0);
		for (size_t i = 0; i < got.n; i++)
			got.at[i].kind == EVENT_LOST ? (void)(lost += got.at[i].count) : (void)records++;
		assert_int_equal(records, thread->records);
		assert_int_equal(lost, thread->lost);
		assert_true(!t || !records);
		vec_free(&got);
	}
	assert_int_equal(store_info(r)->total.lost, said->total.lost);
	assert_int_equal(store_info(r)->messages.n, 1);
	if (names) {
		assert_int_equal(store_info(r)->modules.at[0].functions.n, names);
		assert_memory_equal(store_info(r)->modules.at[0].strings.at, said->modules.at[0].strings.at,
				    said->modules.at[0].strings.n);
	}
	store_close(r);
}

/* No file exceeds its limit, however much the end needs. */
static void test_full_has_an_end(void **state)
{
	static const size_t names[] = { 0, 100, 20000 };
	struct err why;

	for (uint64_t limit = 2 << 20; limit < (2 << 20) + 200000; limit += 77777)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			struct trace_info *info = small_info();

			*vec_add(&info->threads) = (struct trace_thread){ 0 };
			if (names[i])
				add_names(info, names[i]);
			fill(in_dir("a"), info, limit, 0, &why);
			assert_int_equal(why.code, EFBIG);
			assert_true(info->threads.at[0].records > 0);
			check_short(in_dir("a"), info, names[i]);
			trace_info_free(info);
		}
}

/* Not even the end has room: what can be read is what is said to be there. */
static void test_full_at_once(void **state)
{
	struct trace_info *info = small_info();
	struct store_reader *r;
	struct err why, err;

	*vec_add(&info->threads) = (struct trace_thread){ 0 };
	fill(in_dir("a"), info, 100, -EFBIG, &why);
	assert_int_equal(why.code, EFBIG);
	assert_int_equal(info->total.records, 0);
	assert_int_equal(info->total.lost, PRODUCED + 1011);
	if (store_open(in_dir("a"), &r, &err) == 0) {
		assert_true(store_was_cut(r, NULL));
		store_close(r);
	}
	trace_info_free(info);
}

static void test_pipe(void **state)
{
	struct trace_info *info = small_info();
	struct store_writer *w;
	struct err err;
	int reader;

	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	reader = open(in_dir("pipe"), O_RDONLY | O_NONBLOCK);
	assert_int_equal(store_create(in_dir("pipe"), info, &w, &err), 0);
	close(reader);
	assert_int_equal(write_noise(w, 16 << 20, &err), -EPIPE);
	assert_int_equal(store_finish(w, &err), -EPIPE);
	trace_info_free(info);
}

static void test_discard(void **state)
{
	struct trace_info *info = small_info();
	struct store_writer *w;
	struct err err;

	assert_int_equal(store_create(in_dir("a"), info, &w, &err), 0);
	assert_int_equal(write_noise(w, 1 << 20, &err), 0);
	store_discard(w);
	assert_int_equal(access(in_dir("a"), F_OK), -1);
	trace_info_free(info);
}

#define in_its_directory(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_its_directory(test_mode), in_its_directory(test_replaces), in_its_directory(test_keeps_the_old),
		in_its_directory(test_no_trace_is_not_replaced), in_its_directory(test_brings_the_old_back),
		in_its_directory(test_symlink), in_its_directory(test_another_users),
		in_its_directory(test_no_directory), in_its_directory(test_full),
		in_its_directory(test_full_later), in_its_directory(test_full_has_an_end),
		in_its_directory(test_full_at_once), in_its_directory(test_pipe),
		in_its_directory(test_discard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
