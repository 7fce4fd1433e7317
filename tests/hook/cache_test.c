/* The cache: a warm start gives what a cold one gave; whatever is wrong with a stored file, it is
 * planned anew and the file replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/aside.h"
#include "hook/cache_file.h"
#include "hook/list.h"

static char home[64];

static int set_up(void **state)
{
	strcpy(home, "/tmp/brace-cache-XXXXXX");
	if (!mkdtemp(home))
		return -1;
	return setenv("XDG_CACHE_HOME", home, 1);
}

static void run(const char *fmt, const char *arg)
{
	char *command = mem_printf(fmt, arg);

	assert_int_equal(system(command), 0);
	free(command);
}

static int tear_down(void **state)
{
	run("rm -rf '%s'", home);
	return 0;
}

static char *fixture(const char *name)
{
	return mem_printf("%s/%s", getenv("FIXTURES"), name);
}

static struct hook_module *load(const char *path, bool cached)
{
	struct hook_module *m;
	struct err err = { 0 };

	if (hook_module_load(path, &m, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(m->cached, cached);
	return m;
}

/* The files in the cache directory; the name of one of them. */
static unsigned stored(char *name, size_t n)
{
	char *path = mem_printf("%s/brace", home);
	DIR *d = opendir(path);
	struct dirent *e;
	unsigned count = 0;

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(name, n, "%s/%s", path, e->d_name);
		count++;
	}
	if (d)
		closedir(d);
	free(path);
	return count;
}

static void assert_same(const struct hook_module *a, const struct hook_module *b)
{
	assert_int_equal(a->n, b->n);
	assert_string_equal(a->name, b->name);
	assert_memory_equal(a->functions, b->functions, a->n * sizeof(*a->functions));
	assert_memory_equal(a->entries, b->entries, a->n * sizeof(*a->entries));
	assert_memory_equal(a->bytes, b->bytes, a->n * sizeof(*a->bytes));
	assert_int_equal(a->n_strings, b->n_strings);
	assert_memory_equal(a->strings, b->strings, a->n_strings);
	assert_int_equal(a->n_segments, b->n_segments);
	assert_memory_equal(a->segments, b->segments, a->n_segments * sizeof(*a->segments));
	assert_int_equal(a->build_id_len, b->build_id_len);
	assert_memory_equal(a->build_id, b->build_id, sizeof(a->build_id));
	assert_int_equal(a->e_type, b->e_type);
	assert_int_equal(a->entry, b->entry);
	assert_int_equal(a->language, b->language);
	assert_memory_equal(a->by_kind, b->by_kind, sizeof(a->by_kind));
	assert_memory_equal(a->by_reason, b->by_reason, sizeof(a->by_reason));
	assert_int_equal(a->interp != NULL, b->interp != NULL);
	if (a->interp)
		assert_string_equal(a->interp, b->interp);
	assert_int_equal(a->n_needed, b->n_needed);
	for (uint32_t i = 0; i < a->n_needed; i++)
		assert_string_equal(a->needed[i], b->needed[i]);
}

static void test_warm_is_cold(void **state)
{
	char *own = fixture("functions-O2");
	const char *files[] = { own, "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/bash" };

	for (size_t i = 0; i < 3; i++) {
		struct hook_module *cold = load(files[i], false), *warm = load(files[i], true);

		assert_same(cold, warm);
		assert_true(cold->n > 10 && cold->n_segments >= 2 && cold->build_id_len == 20);
		hook_module_free(cold);
		hook_module_free(warm);
	}
	free(own);
}

/* Window bytes are the file's, and long enough for what the session does with them. */
static void test_bytes(void **state)
{
	struct hook_module *m = load("/usr/bin/bash", false);
	struct sym_module *s;
	struct err err;

	assert_int_equal(sym_open("/usr/bin/bash", &s, &err), 0);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct hook_plan_entry *e = &m->entries[i];
		const struct hook_bytes *b = &m->bytes[i];

		if (e->kind == HOOK_NONE)
			continue;
		assert_true(b->window_len >= e->patch_len && b->window_len >= e->recipe.len);
		assert_memory_equal(b->window,
				    sym_bytes(s, e->vaddr + e->patch_offset, b->window_len),
				    b->window_len);
	}
	sym_close(s);
	hook_module_free(m);
}

static void test_private(void **state)
{
	char *path = fixture("functions-O2"), name[512];
	struct stat st;

	umask(0);
	hook_module_free(load(path, false));
	umask(022);
	assert_int_equal(stored(name, sizeof(name)), 1);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	*strrchr(name, '/') = 0;
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	free(path);
}

