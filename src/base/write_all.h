/* SPDX-License-Identifier: MIT */
/* write() to the end. Any thread. */
#pragma once
#include <stddef.h>

/* Writes all n bytes, however many writes that takes. 0, or -errno; then some may be written. */
int write_all(int fd, const void *bytes, size_t n);
