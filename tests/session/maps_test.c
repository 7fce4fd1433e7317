/* Reading a process's mappings, and finding room near a module. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/processes.h"
#include "image/image.h"
#include "image/maps.h"
#include "tracee/proc_maps.h"

static void our_own_text_is_there(void **state)
{
	uint64_t here = (uint64_t)(uintptr_t)our_own_text_is_there;
	struct maps maps;
	struct err err;
	bool found = false;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	for (size_t i = 0; i < maps.at.n; i++)
		if (here >= maps.at.at[i].start && here < maps.at.at[i].end) {
			assert_true(maps.at.at[i].exec);
			assert_non_null(strstr(maps.at.at[i].path, "maps_test"));
			found = true;
		}
	assert_true(found);
	maps_free(&maps);
}

static const char literal[] = "is never written to";
static const char *const relocated[] = { literal };
static char data[] = "is written to";

static bool is_constant(const struct maps *maps, const void *at)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if ((uintptr_t)at - maps->at.at[i].start <
		    maps->at.at[i].end - maps->at.at[i].start)
			return maps_is_constant(maps, i);
	fail_msg("%p is in no mapping", at);
	return false;
}

/* A file of data, mapped as constants are, may be written to by others. */
static void constants_are_modules(void **state)
{
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	void *file = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct maps maps;
	struct err err;

	(void)state;
	assert_ptr_not_equal(file, MAP_FAILED);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_true(is_constant(&maps, literal));
	assert_true(is_constant(&maps, (void *)(uintptr_t)constants_are_modules));
	assert_false(is_constant(&maps, data));
	assert_false(is_constant(&maps, relocated));
	assert_false(is_constant(&maps, file));
	assert_false(is_constant(&maps, page));
	assert_false(is_constant(&maps, &maps));
	maps_free(&maps);
	munmap(file, 1);
	munmap(page, 1);
	close(fd);
}

