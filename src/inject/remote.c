/* SPDX-License-Identifier: MIT */
/* Called in holders, with every thread of the process stopped; one of them makes the calls
 * (tracee_syscall). Unmapping and closing have no result: there is nothing else to do if they
 * fail. */
#include "inject/remote.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Returns result itself, which is -errno. */
int remote_refused(int64_t result, const char *what, struct err *err)
{
	return err_set(err, (int)-result, "the process could not %s for the agent: %s", what,
		       strerror((int)-result));
}

int remote_call(struct tracee *t, const char *what, long number, const uint64_t args[6],
		int64_t *result, struct err *err)
{
	int r = tracee_syscall(t, number, args, result, err);

	/* The kernel's error numbers end at 4095; addresses are larger. */
	if (r == 0 && *result < 0 && *result > -4096)
		r = remote_refused(*result, what, err);
	return r;
}

int remote_map(struct tracee *t, uint64_t at, uint64_t bytes, int prot, int flags, int fd,
	       uint64_t offset, uint64_t *out, struct err *err)
{
	const uint64_t args[6] = {
		at, bytes, (uint64_t)prot, (uint64_t)flags, (uint64_t)(int64_t)fd, offset
	};
	int64_t result = 0;
	int r = remote_call(t, "map memory", SYS_mmap, args, &result, err);

	if (out)
		*out = (uint64_t)result;
	return r;
}

void remote_unmap(struct tracee *t, uint64_t at, uint64_t bytes)
{
	const uint64_t args[6] = { at, bytes };
	struct err ignored;
	int64_t result;

	if (bytes)
		tracee_syscall(t, SYS_munmap, args, &result, &ignored);
}

void remote_close(struct tracee *t, int64_t fd)
{
	const uint64_t args[6] = { (uint64_t)fd };
	struct err ignored;
	int64_t result;

	tracee_syscall(t, SYS_close, args, &result, &ignored);
}

/* The first descriptor stays in the process for the agent; the second is taken over, and its copy
 * there is the agent's to close. */
int remote_socket(struct tracee *t, uint64_t at, int *ours, struct err *err)
{
	const uint64_t args[6] = { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, at };
	int32_t fds[2];
	int64_t result;
	int r = remote_call(t, "make a socket", SYS_socketpair, args, &result, err);

	/* The agent reads its descriptor at `at`. */
	if (r == 0)
		r = tracee_read(t, at, fds, sizeof(fds), err);
	if (r < 0)
		return r;
	*ours = tracee_take_fd(t, fds[1], err);
	return *ours < 0 ? *ours : 0;
}
