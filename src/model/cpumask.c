#include "model/cpumask.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define GROUP_DIGITS 8

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
	return isdigit((unsigned char)c) ? (unsigned)(c - '0') : (unsigned)(tolower((unsigned char)c) - 'a' + 10);
}

static bool holds_more(const struct cpumask *m, unsigned n)
{
	for (unsigned cpu = n; cpu < CPUS_MAX; cpu++)
		if (m->group[cpu / 32] >> cpu % 32 & 1)
			return true;
	return false;
}

/* From the end, as the groups' places are counted from there. */
int cpumask_parse(struct cpumask *m, const char *text, struct err *err)
{
	struct cpumask next = { .n = m->n };
	unsigned group = 0, digit = 0;

	for (size_t i = strlen(text); i-- > 0;) {
		if (text[i] == ',' && digit) {
			group++;
			digit = 0;
		} else if (!isxdigit((unsigned char)text[i])) {
			return err_at(err, EINVAL, text, i, "a set of processors is a hexadecimal number");
		} else if (digit == GROUP_DIGITS || group == CPUS_MAX / 32) {
			return err_at(err, EOVERFLOW, text, i, "a group of processors has %d digits at most",
				      GROUP_DIGITS);
		} else {
			next.group[group] |= hex_value(text[i]) << 4 * digit++;
		}
	}
	if (!digit)
		return err_at(err, EINVAL, text, 0, "a set of processors is a hexadecimal number");
	if (holds_more(&next, m->n))
		return err_at(err, EOVERFLOW, text, 0, "there are %u processors", m->n);
	*m = next;
	return 0;
}

char *cpumask_print(const struct cpumask *m)
{
	unsigned last = (m->n - 1) / 32, bits = (m->n - 1) % 32 + 1;
	char text[CPUS_MAX / 32 * (GROUP_DIGITS + 1) + 2], *p = text;

	p += sprintf(p, "%0*x", (int)(bits + 3) / 4, m->group[last]);
	for (unsigned group = last; group-- > 0;)
		p += sprintf(p, ",%08x", m->group[group]);
	strcpy(p, "\n");
	return mem_strdup(text);
}
