/* SPDX-License-Identifier: MIT */
/* /proc/PID/status and /proc/PID/stat: the facts that decide whether a process can be stopped. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Lines of `status`; a missing line is 0 (Kthread came with Linux 6.9). */
struct proc_status {
	char name[16];       /* of the main thread; control bytes as '?' */
	char state;          /* as R, S, D, T, t, Z, X */
	pid_t tgid, ppid, tracer;
	pid_t inner;         /* its number in its own pid namespace */
	uint32_t uid[4], gid[4]; /* real, effective, saved, file system */
	uint64_t cap_permitted, cap_effective;
	uint64_t sig_ignored, sig_caught; /* bit n - 1 is signal n */
	unsigned seccomp;    /* 0 none, 1 strict, 2 filter */
	unsigned seccomp_filters;
	bool kthread;
	bool has_memory;     /* there is a VmSize line: neither zombie nor kernel thread */
};
/* Parses any bytes. Returns 0, or -EINVAL if they are no such file (State or Tgid are missing). */
int proc_status_parse(const char *bytes, size_t n, struct proc_status *out);
int proc_status_read(pid_t pid, struct proc_status *out); /* 0 or -errno */

/* The line of `stat`. */
struct proc_stat {
	char state;
	pid_t ppid;
	uint32_t flags;      /* PF_* */
	int priority;        /* 20 for nice 0; negative for real-time threads */
	uint32_t threads;    /* number of threads, zombies included */
	int cpu;             /* the CPU it ran on last */
	/* Clock ticks since boot: tells a process from a later one with its pid. */
	uint64_t start_time;
};
/* Parses any bytes; 0 or -EINVAL. proc_stat_read(): 0 or -errno. */
int proc_stat_parse(const char *bytes, size_t n, struct proc_stat *out);
int proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *out);

/* Says why thread tid does not come to a stop. Returns -EBUSY. */
int proc_explain_wait(pid_t pid, pid_t tid, struct err *err);
/* Copies the main thread's name, or "?". */
void proc_name(pid_t pid, char name[16]);
/* Reads at most n bytes of /proc/PID/FILE. Returns how many, or -errno. */
ssize_t proc_read(pid_t pid, const char *file, void *bytes, size_t n);