static void overwrite(const char *name, off_t at, const void *bytes, size_t n)
{
	int fd = open(name, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
	close(fd);
}

/* Each kind of damage: planned anew, and stored anew. */
static void test_damage(void **state)
{
	char *path = fixture("functions-O2"), name[512];
	struct hook_module *cold = load(path, false), *m;
	struct stat st;

	assert_int_equal(stored(name, sizeof(name)), 1);
	assert_int_equal(stat(name, &st), 0);
	for (off_t at = 0; at < st.st_size; at += st.st_size / 50) {
		uint8_t byte;
		int fd = open(name, O_RDONLY);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		close(fd);
		byte ^= 0x10;
		overwrite(name, at, &byte, 1);
		hook_module_free(load(path, false));
		m = load(path, true);
		assert_same(cold, m);
		hook_module_free(m);
	}
	assert_int_equal(truncate(name, st.st_size / 2), 0);
	hook_module_free(load(path, false));
	assert_int_equal(truncate(name, 0), 0);
	hook_module_free(load(path, false));
	overwrite(name, st.st_size, "more", 4);
	hook_module_free(load(path, false));
	hook_module_free(load(path, true));
	hook_module_free(cold);
	free(path);
}

/* A file that others could have written is not read. */
static void test_foreign(void **state)
{
	char *path = fixture("functions-O2"), *other = fixture("functions-Os"), name[512],
	     second[512], link[600];

	hook_module_free(load(path, false));
	assert_int_equal(stored(name, sizeof(name)), 1);
	assert_int_equal(chmod(name, 0666), 0);
	hook_module_free(load(path, false));
	hook_module_free(load(path, true));
	snprintf(link, sizeof(link), "%s/elsewhere", home);
	assert_int_equal(rename(name, link), 0);
	assert_int_equal(symlink(link, name), 0);
	hook_module_free(load(path, false));

	/* the plan of another program under this one's name */
	assert_int_equal(unlink(name), 0);
	hook_module_free(load(other, false));
	assert_int_equal(stored(second, sizeof(second)), 1);
	assert_int_equal(rename(second, name), 0);
	hook_module_free(load(path, false));
	*strrchr(name, '/') = 0;
	assert_int_equal(chmod(name, 0777), 0);
	hook_module_free(load(path, false));
	free(path);
	free(other);
}

/* The same build-id is not the same file: strip and objcopy leave it as it is. */
static void test_edited_program(void **state)
{
	char *path = fixture("functions-O2"), *copy = mem_printf("%s/program", home), *command;
	struct hook_module *whole, *stripped;

	command = mem_printf("cp '%s' '%s'", path, copy);
	run("%s", command);
	whole = load(path, false);
	hook_module_free(load(copy, false)); /* an equal copy is another file */
	hook_module_free(load(copy, true));
	run("strip '%s'", copy);
	stripped = load(copy, false);
	assert_memory_equal(whole->build_id, stripped->build_id, 20);
	assert_true(hook_module_has(whole, "factorial"));
	assert_false(hook_module_has(stripped, "factorial"));
	hook_module_free(whole);
	hook_module_free(stripped);
	free(command);
	free(copy);
	free(path);
}

/* Where f's loop goes back to, one instruction later. */
static void move_a_branch(const char *path)
{
	static const uint8_t f[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc6, 0x48, 0x01, 0xf0, 0x48, 0x83, 0xfe, 0x0a, 0x75, 0xf4, 0xc3 };
	uint8_t bytes[65536], *at;
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	close(fd);
	assert_true(n > 0 && n < (ssize_t)sizeof(bytes));
	at = memmem(bytes, (size_t)n, f, sizeof(f));
	assert_non_null(at);
	at[14] += 3;
	overwrite(path, 0, bytes, (size_t)n);
}

static char *make_looping(const char *name)
{
	char *path = mem_printf("%s/%s", home, name);
	char *command = mem_printf("cd '%s' && echo '__asm__(\".globl f;.type f,@function;f: mov %%rdi,%%rax;1: inc %%rsi;"
				   "add %%rsi,%%rax;cmp $10,%%rsi;jne 1b;ret;.size f,.-f\"); int main(void) { return 0; }' >loop.c && "
				   "gcc -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o %s loop.c", home, name);

	run("%s", command);
	free(command);
	return path;
}

static const struct hook_plan_entry *entry_of(const struct hook_module *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (strcmp(m->strings + m->functions[i].name, name) == 0)
			return &m->entries[i];
	fail_msg("no %s", name);
	return NULL;
}

/* Somebody's copy of a program, with its build-id, size, first page and times, and with one byte
 * changed: where a branch goes. A plan of one is no plan of the other: a patch that fits here is
 * jumped into there. */
static void test_forged(void **state)
{
	char *good = make_looping("good"), *evil = mem_printf("%s/evil", home), *command;
	struct hook_plan_entry planned;
	struct hook_module *m;
	struct stat st;

	command = mem_printf("cp -p '%s' '%s'", good, evil);
	run("%s", command);
	assert_int_equal(stat(good, &st), 0);
	move_a_branch(evil);
	assert_int_equal(utimensat(AT_FDCWD, evil, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
	m = load(evil, false);
	planned = *entry_of(m, "f");
	hook_module_free(m);
	m = load(good, false);
	assert_memory_not_equal(&planned, entry_of(m, "f"), sizeof(planned));
	hook_module_free(m);
	hook_module_free(load(evil, true));
	hook_module_free(load(good, true));
	free(command);
	free(good);
	free(evil);
}

/* The same file, written to in place, and its mtime put back. */
static void test_changed_in_place(void **state)
{
	char *path = make_looping("program");
	struct hook_module *before = load(path, false), *after;
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	move_a_branch(path);
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
	after = load(path, false);
	assert_memory_not_equal(entry_of(before, "f"), entry_of(after, "f"), sizeof(struct hook_plan_entry));
	hook_module_free(before);
	hook_module_free(after);
	hook_module_free(load(path, true));
	free(path);
}

/* Two builds that were given one build-id: another directory's, and one that takes the other's
 * place. */
static void test_same_build_id(void **state)
{
	char *one = make_looping("one"), *two = make_looping("two"), *command = mem_printf("mv '%s' '%s'", two, one);
	struct hook_module *a = load(one, false), *b = load(two, false);

	assert_int_equal(a->build_id_len, 20);
	assert_memory_equal(a->build_id, b->build_id, 20);
	run("%s", command);
	hook_module_free(load(one, false)); /* it moved: its ctime is new */
	hook_module_free(load(one, true));
	hook_module_free(a);
	hook_module_free(b);
	free(command);
	free(one);
	free(two);
}

/* Names come from a debug file, which may come and go. */
static void test_debug_file(void **state)
{
	char *path = fixture("functions-O2"), *copy = mem_printf("%s/program", home), *command;
	struct hook_module *m;

	command = mem_printf("cd '%s' && objcopy --only-keep-debug '%s' kept && cp kept program.debug && "
			     "objcopy --remove-section=.note.gnu.build-id --strip-all --add-gnu-debuglink=program.debug '%s' program && "
			     "rm program.debug", home, path, path);
	run("%s", command);
	m = load(copy, false);
	assert_false(hook_module_has(m, "factorial"));
	hook_module_free(m);
	run("mv '%s/kept' $XDG_CACHE_HOME/program.debug", home);
	m = load(copy, false);
	assert_true(hook_module_has(m, "factorial"));
	hook_module_free(m);
	hook_module_free(load(copy, true));
	run("rm '%s/program.debug'", home);
	hook_module_free(load(copy, true)); /* what it was without */
	free(command);
	free(copy);
	free(path);
}

/* `sudo` keeps another user's HOME: he could lead root anywhere from there. */
static void test_home_of_another(void **state)
{
	char *path = fixture("functions-O2"), name[512];

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(home, 65534, 65534), 0);
	hook_module_free(load(path, false));
	hook_module_free(load(path, false));
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", home, 1);
	hook_module_free(load(path, false));
	hook_module_free(load(path, false));
	assert_int_equal(stored(name, sizeof(name)), 0);
	run("! test -e '%s/.cache'", home);
	free(path);
}

/* Without a build-id, too, the file itself is the key: written again, it is planned again. */
static void test_without_build_id(void **state)
{
	char *path = fixture("functions-O2"), *copy = mem_printf("%s/program", home), *command;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000 } };
	struct hook_module *m;

	command = mem_printf("objcopy --remove-section=.note.gnu.build-id '%s' '%s'", path, copy);
	run("%s", command);
	m = load(copy, false);
	assert_int_equal(m->build_id_len, 0);
	hook_module_free(m);
	hook_module_free(load(copy, true));
	assert_int_equal(utimensat(AT_FDCWD, copy, times, 0), 0);
	hook_module_free(load(copy, false));
	free(command);
	free(copy);
	free(path);
}