/* The kernel is the judge: what we find can be mapped, and reaches the module. */
static void find_and_map(struct maps *maps, uint64_t lo, uint64_t hi)
{
	const uint64_t bytes = 1 << 20;
	uint64_t at = maps_find_room(maps, lo, hi, bytes);
	void *wanted = (void *)(uintptr_t)at;

	assert_int_not_equal(at, 0);
	assert_ptr_equal(mmap(wanted, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 wanted);
	assert_true((at < hi ? hi - at : at + bytes - lo) < UINT64_C(1) << 31);
}

static void room_is_free_and_near(void **state)
{
	struct maps maps, now;
	struct err err;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_int_equal(maps_read(getpid(), &now, &err), 0);
	for (size_t i = 0; i < now.at.n; i++)
		if (now.at.at[i].exec && now.at.at[i].path[0] == '/')
			find_and_map(&maps, now.at.at[i].start, now.at.at[i].end);
	maps_free(&maps);
	maps_free(&now);
}

static struct map map_of(uint64_t start, uint64_t end, const char *path)
{
	return (struct map){ .start = start, .end = end, .exec = true, .path = mem_strdup(path) };
}

/* A program at 4 MB with its heap behind it: not below (too little), not where brk grows. */
static void the_heap_keeps_its_room(void **state)
{
	struct maps maps = { 0 };
	uint64_t at;

	(void)state;
	*vec_add(&maps.at) = map_of(0x400000, 0x900000, "/usr/bin/program");
	*vec_add(&maps.at) = map_of(0x1000000, 0x1100000, "[heap]");
	*vec_add(&maps.at) = map_of(0x7f0000000000, 0x7f0000001000, "/lib/x.so");
	at = maps_find_room(&maps, 0x400000, 0x900000, 16 << 20);
	assert_true(at >= 0x1100000 + (UINT64_C(1) << 29));
	assert_true(at + (16 << 20) - 0x400000 < UINT64_C(1) << 31);
	maps_free(&maps);
}

static void no_room_is_said(void **state)
{
	struct maps maps = { 0 };

	(void)state;
	*vec_add(&maps.at) = map_of(0x1000, UINT64_C(1) << 40, "/full");
	assert_int_equal(maps_find_room(&maps, UINT64_C(1) << 33, (UINT64_C(1) << 33) + 4096, 4096), 0);
	maps_free(&maps);
}

/*
 * A mapping that only the name of a file claims: a line of its own behind a newline, or where a
 * line that is too long would be cut.
 */
#define FORGED_START UINT64_C(0x123450000000)
#define FORGED "123450000000-123450001000 r-xp 00000000 00:01 4711 "
#define CUT 511       /* characters that a reader of 512 bytes takes at once */
#define NAME_COLUMN 73

static bool is_forged(uint64_t start, const char *path)
{
	return start == FORGED_START || strcmp(path, "/forged") == 0 || strcmp(path, "[vdso]/forged") == 0;
}

/*
 * A child with our mappings, which stand still: reading them maps memory here. It stops itself once
 * it is whole; a sanitizer starts a thread in each child, which maps memory as well. It dies with
 * us.
 * */
static pid_t stopped_child(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			raise(SIGSTOP);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

/* Maps dir/name, and looks at it by every reader. */
static void map_and_read(const char *dir, const char *name)
{
	const struct stat no_such = { .st_dev = 1, .st_ino = 4711 };
	char path[PATH_MAX];
	struct proc_map map;
	struct maps maps;
	struct err err;
	size_t found = 0;
	FILE *f;
	pid_t child;
	int fd;

	assert_in_range(snprintf(path, sizeof(path), "%s/%s", dir, name), 1, PATH_MAX - 1);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_ptr_not_equal(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	close(fd);
	unlink(path);
	child = stopped_child();
	assert_int_equal(maps_read(child, &maps, &err), 0);
	for (size_t i = 0; i < maps.at.n; i++)
		assert_false(is_forged(maps.at.at[i].start, maps.at.at[i].path));
	f = proc_maps_open(child);
	assert_non_null(f);
	while (proc_maps_next(f, &map)) {
		assert_false(is_forged(map.start, map.path));
		found++;
	}
	fclose(f);
	assert_int_equal(found, maps.at.n);
	assert_false(processes_maps(child, &no_such));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	maps_free(&maps);
}

static void go_in(char *dir, const char *name, size_t n)
{
	strncat(strcat(dir, "/"), name, n);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void a_name_is_no_mapping(void **state)
{
	char dir[PATH_MAX] = "/tmp/maps_test.XXXXXX", padding[NAME_MAX + 1] = "";
	size_t left;

	(void)state;
	memset(padding, 'p', NAME_MAX);
	assert_non_null(mkdtemp(dir));
	map_and_read(dir, "a\n" FORGED "[vdso]");
	map_and_read(dir, "a (deleted)\n" FORGED);
	while ((left = CUT - NAME_COLUMN - 1 - strlen(dir)) > 200)
		go_in(dir, padding, 100);
	go_in(dir, padding, left - 1);
	assert_int_equal(strlen(dir), CUT - NAME_COLUMN - 1);
	go_in(dir, FORGED, sizeof(FORGED) - 1);
	map_and_read(dir, "forged");
	for (; strlen(dir) > strlen("/tmp"); *strrchr(dir, '/') = '\0')
		assert_int_equal(rmdir(dir), 0);
}

/* An inode's number alone is had on any other file system. */
static void a_file_is_its_device_and_its_inode(void **state)
{
	FILE *f = proc_maps_open(getpid());
	struct stat st = { 0 };
	struct proc_map map;

	(void)state;
	while (!st.st_ino && proc_maps_next(f, &map))
		if (map.inode)
			st = (struct stat){ .st_dev = map.device, .st_ino = map.inode };
	fclose(f);
	assert_true(processes_maps(getpid(), &st));
	st.st_dev++;
	assert_false(processes_maps(getpid(), &st));
}

/* The last of several tries to attach forgets its plan, and so does the caller. */
static void an_update_may_be_freed_twice(void **state)
{
	struct image_update update = { 0 };

	(void)state;
	update.about.exe = strdup("/bin/true");
	update.about.cmdline = strdup("true");
	image_update_free(&update);
	assert_null(update.about.exe);
	image_update_free(&update);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_update_may_be_freed_twice),
		cmocka_unit_test(our_own_text_is_there),
		cmocka_unit_test(constants_are_modules),
		cmocka_unit_test(room_is_free_and_near),
		cmocka_unit_test(the_heap_keeps_its_room),
		cmocka_unit_test(no_room_is_said),
		cmocka_unit_test(a_name_is_no_mapping),
		cmocka_unit_test(a_file_is_its_device_and_its_inode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
