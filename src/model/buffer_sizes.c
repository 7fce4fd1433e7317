/* SPDX-License-Identifier: MIT */
/* buffer_size_kb and its per-CPU files. settings.c's table and instance/ call it; like all of
 * model/ it works on one struct settings, which the caller has locked. A buffer that would be too
 * large is -ENOMEM and a sentence. Any thread. */
#include "model/buffer_sizes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/units.h"

/* 64 GB: beyond that it is a typing error. */
#define SIZE_KB_MAX (64 << 20)

/* -1: another file, or a CPU that this machine does not have. */
int buffer_size_file_cpu(const struct settings *s, const char *file)
{
	unsigned cpu;
	int end = 0;

	/* %n tells that the whole pattern matched, and where: anything behind it is another
	 * file. */
	if (sscanf(file, "per_cpu/cpu%4u/buffer_size_kb%n", &cpu, &end) < 1 || !end || file[end])
		return -1;
	return cpu < s->cpumask.n ? (int)cpu : -1;
}

/* A CPU without a size of its own has that of all. */
uint64_t buffer_size_of(const struct settings *s, unsigned cpu)
{
	return cpu < s->cpu_size_kb.n && s->cpu_size_kb.at[cpu] ? s->cpu_size_kb.at[cpu]
								: s->buffer_size_kb;
}

/* No product: CPUs may have sizes of their own. */
uint64_t buffer_size_total(const struct settings *s, unsigned cpus)
{
	uint64_t kb = 0;

	for (unsigned cpu = 0; cpu < cpus; cpu++)
		kb += buffer_size_of(s, cpu);
	return kb;
}

/* cpu -1: of all. */
int buffer_size_write(struct settings *s, int cpu, const char *text, struct err *err)
{
	uint64_t kb;
	/* Parsed before anything is changed. */
	int e = units_parse_size_kb(text, &kb, err);

	if (e)
		return e;
	if (kb > SIZE_KB_MAX)
		return err_at(err, ENOMEM, text, 0, "a buffer of one %s is at most %d GB",
			      cpu < 0 ? "thread" : "CPU", SIZE_KB_MAX >> 20);
	if (cpu < 0) {
		s->buffer_size_kb = kb;
		/* A size for all replaces those of single CPUs, as in ftrace. */
		s->cpu_size_kb.n = 0;
		return 0;
	}
	while (s->cpu_size_kb.n <= (unsigned)cpu)
		*vec_add(&s->cpu_size_kb) = 0;
	s->cpu_size_kb.at[cpu] = kb;
	return 0;
}

char *buffer_size_read(const struct settings *s, int cpu)
{
	/* The kernel shows "X" where the CPUs' sizes differ. */
	for (unsigned i = 0; cpu < 0 && i < s->cpumask.n; i++)
		if (buffer_size_of(s, i) != buffer_size_of(s, 0))
			return mem_strdup("X\n");
	return mem_printf("%" PRIu64 "\n", buffer_size_of(s, cpu < 0 ? 0 : (unsigned)cpu));
}