static void test_no_home(void **state)
{
	char *path = fixture("functions-O2"),
	     *old = mem_strdup(getenv("HOME") ? getenv("HOME") : "/");
	char *file = mem_printf("%s/file", home);

	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	hook_module_free(load(path, false));
	hook_module_free(load(path, false));
	run("touch '%s'", file);
	setenv("XDG_CACHE_HOME", file, 1); /* not a directory */
	hook_module_free(load(path, false));
	setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored, says its specification */
	setenv("HOME", home, 1);
	hook_module_free(load(path, false));
	hook_module_free(load(path, true));
	assert_int_not_equal(access("relative", F_OK), 0);
	setenv("HOME", old, 1);
	free(old);
	free(file);
	free(path);
}

static void test_errors(void **state)
{
	struct hook_module *m;
	struct err err = { 0 };
	char *text = mem_printf("%s/text", home);

	assert_int_equal(hook_module_load("/nonexistent", &m, &err), -ENOENT);
	assert_true(strstr(err.text, "/nonexistent") != NULL);
	run("echo not an ELF file, but longer than its header would have to be > '%s'", text);
	assert_int_equal(hook_module_load(text, &m, &err), -ENOEXEC);
	assert_true(hook_module_load("/tmp", &m, &err) < 0);
	free(text);
}

