/* SPDX-License-Identifier: MIT */
/* How large the buffers are, in kilobytes: all the same (buffer_size_kb), or some CPUs' otherwise
 * (per_cpu/cpuN/buffer_size_kb). */
#pragma once
#include "model/settings.h"

/* The CPU of per_cpu/cpuN/buffer_size_kb, or -1: the file is another, or there cannot be such a CPU. */
int cpu_of_size_file(const struct settings *s, const char *file);

/* 0, or -errno and *err; CPU -1: all of them. */
int buffer_size_write(struct settings *s, int cpu, const char *text, struct err *err);
/* Of a CPU; -1: of all, X where they differ. free() it. */
char *buffer_size_read(const struct settings *s, int cpu);

uint64_t buffer_size_of(const struct settings *s, unsigned cpu);
/* Of the first `cpus` CPUs together. */
uint64_t buffer_size_total(const struct settings *s, unsigned cpus);
