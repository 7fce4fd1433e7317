/* Registers an event in a tree, by the kernel's interface user_events, and writes its records
 * within calls, and a line into trace_marker: registers_events TREE N. It begins when the event is
 * enabled, and prints nanoseconds for each. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* linux/user_events.h, which not all systems have. */
struct reg {
	uint32_t size;
	uint8_t bit, bytes;
	uint16_t flags;
	uint64_t address, line;
	uint32_t index;
} __attribute__((packed));

static volatile uint32_t enabled;
static int marker;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

__attribute__((noinline)) static void before(uint32_t n)
{
	__asm__ volatile("" : : "r"(n) : "memory");
}

__attribute__((noinline)) static void step(int fd, uint32_t index, uint32_t n)
{
	struct iovec parts[] = { { &index, sizeof(index) }, { &n, sizeof(n) } };

	before(n);
	if (writev(fd, parts, 2) != sizeof(index) + sizeof(n))
		fail("writev");
	if (write(marker, "marked\n", 7) != 7)
		fail("write");
	before(n);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct reg r = { .size = sizeof(r), .bit = 0, .bytes = 4, .address = (uintptr_t)&enabled,
			 .line = (uintptr_t)"steps u32 n" };
	const uint32_t n = (uint32_t)atoi(argv[2]);
	char path[4096];
	double began;
	int fd;

	snprintf(path, sizeof(path), "%s/user_events_data", argv[1]);
	/* The tree may be mounted after the program begins. */
	while ((fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		usleep(20000);
	snprintf(path, sizeof(path), "%s/trace_marker", argv[1]);
	marker = open(path, O_WRONLY | O_CLOEXEC);
	if (ioctl(fd, _IOWR('*', 0, struct reg *), &r))
		fail("ioctl");
	while (!enabled)
		usleep(20000);
	began = now();
	for (uint32_t i = 0; i < n; i++)
		step(fd, r.index, i);
	printf("%.0f\n", (now() - began) / n);
	return 0;
}
