/* A hostile program: where patches stand its child maps a file whose file system never reads it, and whoever looks at that page
 * waits. The child asks its tracer for more by dlopen, which has the tracer look whose patches it has.
 *
 * absent LIBRARY FILE: prints "child" when the child has ended well. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Alone on its page. */
void paged(void);
__asm__(".pushsection .text.paged, \"ax\", @progbits\n"
	".balign 4096\n"
	".globl paged\n"
	".type paged, @function\n"
	"paged: push %rbp\n"
	"mov %rsp, %rbp\n"
	"xor %eax, %eax\n"
	"add $1, %eax\n"
	"pop %rbp\n"
	"ret\n"
	".size paged, . - paged\n"
	".balign 4096\n"
	".popsection\n");

static int take_page_away(const char *file)
{
	const uint64_t at = (uint64_t)paged & -(uint64_t)PAGE;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && mmap((void *)at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	for (int i = 0; i < 3; i++)
		paged();
	child = fork();
	if (child == 0) {
		if (argc != 3 || !take_page_away(argv[2]))
			_exit(3);
		_exit(dlopen(argv[1], RTLD_NOW) ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
	puts("child");
	return 0;
}
