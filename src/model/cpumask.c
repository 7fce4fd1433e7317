/* SPDX-License-Identifier: MIT */
/* Parses and prints tracing_cpumask. Accepts exactly what the kernel's bitmap parser accepts
 * (tests/oracle compares them), but says where an error is. settings.c calls it, on the thread that
 * writes the setting; no state. */
#include "model/cpumask.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* A group is 32 bits, as in the kernel's bitmap_parse() and its "%*pb". */
#define GROUP_DIGITS 8

/* Configured CPUs, not those that are online: one that comes later is in the mask already. */
void cpumask_all(struct cpumask *m)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	*m = (struct cpumask){ .n = n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : (unsigned)n };
	for (unsigned cpu = 0; cpu < m->n; cpu++)
		m->group[cpu / 32] |= UINT32_C(1) << cpu % 32;
}

bool cpumask_is_all(const struct cpumask *m)
{
	unsigned cpu = 0;

	while (cpu < m->n && cpumask_has(m, cpu))
		cpu++;
	return cpu == m->n;
}

static unsigned hex_value(char c)
{
	return isdigit((unsigned char)c) ? (unsigned)(c - '0')
					 : (unsigned)(tolower((unsigned char)c) - 'a' + 10);
}

/* Whether a processor of number n or above is set. */
static bool holds_more(const struct cpumask *m, unsigned n)
{
	for (unsigned cpu = n; cpu < CPUS_MAX; cpu++)
		if (m->group[cpu / 32] >> cpu % 32 & 1)
			return true;
	return false;
}

/* The kernel's parser also takes blanks between groups. */
static bool is_separator(char c)
{
	return c == ',' || isspace((unsigned char)c);
}

/* Parses the group that ends before text[*end] and the separators before it; *end moves in front of
 * both. */
static int parse_group(const char *text, size_t *end, uint32_t *group, struct err *err)
{
	unsigned digit = 0;

	for (*group = 0; *end && !is_separator(text[*end - 1]); --*end) {
		char c = text[*end - 1];

		if (!isxdigit((unsigned char)c))
			return err_at(err, EINVAL, text, *end - 1,
				      "a set of processors is a hexadecimal number");
		if (digit == GROUP_DIGITS)
			return err_at(err, EOVERFLOW, text, *end - 1,
				      "a group of processors has %d digits at most", GROUP_DIGITS);
		*group |= hex_value(c) << 4 * digit++;
	}
	while (*end && is_separator(text[*end - 1]))
		--*end;
	return 0;
}

/* Parses from the end, since groups are counted from there. As in the kernel an empty text is an
 * empty set, and separators may stand at both ends. */
int cpumask_parse(struct cpumask *m, const char *text, struct err *err)
{
	struct cpumask next = { .n = m->n };
	size_t end = strlen(text);
	unsigned group = 0;

	while (end && is_separator(text[end - 1]))
		end--;
	while (end) {
		int e;

		if (group > (m->n - 1) / 32)
			return err_at(err, EOVERFLOW, text, 0, "there are %u processors", m->n);
		e = parse_group(text, &end, &next.group[group++], err);
		if (e)
			return e;
	}
	if (holds_more(&next, m->n))
		return err_at(err, EOVERFLOW, text, 0, "there are %u processors", m->n);
	*m = next;
	return 0;
}

/* As the kernel prints it: groups of 32 bits with commas between, the highest CPUs first. */
char *cpumask_print(const struct cpumask *m)
{
	/* The first group shows only the digits it needs. */
	unsigned last = (m->n - 1) / 32, bits = (m->n - 1) % 32 + 1;
	/* Digits and a comma for each group, the newline, and NUL. */
	char text[CPUS_MAX / 32 * (GROUP_DIGITS + 1) + 2], *p = text;

	p += sprintf(p, "%0*x", (int)(bits + 3) / 4, m->group[last]);
	for (unsigned group = last; group-- > 0;)
		p += sprintf(p, ",%08x", m->group[group]);
	strcpy(p, "\n");
	return mem_strdup(text);
}
