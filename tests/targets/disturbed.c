/* Is disturbed, and keeps its own account of it: prints "ready" and waits for a byte on standard
 * input; then it computes in burn() beside a process on the same CPU, touches fresh pages in
 * touch(), and waits in rest(). It prints what it has read of itself before and after, and the CPU
 * time of the other process meanwhile, and waits for another byte. */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 3000
#define RESTS 40
#define BURN_NS 300000000ull

struct account { unsigned long long delay, involuntary, voluntary, faults, other; };

static unsigned long long ns_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		exit(1);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static struct account read_account(clockid_t other)
{
	struct account a = { .other = ns_of(other) };
	struct rusage usage;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (!f || fscanf(f, "%*u %llu", &a.delay) != 1 || getrusage(RUSAGE_THREAD, &usage))
		exit(1);
	fclose(f);
	a.involuntary = (unsigned long long)usage.ru_nivcsw;
	a.voluntary = (unsigned long long)usage.ru_nvcsw;
	a.faults = (unsigned long long)usage.ru_minflt;
	return a;
}

/* Both processes run on the first CPU that this one may use. */
static void stay_on_one_cpu(void)
{
	cpu_set_t may, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(may), &may))
		exit(1);
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		exit(1);
}

/* Until it has had so much CPU time, however long that takes; *other: of the other one. */
__attribute__((noinline)) void burn(clockid_t clock, unsigned long long *other)
{
	const unsigned long long end = ns_of(CLOCK_THREAD_CPUTIME_ID) + BURN_NS, began = ns_of(clock);

	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	*other = ns_of(clock) - began;
}

__attribute__((noinline)) void touch(void)
{
	char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		exit(1);
	madvise(pages, PAGES * 4096, MADV_NOHUGEPAGE); /* refused where there are none */
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)&pages[i * 4096] = 1;
	munmap(pages, PAGES * 4096);
}

__attribute__((noinline)) void rest(void)
{
	const struct timespec t = { 0, 1000000 };

	for (int i = 0; i < RESTS; i++)
		nanosleep(&t, NULL);
}

static void wait_for_byte(void)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		exit(1);
}

int main(void)
{
	struct account before, after;
	unsigned long long other;
	clockid_t clock;
	pid_t hog;

	stay_on_one_cpu();
	printf("ready\n");
	fflush(stdout);
	wait_for_byte();
	hog = fork();
	if (!hog) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	if (hog < 0 || clock_getcpuclockid(hog, &clock))
		return 1;
	before = read_account(clock);
	burn(clock, &other);
	kill(hog, SIGKILL);
	touch();
	rest();
	waitpid(hog, NULL, 0);
	after = read_account(CLOCK_MONOTONIC);
	printf("{\"delay\":%llu,\"involuntary\":%llu,\"voluntary\":%llu,\"faults\":%llu,\"other\":%llu}\n",
	       after.delay - before.delay, after.involuntary - before.involuntary,
	       after.voluntary - before.voluntary, after.faults - before.faults, other);
	fflush(stdout);
	wait_for_byte();
	return 3;
}