/* --- nobody waits any more ---------------------------------------------------- */

static atomic_bool over;

static void *end_wait(void *delay)
{
	const struct timespec t = { 0, *(long *)delay };

	nanosleep(&t, NULL);
	over = true;
	return NULL;
}

/* Loads the plan of bash while another thread says that nobody waits for it: there is the whole
 * plan, or none, in the cache neither. */
static int load_until(long delay, const struct hook_module *whole)
{
	struct hook_module *m;
	struct err err = { 0 };
	char name[4096];
	pthread_t thread;
	int r;

	run("rm -rf '%s/brace'", home);
	over = !delay;
	aside_until(&over);
	if (delay)
		assert_int_equal(pthread_create(&thread, NULL, end_wait, &delay), 0);
	r = hook_module_load("/usr/bin/bash", &m, &err);
	aside_until(NULL);
	if (delay)
		pthread_join(thread, NULL);
	if (r == 0) {
		assert_same(m, whole);
		hook_module_free(m);
		return r;
	}
	assert_int_equal(r, -ECANCELED);
	assert_non_null(strstr(err.text, "interrupted while /usr/bin/bash was "));
	assert_null(m);
	assert_int_equal(stored(name, sizeof(name)), 0);
	return r;
}

static void test_given_up(void **state)
{
	struct hook_module *whole = load("/usr/bin/bash", false);

	assert_int_equal(load_until(0, whole), -ECANCELED);
	for (long delay = 100000; delay < 1000000000 && load_until(delay, whole) != 0; delay += delay / 4)
		;
	hook_module_free(whole);
}

/* --- the list ---------------------------------------------------------------- */

static bool is_factorial(const char *name, void *arg)
{
	++*(unsigned *)arg;
	return strcmp(name, "factorial") == 0;
}

static void test_list(void **state)
{
	char *path = fixture("functions-O2"), *stripped = fixture("functions-O2-stripped");
	struct hook_list all, one;
	struct err err = { 0 };
	unsigned asked = 0, sum = 0, unnamed = 0;

	assert_int_equal(hook_list_load(path, NULL, NULL, &all, &err), 0);
	assert_int_equal(hook_list_load(path, is_factorial, &asked, &one, &err), 0);
	assert_int_equal(asked, all.rows.n);
	assert_int_equal(one.rows.n, 1);
	assert_string_equal(one.rows.at[0].name, "factorial");
	assert_string_equal(one.rows.at[0].kind, "jump");
	assert_true(one.rows.at[0].hooked && !one.rows.at[0].plt && !one.rows.at[0].entry_only);
	for (unsigned k = 0; k < HOOK_KINDS_N; k++)
		sum += all.by_kind[k];
	assert_int_equal(sum, all.rows.n);
	for (size_t i = 1; i < all.rows.n; i++)
		assert_true(all.rows.at[i].vaddr > all.rows.at[i - 1].vaddr);
	hook_list_free(&all);
	hook_list_free(&one);
	assert_int_equal(hook_list_load(stripped, NULL, NULL, &all, &err), 0);
	for (size_t i = 0; i < all.rows.n; i++)
		unnamed += strncmp(all.rows.at[i].name, "functions-O2-stripped+0x", 24) == 0;
	assert_true(unnamed >= 6);
	hook_list_free(&all);
	free(path);
	free(stripped);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_warm_is_cold),     TEST(test_bytes),
		TEST(test_private),	     TEST(test_damage),
		TEST(test_foreign),	     TEST(test_edited_program),
		TEST(test_without_build_id), TEST(test_no_home),
		TEST(test_forged),	     TEST(test_changed_in_place),
		TEST(test_same_build_id),    TEST(test_debug_file),
		TEST(test_home_of_another),
		TEST(test_errors), TEST(test_given_up), TEST(test_list),
	};

	return cmocka_run_group_tests_name("hook_cache", tests, NULL, NULL);
}
