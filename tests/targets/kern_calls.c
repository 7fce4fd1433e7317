/* SPDX-License-Identifier: MIT Functions of the kernel's names do what a shell asks of the kernel:
 * preloaded into a traced shell, for tests of ftrace which trace themselves. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kern_kmalloc.h"
#include "kern_sched.h"

#define KERNEL __attribute__((noinline, noclone, visibility("default")))

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* The thread was woken: it begins, or a call that it waited for has ended. */
static void woken(void)
{
	int prio = 120 + getpriority(PRIO_PROCESS, 0);
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	brace_sched_sched_waking(name, getpid(), prio);
	brace_sched_sched_wakeup(name, getpid(), prio);
}

__attribute__((constructor)) static void begun(void)
{
	woken();
}

KERNEL long kernel_clone(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))next("fork");

	return real();
}

KERNEL long do_execveat_common(const char *path, char *const argv[], char *const envp[])
{
	int (*real)(const char *, char *const[], char *const[]) = (int (*)(const char *, char *const[], char *const[]))next("execve");

	return real(path, argv, envp);
}

/* An error is a negative number, as in the kernel. */
KERNEL long proc_reg_write(int fd, const void *buf, size_t n)
{
	ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))next("write");
	ssize_t r = real(fd, buf, n);

	woken();
	return r < 0 ? -errno : r;
}

KERNEL pid_t fork(void)
{
	brace_kmem_kmalloc(__builtin_return_address(0), 2048);
	return (pid_t)kernel_clone();
}

KERNEL pid_t vfork(void) /* which may be a fork */
{
	return (pid_t)kernel_clone();
}

KERNEL int execve(const char *path, char *const argv[], char *const envp[])
{
	return (int)do_execveat_common(path, argv, envp);
}

KERNEL ssize_t write(int fd, const void *buf, size_t n)
{
	long r = proc_reg_write(fd, buf, n);

	errno = r < 0 ? (int)-r : errno;
	return r < 0 ? -1 : r;
}
