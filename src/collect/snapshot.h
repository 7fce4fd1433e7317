/* SPDX-License-Identifier: MIT */
/* A copy of the session memory of a process whose tracer died, taken while the process goes on. */
#pragma once
#include "collect/shared_memory.h"

/* The session memory of `size` bytes that lies at `at` of the file fd (a /proc/PID/mem). Sub-buffers whose
 * content changed under our hands are left out: marked as free. Everything in it is untrusted but
 * what struct shared_memory itself holds. snapshot_free() it. 0, or -errno and *err: EPROTO if it
 * is of another version, or none. */
int snapshot_take(int fd, uint64_t at, uint64_t size, struct shared_memory *out, struct err *err);
void snapshot_free(struct shared_memory *m);

/* Does a tracer look after it? Takes a fifth of a second. */
bool snapshot_is_attended(int fd, uint64_t at);
