// Exceptions that signal handlers throw, out of the first instructions of a function: a fault in what brace moves to a
// trampoline, and a timer's signal at any instruction of it. They are caught in the function itself and in its caller.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

#include "truth.h"

enum { ROUNDS = 1000 };
static int *hole; // no page is there
static unsigned long here, there;

static void on_fault(int, siginfo_t *info, void *)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &set, nullptr);
	throw info->si_addr;
}

extern "C" {
// Faults in its first instruction, and leaves.
TRACED int load(const int *p) { return *p; }

// The same, behind a frame.
TRACED int load_framed(const int *p, int n)
{
	int sum = *p;

	BARRIER();
	for (int i = 0; i < n; i++)
		sum += load(p);
	return sum;
}

// Catches what its own first load throws.
TRACED int catches(const int *p)
{
	try {
		int value = *p;

		BARRIER();
		return value;
	} catch (void *at) {
		here += at == p;
		return -1;
	}
}

TRACED int calls(const int *p, int n)
{
	int sum = 0;

	try {
		sum = n % 2 ? load(p) : load_framed(p, n);
	} catch (void *at) {
		there += at == p;
		sum = -2;
	}
	BARRIER();
	return sum;
}
}

int main()
{
	struct sigaction action = {};
	int fine = 7, sum = 0;

	hole = static_cast<int *>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, nullptr);
	for (int i = 0; i < ROUNDS; i++)
		sum += calls(hole, i) + catches(hole) + calls(&fine, 1) + catches(&fine);
	printf("%d %lu %lu\n", sum, here, there);
	truth("calls", 2 * ROUNDS);
	truth("catches", 2 * ROUNDS);
	truth("load_framed", ROUNDS / 2);
	truth("load", ROUNDS / 2 + ROUNDS);
	return 0;
}
