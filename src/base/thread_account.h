/* SPDX-License-Identifier: MIT */
/* The kernel's counts of one thread, and of the machine's interrupts, by files of /proc that
 * anybody may read: `brace noise`. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread's counts since it began. */
struct thread_account {
	uint64_t start_time;   /* clock ticks since boot: tells it from a later one of its number */
	bool has_delay;        /* both times are known: the kernel has schedstat */
	uint64_t on_cpu_ns;
	uint64_t delay_ns;     /* it could have run, and another thread had the CPU */
	uint64_t voluntary, involuntary; /* switches */
	uint64_t minor, major; /* page faults; major: with a read from a disk */
};

/* Adds what the bytes of schedstat, status or stat of the thread say. 0, or -EINVAL: they are no
 * such file. */
int thread_account_schedstat(const char *bytes, size_t n, struct thread_account *out);
int thread_account_status(const char *bytes, size_t n, struct thread_account *out);
int thread_account_stat(const char *bytes, size_t n, struct thread_account *out);
/* Reads all three. 0; or -errno: the thread is gone. */
int thread_account_read(pid_t pid, pid_t tid, struct thread_account *out);

/* The whole machine's counts since it was started. */
struct machine_account {
	uint64_t interrupts, softirqs;
	uint64_t stolen_ticks; /* sysconf(_SC_CLK_TCK) a second: a hypervisor ran others */
};

/* Parses any bytes as /proc/stat. 0, or -EINVAL: they are no such file. */
int thread_account_parse_machine(const char *bytes, size_t n, struct machine_account *out);
int thread_account_machine(struct machine_account *out); /* 0 or -errno */
