/* Uses what a debugger uses: int3 in its own code, a debugged child with breakpoints on functions
 * that are hooked (by int3 and by the processor's), single steps through them, and no tracer beside
 * it. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "truth.h"

TRACED static int target(int n)
{
	BARRIER();
	return n * 3 + 1;
}

static volatile int traps;
TRACED static void on_trap(int sig) { traps++; }

TRACED static int own_int3(int n)
{
	__asm__ volatile("int3; nop; int3");
	return n + traps;
}

static void debugged(void)
{
	require(!ptrace(PTRACE_TRACEME, 0, 0, 0), "PTRACE_TRACEME");
	raise(SIGSTOP);
	for (int i = 0; i < 5; i++)
		target(i);
	_exit(target(5));
}

static int next_stop(pid_t pid, int request)
{
	int status;

	require(!ptrace(request, pid, 0, 0) && waitpid(pid, &status, 0) == pid, "a step of the child");
	return status;
}

static pid_t start(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		debugged();
	require(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the child's stop");
	return pid;
}

/* An int3 where the function begins, lifted for a step each time. */
static void by_int3(void)
{
	pid_t pid = start();
	long word = ptrace(PTRACE_PEEKTEXT, pid, target, 0);
	struct user_regs_struct regs;
	int status, hits = 0;

	ptrace(PTRACE_POKETEXT, pid, target, (word & ~255L) | 0xcc);
	while (WIFSTOPPED(status = next_stop(pid, PTRACE_CONT))) {
		require(WSTOPSIG(status) == SIGTRAP && !ptrace(PTRACE_GETREGS, pid, 0, &regs), "a breakpoint");
		require(regs.rip == (uintptr_t)target + 1 && regs.rdi == (unsigned)hits, "where it is");
		regs.rip--;
		ptrace(PTRACE_SETREGS, pid, 0, &regs);
		ptrace(PTRACE_POKETEXT, pid, target, word);
		next_stop(pid, PTRACE_SINGLESTEP);
		ptrace(PTRACE_POKETEXT, pid, target, (word & ~255L) | 0xcc);
		hits++;
	}
	printf("int3: %d hits, status %d\n", hits, WEXITSTATUS(status));
}

static void by_debug_register(void)
{
	pid_t pid = start();
	int status, hits = 0;
	long dr = offsetof(struct user, u_debugreg);

	if (ptrace(PTRACE_POKEUSER, pid, dr, target) || ptrace(PTRACE_POKEUSER, pid, dr + 7 * 8, 1)) {
		printf("hardware: none here\n");
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return;
	}
	while (WIFSTOPPED(status = next_stop(pid, PTRACE_CONT)))
		hits++;
	printf("hardware: %d hits, status %d\n", hits, WEXITSTATUS(status));
}

static void by_steps(void)
{
	pid_t pid = start();
	int status, steps = 0;

	while (WIFSTOPPED(status = next_stop(pid, PTRACE_SINGLESTEP)))
		steps++;
	printf("steps: %d, status %d\n", steps > 100, WEXITSTATUS(status));
}

int main(void)
{
	int n = 0;

	signal(SIGTRAP, on_trap);
	for (int i = 0; i < 100; i++)
		n += own_int3(i);
	printf("int3 in own code: %d traps, %d\n", traps, n);
	by_int3();
	by_debug_register();
	by_steps();
	printf("nobody traces us: %ld\n", ptrace(PTRACE_TRACEME, 0, 0, 0));
	truth("on_trap", 200);
	truth("target", 18);
	return 0;
}
