/* The modules of a process, of this one: each is the file that is mapped, and what is given back is
 * there for the next look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/mapped_file.h"
#include "image/modules.h"

static char directory[] = "/tmp/brace-modules-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(directory) || setenv("XDG_CACHE_HOME", directory, 1);
}

static int tear_down(void **state)
{
	char *command = mem_printf("rm -rf %s", directory);
	int r = system(command);

	(void)state;
	free(command);
	return r;
}

static const struct module *own(const struct modules *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		if (strcmp(m->at.at[i].name, "modules_test") == 0)
			return &m->at.at[i];
	fail_msg("this program is not among its modules");
	return NULL;
}

static void given_back_is_kept(void **state)
{
	struct maps maps;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps, NULL), 0);
	for (int look = 0; look < 3; look++) {
		struct modules m = { 0 };
		const struct module *mod;

		modules_load_all(getpid(), &maps, &m);
		mod = own(&m);
		assert_non_null(mod->hooks);
		assert_true(hook_module_has(mod->hooks, "main"));
		assert_false(mod->hooks->cached); /* planned once, and neither that nor its file's block read again */
		modules_free(&m);
	}
	maps_free(&maps);
}

static void write_file(const char *path, char byte)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &byte, 1), 1);
	close(fd);
}

static struct map mapping_of(const struct maps *maps, const void *at)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (maps->at.at[i].start == (uintptr_t)at)
			return maps->at.at[i];
	fail_msg("it is not mapped");
	return (struct map){ 0 };
}

/* The file at the path changes; the one that is opened is the mapped one, or none. */
static void the_mapped_one(void **state)
{
	char *path = mem_printf("%s/file", directory), byte = 0;
	struct err err = { 0 };
	struct maps maps;
	void *at;
	int fd;

	(void)state;
	write_file(path, 'm');
	fd = open(path, O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_int_equal(maps_read(getpid(), &maps, NULL), 0);
	for (int step = 0; step < 3; step++) { /* it stands there; nothing; another one */
		struct map map = mapping_of(&maps, at);

		fd = mapped_file_open(getpid(), "", &map, &err);
		if (step == 0 || geteuid() == 0)
			assert_true(fd >= 0);
		else
			assert_int_equal(fd, -ESTALE);
		if (fd >= 0)
			assert_int_equal(pread(fd, &byte, 1, 0), 1);
		assert_int_equal(byte, 'm');
		if (fd >= 0)
			close(fd);
		if (step == 0)
			assert_int_equal(unlink(path), 0);
		else if (step == 1)
			write_file(path, 'o');
	}
	assert_int_equal(mapped_file_at(getpid(), 4096, &err), -ESRCH);
	maps_free(&maps);
	munmap(at, 1);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_back_is_kept), cmocka_unit_test(the_mapped_one),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
