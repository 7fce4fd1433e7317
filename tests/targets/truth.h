/* Shared by the programs here. Each checks itself, prints the same whenever it runs, and
 * writes how often its functions were called to the file named by $TRUTH (kept apart from
 * standard output because a signal handler's count differs from run to run). The scripts
 * compare both: output with an untraced run, counts with `brace report`. */
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A function with a body of its own that is called where the source says so. */
#define TRACED __attribute__((noinline, noclone, used))
/* Keeps the compiler from merging, moving or leaving out what stands around it. */
#define BARRIER() __asm__ volatile("" ::: "memory")

/* A count that is not exact is told as a range. */
static inline void truth_between(const char *function, unsigned long least, unsigned long most)
{
	const char *path = getenv("TRUTH");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	if (least == most)
		dprintf(fd, "%s %lu\n", function, least);
	else
		dprintf(fd, "%s %lu-%lu\n", function, least, most);
	close(fd);
}

static inline void truth(const char *function, unsigned long calls)
{
	truth_between(function, calls, calls);
}

static inline void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	exit(99);
}
