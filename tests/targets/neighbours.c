/* One of two programs of different users that one brace traces, for tests/run/neighbours.sh:
 *     neighbours WATCH TIMES [PID]
 * It says `ready`, and waits until brace has changed the function WATCH (step, lock, syscall), or
 * until the file WATCH is there. Then it does TIMES rounds: each calls step(), takes a lock, and
 * makes a getpgid(). Then it says a line about itself:
 *     uid NUMBER sum NUMBER memory INODE
 * With PID it is hostile: until that process has ended it writes anything to all that brace shares
 * with it, while a thread of it makes rounds. It may well die of that. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PARTS 16
#define TABLES (8ul << 20) /* at most so many bytes of a mapping: records stand behind them */
#define CODE 64 /* bytes of a function that are compared */
#define TRACED __attribute__((noinline))

struct account { int owner; unsigned long balance; };

static struct account account;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct { uint64_t *at; size_t words; } parts[PARTS];
static size_t n_parts;
static unsigned long inode; /* of the session memory */

TRACED unsigned long step(struct account *a, unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	a->balance += n;
	return n + 1;
}

static void find_parts(void)
{
	char line[512], perms[8];
	unsigned long from, to, number;
	FILE *maps = fopen("/proc/self/maps", "r");

	n_parts = 0;
	inode = 0;
	while (maps && n_parts < PARTS && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/memfd:brace-") || sscanf(line, "%lx-%lx %7s %*s %*s %lu", &from, &to, perms, &number) != 4 ||
		    strcmp(perms, "rw-s") != 0)
			continue;
		if (strstr(line, "brace-session"))
			inode = number;
		parts[n_parts].at = (uint64_t *)from;
		parts[n_parts++].words = (to - from < TABLES ? to - from : TABLES) / 8;
	}
	if (maps)
		fclose(maps);
}

static const void *function_of(const char *watch)
{
	if (strcmp(watch, "step") == 0)
		return (const void *)&step;
	if (strcmp(watch, "lock") == 0)
		return (const void *)&pthread_mutex_lock;
	return strcmp(watch, "syscall") == 0 ? (const void *)&syscall : NULL;
}

/* brace comes by ptrace: nothing tells us. */
static void wait_for_tracer(const char *watch)
{
	const struct timespec moment = { 0, 1000000 };
	const void *code = function_of(watch);
	char before[CODE];

	if (code)
		memcpy(before, code, CODE);
	puts("ready");
	fflush(stdout);
	do {
		nanosleep(&moment, NULL);
		find_parts();
	} while (!inode || (code ? memcmp(before, code, CODE) == 0 : access(watch, F_OK) != 0));
}

TRACED static void rounds(unsigned long times)
{
	unsigned long n = 1;

	for (unsigned long i = 0; i < times; i++) {
		pthread_mutex_lock(&mutex);
		n = step(&account, n);
		pthread_mutex_unlock(&mutex);
		syscall(SYS_getpgid, 0);
	}
}

static void *endless(void *arg)
{
	for (;;)
		rounds(1000);
	return arg;
}

/* Ends of ranges, small numbers, addresses of the program's own, anything. */
static uint64_t anything(uint64_t *seed)
{
	static const uint64_t edges[] = { 0, 1, 2, 0xffff, 0x7fffffff, 0xffffffff, 1ul << 32, 1ul << 63, UINT64_MAX };

	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	if (*seed % 3)
		return edges[*seed / 3 % (sizeof(edges) / sizeof(edges[0]))];
	return *seed % 2 ? *seed / 6 % 4096 : (uintptr_t)&account;
}

static void spoil_while(pid_t pid)
{
	uint64_t seed = 88172645463325252;
	pthread_t thread;

	pthread_create(&thread, NULL, endless, NULL);
	while (kill(pid, 0) == 0 || errno == EPERM)
		for (size_t i = 0; i < n_parts; i++)
			for (size_t k = 0; k < 4096; k++) {
				size_t word = anything(&seed) % 2 ? seed % parts[i].words : seed % 512;

				((volatile uint64_t *)parts[i].at)[word] = anything(&seed);
			}
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	account.owner = (int)getuid();
	wait_for_tracer(argv[1]);
	if (argc > 3)
		spoil_while(atoi(argv[3]));
	rounds(strtoul(argv[2], NULL, 10));
	find_parts();
	printf("uid %d sum %lu memory %lu\n", (int)getuid(), account.balance, inode);
	return 0;
}
