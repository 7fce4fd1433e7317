/* A server with privilege separation: root's, its child gives up root, and is then an attacker's:
 * all that it can write to of what brace shares with it becomes one address, over and over. The
 * parent is in the midst of calls all the time.
 *     privileges WHAT [attached]      WHAT: the part of the names of the files whose mappings
 *                                     are written to */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define TABLES (UINT64_C(8) << 20) /* at most so many bytes of a mapping: behind them are records */
#define TRACED __attribute__((noinline))

static volatile unsigned long *rounds; /* of the child's; shared */

/* No call of the program leads here. */
TRACED static void astray(void)
{
	static const char said[] = "led astray by its child\n";

	_exit(write(1, said, sizeof(said) - 1) > 0 ? 77 : 78);
}

/* --- the child -------------------------------------------------------------------------------- */

static struct { uint64_t *at; size_t n; } parts[16];
static size_t n_parts;

static void find_parts(const char *what)
{
	char line[512], perms[8];
	unsigned long from, to;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && n_parts < 16 && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/memfd:brace-") || !strstr(line, what) || sscanf(line, "%lx-%lx %7s", &from, &to, perms) != 3 ||
		    strcmp(perms, "rw-s") != 0)
			continue;
		parts[n_parts].at = (uint64_t *)from;
		parts[n_parts++].n = (to - from < TABLES ? to - from : TABLES) / 8;
	}
}

static void scribble(uint64_t with)
{
	for (size_t i = 0; i < n_parts; i++)
		for (size_t k = 0; k < parts[i].n; k++)
			((volatile uint64_t *)parts[i].at)[k] = with;
}

/* By no function of libc's, which the agent leads: an attacker's child keeps what it maps. */
static long give_up_root(long user)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_setresuid), "D"(user), "S"(user), "d"(user) : "rcx", "r11", "memory");
	return result;
}

/* Words that are an address, and words that are small: counts that begin again. */
__attribute__((noreturn)) static void child(const char *what)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || give_up_root(NOBODY))
		_exit(9);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	find_parts(what);
	for (;;) {
		scribble((uint64_t)&astray);
		scribble(*rounds % 8);
		++*rounds;
	}
}

/* --- the parent ------------------------------------------------------------------------------- */

/* Returns when the child has written everything since the call. */
TRACED static unsigned long step(unsigned long n)
{
	for (unsigned long now = *rounds; *rounds < now + 2;)
		sched_yield();
	return n * 3 + 1;
}

#define FOUR(call) call; call; call; call
#define SIXTEEN(call) FOUR(FOUR(call))

/* Each of the calls is one from where there was none before. */
TRACED static unsigned long descend(unsigned long n, int depth)
{
	SIXTEEN(n = step(n));
	if (depth & 1)
		n = descend(n, depth - 1) + 1;
	else if (depth)
		n = descend(n, depth - 1) + 2;
	SIXTEEN(n = step(n));
	return n;
}

static unsigned long expected(unsigned long n, int depth)
{
	for (int i = 0; i < 16; i++)
		n = n * 3 + 1;
	if (depth)
		n = expected(n, depth - 1) + (depth & 1 ? 1 : 2);
	for (int i = 0; i < 16; i++)
		n = n * 3 + 1;
	return n;
}

static void wait_for_tracer(void)
{
	const struct timespec moment = { 0, 1000000 };

	puts("ready");
	fflush(stdout);
	do {
		nanosleep(&moment, NULL); /* brace comes by ptrace: nothing tells us */
		find_parts("image");
	} while (!n_parts);
	n_parts = 0;
}

int main(int argc, char **argv)
{
	int status = 0;
	unsigned long n;
	pid_t pid;

	rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 2 || rounds == MAP_FAILED)
		return 2;
	if (argc == 3)
		wait_for_tracer();
	pid = fork();
	if (pid == 0)
		child(argv[1]);
	n = descend(1, 3);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	printf("%s, its child was at it (%s)\n", n == expected(1, 3) ? "right" : "wrong", WIFSIGNALED(status) ? "killed" : "ended");
	return n != expected(1, 3) || !WIFSIGNALED(status);
}
