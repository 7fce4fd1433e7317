/* A hostile program: a tracer that touches its memory waits for a file system that never answers.
 *
 * silent_pages FILE: FILE's first page is mapped, private and writable. One thread's stack pointer
 * lies in it, and it only sleeps. At each line of input: prints "runs"; at "text", first, the page
 * of the function `paged` becomes FILE's. Ends with its input. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

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

/* pause() does not touch the stack. */
static void *sleep_there(void *page)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov $34, %%eax\n"
			 "syscall\n"
			 "jmp 1b\n"
			 :
			 : "r"((char *)page + PAGE / 2)
			 : "rax", "rcx", "r11", "memory");
	return page;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	const uint64_t text = (uint64_t)paged & -(uint64_t)PAGE;
	pthread_t sleeper;
	char line[64];

	if (page == MAP_FAILED || pthread_create(&sleeper, NULL, sleep_there, page))
		return 2;
	paged();
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "text\n") == 0 &&
		    mmap((void *)text, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			return 3;
		puts("runs");
		fflush(stdout);
	}
	return 0;
}
