/* SPDX-License-Identifier: MIT Functions of the kernel's names do what a shell asks of the kernel:
 * preloaded into a traced shell, for tests of ftrace which trace themselves. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
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

/* The path is the second argument, as in the kernel. */
KERNEL long do_sys_openat2(int folder, const char *path, int flags, mode_t mode)
{
	int (*real)(int, const char *, int, mode_t) = (int (*)(int, const char *, int, mode_t))next("openat");

	return real(folder, path, flags, mode);
}

/* The kernel's copy of the name is not the program's memory. */
KERNEL long vfs_symlink(void *map, void *folder, const char *name)
{
	woken();
	return name != NULL;
}

/* The directory of a new event; the kernel's first argument is its name. Hidden, so that the PLT
 * has no second function of the name. The compiler has to believe that the name is read. */
__attribute__((noinline, noclone, visibility("hidden"))) long tracefs_create_dir(const char *name, void *parent)
{
	__asm__ volatile("" : : "r"(name) : "memory");
	woken();
	return name != parent;
}

/* Makes what "p:NAME ..." asks for, if the file is kprobe_events. */
static void event_made(int fd, const char *line, size_t n)
{
	char link[32], path[256], name[64];
	size_t length = 0;
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, path, sizeof(path) - 1);
	path[got > 0 ? got : 0] = '\0';
	if (n < 3 || line[0] != 'p' || line[1] != ':' || !strstr(path, "/kprobe_events"))
		return;
	while (length + 1 < sizeof(name) && length + 2 < n && line[length + 2] != ' ') {
		name[length] = line[length + 2];
		length++;
	}
	name[length] = '\0';
	tracefs_create_dir(name, NULL);
}

/* An error is a negative number, as in the kernel. */
KERNEL long proc_reg_write(int fd, const void *buf, size_t n)
{
	ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))next("write");
	ssize_t r = real(fd, buf, n);

	if (r > 0)
		event_made(fd, buf, n);
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

KERNEL long do_sys_open(int folder, const char *path, int flags, mode_t mode)
{
	long fd = do_sys_openat2(folder, path, flags, mode);

	woken();
	return fd;
}

static int opened(const char *path, int flags, mode_t mode)
{
	return (int)do_sys_open(AT_FDCWD, path, flags, mode);
}

KERNEL int open_call(const char *path, int flags, ...) __asm__("open");
KERNEL int open64_call(const char *path, int flags, ...) __asm__("open64");

KERNEL int open_call(const char *path, int flags, ...)
{
	va_list rest;
	int fd;

	va_start(rest, flags);
	fd = opened(path, flags, va_arg(rest, mode_t));
	va_end(rest);
	return fd;
}

KERNEL int open64_call(const char *path, int flags, ...)
{
	va_list rest;
	int fd;

	va_start(rest, flags);
	fd = opened(path, flags, va_arg(rest, mode_t));
	va_end(rest);
	return fd;
}

KERNEL int symlinkat(const char *to, int folder, const char *path)
{
	int (*real)(const char *, int, const char *) = (int (*)(const char *, int, const char *))next("symlinkat");

	vfs_symlink(NULL, NULL, (const char *)-4096);
	return real(to, folder, path);
}

KERNEL ssize_t write(int fd, const void *buf, size_t n)
{
	long r = proc_reg_write(fd, buf, n);

	errno = r < 0 ? (int)-r : errno;
	return r < 0 ? -1 : r;
}
