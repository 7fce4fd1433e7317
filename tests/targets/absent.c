/* A hostile program: where patches stand its child maps a file whose file system never reads it,
 * and whoever looks at that page waits. The child asks its tracer for more by dlopen, which has the
 * tracer look whose patches it has.
 *
 * absent LIBRARY FILE: prints "child" when the child has ended well.
 * absent LIBRARY FILE busy: the child's mappings change all the time, so that the kernel lets
 * nobody read them either once somebody waits for the page; ends, before its child, at the end of
 * its input. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "paged.h"

static int take_page_away(const char *file)
{
	const uint64_t at = (uint64_t)paged & -(uint64_t)PAGE;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && mmap((void *)at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static void *change_mappings(void *unused)
{
	for (;;) {
		void *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at != MAP_FAILED)
			munmap(at, PAGE);
	}
	return unused;
}

static int be_child(const char *library, const char *file, int busy)
{
	pthread_t other;

	if (!take_page_away(file) || (busy && pthread_create(&other, NULL, change_mappings, NULL)))
		return 3;
	return dlopen(library, RTLD_NOW) ? 0 : 1;
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	for (int i = 0; i < 3; i++)
		paged();
	child = fork();
	if (child == 0)
		_exit(argc < 3 ? 3 : be_child(argv[1], argv[2], argc == 4));
	if (argc == 4)
		return read(STDIN_FILENO, &status, 1) != 0;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
	puts("child");
	return 0;
}
