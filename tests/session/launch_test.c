/* Files that can be traced and files that cannot: one sentence each. The files are made for the
 * purpose. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "inject/launch.h"

static char dir[] = "/tmp/brace-launch-XXXXXX";

static char *file(const char *name, const void *bytes, size_t n, mode_t mode)
{
	char *path = mem_printf("%s/%s", dir, name);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void refused(const char *command, int code, const char *word)
{
	char *path, *image;
	struct err err = { 0 };

	assert_int_equal(launch_resolve(command, &path, &image, &err), -code);
	assert_non_null(strstr(err.text, word));
	assert_null(path);
	assert_null(image);
}

/* The same for a file made for it; frees its path. */
static void file_refused(char *path, int code, const char *word)
{
	refused(path, code, word);
	free(path);
}

static char *elf(const char *name, uint8_t class, uint16_t machine, mode_t mode)
{
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC, .e_machine = machine, .e_phentsize = sizeof(Elf64_Phdr) };

	return file(name, &eh, sizeof(eh), mode);
}

static void bad_programs_are_refused(void **state)
{
	(void)state;
	refused("no-such-program-anywhere", ENOENT, "no such program");
	refused("/no/such/file", ENOENT, "No such file");
	refused("/etc", EACCES, "directory");
	refused("/etc/passwd", EACCES, "not executable");
	refused("", ENOENT, "empty");
	file_refused(file("text", "hello\n", 6, 0755), ENOEXEC, "not a program");
	file_refused(elf("elf32", ELFCLASS32, EM_386, 0755), ENOTSUP, "32-bit");
	file_refused(elf("arm", ELFCLASS64, EM_AARCH64, 0755), ENOTSUP, "another machine");
}

/* What is meant by a.out alone is the file beside us; the sentence names it. */
static void a_file_here_is_named(void **state)
{
	char *path = file("text", "hello\n", 6, 0644), *slash = strrchr(path, '/');
	char here[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	*slash = '\0';
	assert_int_equal(chdir(path), 0);
	refused(slash + 1, ENOENT, "in PATH; the file here is ./");
	assert_int_equal(chdir(here), 0);
	*slash = '/';
	unlink(path);
	free(path);
}

static void set_uid_is_refused(void **state)
{
	char *path = elf("suid", ELFCLASS64, EM_X86_64, 0755);

	(void)state;
	if (geteuid() != 0) { /* only root can give a file away */
		free(path);
		skip();
	}
	assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
	assert_int_equal(chmod(path, 04755), 0);
	file_refused(path, EPERM, "set-uid");
}

static void programs_and_scripts_are_resolved(void **state)
{
	char *path, *image, *script = file("script", "#! /bin/sh -e\ntrue\n", 19, 0755);
	struct err err;

	(void)state;
	assert_int_equal(launch_resolve("sh", &path, &image, &err), 0);
	assert_true(path[0] == '/');
	assert_string_equal(path, image);
	free(path);
	free(image);
	assert_int_equal(launch_resolve(script, &path, &image, &err), 0);
	assert_string_equal(path, script);
	assert_string_equal(image, "/bin/sh");
	free(path);
	free(image);
	free(script);
}

static int remove_dir(void **state)
{
	char *command = mem_printf("rm -r %s", dir);
	int status = system(command);

	(void)state;
	free(command);
	return status;
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_programs_are_refused), cmocka_unit_test(a_file_here_is_named),
		cmocka_unit_test(set_uid_is_refused),
		cmocka_unit_test(programs_and_scripts_are_resolved),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
