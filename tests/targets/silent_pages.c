/* A hostile program: a tracer that touches its memory waits for a file system that never answers.
 *
 * silent_pages FILE: FILE's first page is mapped, private and writable. One thread's stack pointer
 * lies in it, and it only sleeps. At each line of input: prints "runs", and first,
 *   at "text", the page of the function `paged` becomes FILE's;
 *   at "lock", a thread begins to wait for a mutex, whose page becomes FILE's at "cover";
 *   at "advise", madvise() is told of the first page.
 * Ends with its input. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#include "paged.h"

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

static uint32_t *mutex;           /* alone on its page; taken, and waited for */

static void *wait_for_mutex(void *unused)
{
	for (;;)
		syscall(SYS_futex, mutex, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	return unused;
}

static int lock(void)
{
	pthread_t waiter;

	mutex = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mutex == MAP_FAILED)
		return -1;
	mutex[0] = 2;
	return pthread_create(&waiter, NULL, wait_for_mutex, NULL);
}

/* The page there becomes FILE's. */
static int cover(void *at, int prot, int fd)
{
	return mmap(at, PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED;
}

/* 0: it is done, or there is nothing of this name to do. */
static int act(const char *word, void *page, int fd)
{
	if (strcmp(word, "text\n") == 0)
		return cover((void *)((uint64_t)paged & -(uint64_t)PAGE), PROT_READ | PROT_EXEC, fd);
	if (strcmp(word, "lock\n") == 0)
		return lock();
	if (strcmp(word, "cover\n") == 0)
		return cover(mutex, PROT_READ | PROT_WRITE, fd);
	return strcmp(word, "advise\n") == 0 ? madvise(page, PAGE, MADV_NORMAL) : 0;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	pthread_t sleeper;
	char line[64];

	if (page == MAP_FAILED || pthread_create(&sleeper, NULL, sleep_there, page))
		return 2;
	paged();
	while (fgets(line, sizeof(line), stdin)) {
		if (act(line, page, fd))
			return 3;
		puts("runs");
		fflush(stdout);
	}
	return 0;
}
