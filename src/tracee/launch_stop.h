/* SPDX-License-Identifier: MIT */
/* Starts a static program and holds it at the first moment at which the agent can come in: such a
 * program has no loader that would load the agent, and needs a thread pointer first. */
#pragma once
#include "tracee/tracee.h"

enum launch_libc {
	LAUNCH_NO_TLS, /* no thread pointer: stopped at its first instruction, or before the first
			* system call that a C library's start does not make */
	LAUNCH_GLIBC,
	LAUNCH_MUSL,
	LAUNCH_OTHER, /* a thread pointer of its own making (Go) */
};

/* Somebody who wants to know a new process before it executes its program. */
struct launch_birth {
	/* 0, or -errno and *err: it is not run then. */
	int (*born)(void *context, pid_t pid, struct err *err);
	void *context;
};

struct launch_stop {
	enum launch_libc libc;
	uint64_t fs;          /* the thread pointer; 0 = none */
	uint64_t tid_address; /* as given to set_tid_address; 0 = it was not called. glibc: fs +
			       * where its thread id stands, which holds it already */
	uint64_t entry;       /* address of its first instruction */
};

/* Forks and executes path with the environment as it is. *out is stopped (and dies with us) until
 * tracee_release(). The process is a child of the calling thread's process, and the caller waits
 * for its end. Returns 0, or -errno and *err: it could not be executed, or ended; nothing of it is
 * left then. */
int launch_stop(const char *path, char *const *argv, const struct launch_birth *birth, pid_t *pid,
		struct tracee **out, struct launch_stop *where, struct err *err);
