/* SPDX-License-Identifier: MIT */
/* Memory and descriptors of a stopped process, on the holder's thread. /proc/PID/mem ignores page
 * protections, so text can be written without mprotect. Addresses may be any: unmapped memory is an
 * error of the call, or a zero word, and so is memory that a process serves and does not give. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracee/internal.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD 0200 /* O_EXCL; Linux 6.9 */
#endif

/* Whether an access may wait for a process that serves a file. Such memory is accessed in a process
 * of its own, which is left behind if it takes too long. */
static bool is_served(struct tracee *t, uint64_t address, size_t n)
{
	if (!t->served.looked)
		served_look(&t->served, t->pid);
	return served_has(&t->served, address, n);
}

/* One system call's part of a transfer. */
static ssize_t transfer_once(const struct tracee *t, uint64_t address, uint8_t *bytes, size_t n,
			     bool writes)
{
	return writes ? pwrite(t->mem, bytes, n, (off_t)address)
		      : pread(t->mem, bytes, n, (off_t)address);
}

/* Reads the process's memory into `bytes`, or writes them there. Returns how many were transferred;
 * fewer than n at the first page that is not there. */
static size_t transfer_bytes(struct tracee *t, uint64_t address, uint8_t *bytes, size_t n,
			     bool writes)
{
	size_t done = 0;

	if (is_served(t, address, n))
		return writes ? served_write(&t->served, t->mem, address, bytes, n)
			      : served_read(&t->served, t->mem, address, bytes, n);
	while (done < n) {
		ssize_t r = transfer_once(t, address + done, bytes + done, n - done, writes);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		done += (size_t)r;
	}
	return done;
}

static int not_there(struct tracee *t, const char *what, uint64_t address, size_t bytes,
		     size_t done, struct err *err)
{
	return err_set(err, EFAULT, "process %d: cannot %s %zu bytes at %#llx (only %zu are there)",
		       (int)t->pid, what, bytes, (unsigned long long)address, done);
}

int tracee_read(struct tracee *t, uint64_t address, void *to, size_t bytes, struct err *err)
{
	size_t done = transfer_bytes(t, address, to, bytes, false);

	return done == bytes ? 0 : not_there(t, "read", address, bytes, done, err);
}

int tracee_read_twice(struct tracee *t, uint64_t address, void *to, size_t bytes, struct err *err)
{
	int r = tracee_read(t, address, to, bytes, err);

	return r < 0 ? tracee_read(t, address, to, bytes, err) : r;
}

#define WORDS_AT_ONCE 512

/* Returns how many were read; fewer than n at the first that is not there, or is served. One system
 * call for many words: process_vm_readv() takes up to IOV_MAX (1024) places and stops at the first
 * that faults. */
static size_t read_some(struct tracee *t, const uint64_t *addresses, size_t n, uint64_t *words)
{
	struct iovec to = { words, n * sizeof(*words) }, from[WORDS_AT_ONCE];
	size_t use = 0;
	ssize_t r;

	while (use < n && !is_served(t, addresses[use], sizeof(*words)))
		use++;
	for (size_t i = 0; i < use; i++)
		from[i] = (struct iovec){ (void *)(uintptr_t)addresses[i], sizeof(*words) };
	r = use ? process_vm_readv(t->pid, &to, 1, from, use, 0) : 0;
	return r < 0 ? 0 : (size_t)r / sizeof(*words);
}

void tracee_read_words(struct tracee *t, const uint64_t *addresses, size_t n, uint64_t *words)
{
	struct err ignored;

	for (size_t i = 0; i < n; i++) {
		/* The word that stopped the bulk read is tried alone, then the next bulk begins
		 * after it. */
		i += read_some(t, addresses + i, n - i < WORDS_AT_ONCE ? n - i : WORDS_AT_ONCE,
			       words + i);
		if (i < n && is_served(t, addresses[i], sizeof(*words)))
			words[i] = 0;
		else if (i < n &&
		    tracee_read(t, addresses[i], &words[i], sizeof(words[i]), &ignored) < 0)
			words[i] = 0;
	}
}

/* The old bytes are kept, so that a write that fails half way can be undone. */
int tracee_write(struct tracee *t, uint64_t address, const void *from, size_t bytes,
		 struct err *err)
{
	uint8_t *old = mem_zalloc(bytes ? bytes : 1);
	int r = tracee_read(t, address, old, bytes, err);
	size_t done;

	if (r == 0) {
		done = transfer_bytes(t, address, (uint8_t *)from, bytes, true);
		if (done != bytes) {
			transfer_bytes(t, address, (uint8_t *)old, done, true);
			r = not_there(t, "write", address, bytes, done, err);
		}
	}
	free(old);
	return r;
}

/* Before Linux 6.9 there are pidfds of processes only: then the descriptors of a process whose main
 * thread has gone are out of reach. */
static int open_pidfd(const struct tracee *t)
{
	int fd = (int)syscall(SYS_pidfd_open, t->pid, 0);

	/* A main thread that is gone has no descriptors: another thread is asked. */
	if (fd < 0 || t->threads.at[0].tid == t->pid)
		return fd;
	close(fd);
	return (int)syscall(SYS_pidfd_open, t->threads.at[0].tid, PIDFD_THREAD);
}

/* The descriptor is ours to close; the process keeps its own. */
int tracee_take_fd(struct tracee *t, int fd, struct err *err)
{
	int pidfd = open_pidfd(t), got, code;

	if (pidfd < 0)
		return err_set(err, errno, "cannot open process %d: %s", (int)t->pid,
			       strerror(errno));
	got = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	code = errno;
	close(pidfd);
	if (got < 0)
		return err_set(err, code, "cannot take descriptor %d of process %d: %s", fd,
			       (int)t->pid, strerror(code));
	return got;
}
