/* cutter N COMMAND...: runs a command and kills it at the exit from the N-th system call of those
 * by which one process acts upon another. Every state that a tracer can leave a program in lies
 * behind one of them. Prints "killed after N NAME", or "passed COUNT" if there were not so many,
 * and exits as the command did. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)
#define CALL_STOP (SIGTRAP | 0x80)
#define IDS 4194304 /* the kernel's own limit */

static const struct { long number; const char *name; } acts[] = {
	{ SYS_ptrace, "ptrace" }, { SYS_pwrite64, "pwrite64" }, { SYS_wait4, "wait4" }, { SYS_sendmsg, "sendmsg" },
	{ SYS_pidfd_getfd, "pidfd_getfd" }, { SYS_kill, "kill" },
};
static int calls[IDS]; /* by thread: the one it is in */

static const char *name_of(long number)
{
	for (unsigned i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (acts[i].number == number)
			return acts[i].name;
	return NULL;
}

/* The name of the call that the thread comes out of, if it is one that counts. */
static const char *leaves(pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
		return NULL;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		calls[tid] = (int)info.entry.nr;
	return info.op == PTRACE_SYSCALL_INFO_EXIT ? name_of(calls[tid]) : NULL;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, OPTIONS);
	ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	return pid;
}

static int signal_of(int status)
{
	int signal = WSTOPSIG(status);

	return signal == CALL_STOP || status >> 16 || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
}

int main(int argc, char **argv)
{
	unsigned long wanted = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, n = 0;
	pid_t pid = start(argv + 2), tid;
	int status;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		const char *name = NULL;

		if (!WIFSTOPPED(status) && tid == pid)
			break;
		if (!WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == CALL_STOP)
			name = leaves(tid);
		if (name && ++n == wanted) {
			kill(pid, SIGKILL);
			printf("killed after %lu %s\n", n, name);
			wanted = 0;
		}
		ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)signal_of(status));
	}
	if (!WIFSIGNALED(status))
		printf("passed %lu\n", n);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
