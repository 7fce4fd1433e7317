/* SPDX-License-Identifier: MIT */
/* System calls in a stopped process' name, with sentences for their failures. */
#pragma once
#include "tracee/tracee.h"

/* `what` fits into "the process could not %s for the agent". Returns -errno and *err when the call
 * itself fails in the process, too. */
int remote_call(struct tracee *t, const char *what, long number, const uint64_t args[6],
		int64_t *result, struct err *err);
int remote_refused(int64_t result, const char *what, struct err *err);
/* Maps memory in the process; *out, if not NULL, is the address. */
int remote_map(struct tracee *t, uint64_t at, uint64_t bytes, int prot, int flags, int fd,
	       uint64_t offset, uint64_t *out, struct err *err);
void remote_unmap(struct tracee *t, uint64_t at, uint64_t bytes);
void remote_close(struct tracee *t, int64_t fd);
/* Makes a pair of sockets in the process. The kernel writes their descriptors (int32_t[2]) to `at`;
 * *ours is our copy of the second one. */
int remote_socket(struct tracee *t, uint64_t at, int *ours, struct err *err);
