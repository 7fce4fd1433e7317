/* A whole file, mapped read-only. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* 0, or -errno and *err: not there, not readable, not a regular file. An empty file gives
 * *bytes = NULL, *n = 0. unmap_file undoes it. */
int map_file(const char *path, uint8_t **bytes, size_t *n, struct err *err);
void unmap_file(uint8_t *bytes, size_t n);
