/* Reading mountinfo, and what can be said of a directory before anything is mounted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "golden.h"
#include "tree/stderr_capture.h"
#include "tree/mount_point.h"

static const char mountinfo[] =
	"23 28 0:21 / /proc rw,relatime shared:12 - proc proc rw\n"
	"28 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"45 27 0:39 / /tmp/a\\040b rw,nosuid,nodev - fuse.tracefs brace rw,user_id=0\n"
	"46 27 0:40 / /tmp/x rw shared:3 master:1 - tmpfs none rw\n"
	"47 46 0:41 / /tmp/x rw - fuse.tracefs brace rw\n"
	"broken line\n"
	"48 46 0:42 / /tmp/cut rw - fuse.tra";

struct mount_row { const char *path, *type, *source; };

static void finds_mounts(void **state)
{
	static const struct mount_row table[] = {
		{ "/proc", "proc", "proc" }, { "/", "ext4", "/dev/vda" }, { "/tmp/a b", "fuse.tracefs", "brace" },
		{ "/tmp/x", "fuse.tracefs", "brace" }, /* the one on top */
	};
	char type[64], source[64];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_true(mount_point_find(mountinfo, table[i].path, type, source));
		assert_string_equal(type, table[i].type);
		assert_string_equal(source, table[i].source);
	}
	assert_false(mount_point_find(mountinfo, "/tmp", type, source));
	assert_false(mount_point_find(mountinfo, "/tmp/cut", type, source));
	assert_false(mount_point_find("", "/", type, source));
}

static void says(const char *dir, int code, const char *words)
{
	struct err err;
	char *path;

	assert_int_equal(mount_point_take(dir, &path, &err), -code);
	if (!strstr(err.text, words))
		fail_msg("%s: %s", dir, err.text);
}

static void directories_that_do_not_serve(void **state)
{
	char dir[] = "/tmp/brace-mount.XXXXXX", *file;
	struct err err;

	assert_non_null(mkdtemp(dir));
	says("/nonesuch/dir", ENOENT, "there is no directory /nonesuch/dir");
	says("/dev/null", ENOTDIR, "/dev/null is not a directory");
	says("/proc", EBUSY, "something else is mounted on /proc");
	says("/usr", ENOTEMPTY, "/usr is not empty");
	assert_int_equal(mount_point_leave(dir, false, &err), -EINVAL);
	assert_non_null(strstr(err.text, "there is no tree of brace's on /tmp/brace-mount."));
	file = mem_printf("%s/file", dir);
	fclose(fopen(file, "w"));
	says(dir, ENOTEMPTY, "is not empty");
	unlink(file);
	rmdir(dir);
	free(file);
}

static void last_words(void **state)
{
	struct stderr_capture c;
	char text[64];

	stderr_capture_begin(&c);
	fprintf(stderr, "first\nfusermount3: no way\n");
	stderr_capture_end(&c, text, sizeof(text));
	assert_string_equal(text, "no way");
	stderr_capture_begin(&c);
	stderr_capture_end(&c, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_mounts),
		cmocka_unit_test(directories_that_do_not_serve),
		cmocka_unit_test(last_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
