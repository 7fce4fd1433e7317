/* SPDX-License-Identifier: MIT */
/* Sizes of the buffers in kilobytes: one for all CPUs (buffer_size_kb), or different ones for some
 * (per_cpu/cpuN/buffer_size_kb). */
#pragma once
#include "model/settings.h"

/* The CPU of a file per_cpu/cpuN/buffer_size_kb; -1: another file, or a CPU that cannot exist. */
int buffer_size_file_cpu(const struct settings *s, const char *file);

/* Parses and sets a size. 0, or -errno and *err; CPU -1: all CPUs. */
int buffer_size_write(struct settings *s, int cpu, const char *text, struct err *err);
/* The text of a size file; free() it. CPU -1: all, "X" where they differ. */
char *buffer_size_read(const struct settings *s, int cpu);

/* The size of one CPU's buffer, KB. */
uint64_t buffer_size_of(const struct settings *s, unsigned cpu);
/* The sizes of the first `cpus` CPUs together, KB. */
uint64_t buffer_size_total(const struct settings *s, unsigned cpus);
