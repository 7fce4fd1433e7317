/* SPDX-License-Identifier: MIT */
/* A copy of the session memory of a process whose tracer died, taken while the process goes on. */
#pragma once
#include "collect/shared_memory.h"

/* Copies the session memory of `size` bytes that lies at `at` of the file fd (a /proc/PID/mem).
 * Sub-buffers that changed meanwhile are left out: marked as free. All its content is untrusted,
 * except what struct shared_memory itself holds. The caller frees it with snapshot_free(). 0, or
 * -errno and *err; -EPROTO: another version, or no session memory. */
int snapshot_take(int fd, uint64_t at, uint64_t size, struct shared_memory *out, struct err *err);
void snapshot_free(struct shared_memory *m);

/* Whether a tracer looks after the memory: its heartbeat changes. Takes 0.2 s. */
bool snapshot_is_attended(int fd, uint64_t at);
