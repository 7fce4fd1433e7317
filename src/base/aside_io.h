/* SPDX-License-Identifier: MIT */
/* Reads and writes of another process's memory whose pages may never be filled: a file system that
 * a process serves (FUSE) may not answer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Transfers n bytes at `at` of fd (/proc/PID/mem) in an aside, a few MiB at a time, each within ms.
 * Returns how many were transferred; fewer at the first page that is not there, or that did not
 * come in time: then *silent. `pages` is the process's pagemap, or -1: with it, a page that is not
 * in memory is as if it were not there, so that nobody waits. Any thread; costs a fork. */
size_t aside_io_read(int fd, int pages, uint64_t at, void *bytes, size_t n, unsigned ms,
		     bool *silent);
size_t aside_io_write(int fd, int pages, uint64_t at, const void *bytes, size_t n, unsigned ms,
		      bool *silent);
