/* SPDX-License-Identifier: MIT */
/* Parses the two tables of the kernel: a heading of the processors that are online, then a row for
 * each interrupt. Any thread; nothing fails: a table that is cut ends there. instance/measure.c
 * asks, for each processor. */
#include "base/cpu_interrupts.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A row has 11 characters for each processor: with hundreds of them the table is longer, and the
 * rows at its end are not counted. */
#define TABLE_MOST 65536

/* The part of the text that is not read yet. */
struct table_text { const char *at, *end; };

static void skip_blanks(struct table_text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

/* Takes the next word of the line; its length, 0 at the line's end. It stops before the newline, so
 * that a row with fewer columns (ERR:) yields 0 for those that it does not have, and not the next
 * row's. */
static size_t next_word(struct table_text *t, const char **word)
{
	skip_blanks(t);
	*word = t->at;
	while (t->at < t->end && !isspace((unsigned char)*t->at))
		t->at++;
	return (size_t)(t->at - *word);
}

static uint64_t number_in(const char *word, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n && isdigit((unsigned char)word[i]); i++)
		v = v * 10 + (uint64_t)(word[i] - '0');
	return v;
}

/* The processor's column, from 0 on; false: none. Processors that are offline have no column: the
 * column is not the processor's number. */
static bool find_column(struct table_text *heading, unsigned cpu, unsigned *column)
{
	const char *word;
	size_t n;

	for (*column = 0; (n = next_word(heading, &word)); ++*column)
		if (n > 3 && !memcmp(word, "CPU", 3) && number_in(word + 3, n - 3) == cpu)
			return true;
	return false;
}

static void next_line(struct table_text *t)
{
	const char *newline = t->at < t->end ? memchr(t->at, '\n', (size_t)(t->end - t->at)) : NULL;

	t->at = newline ? newline + 1 : t->end;
}

static bool is_named(const char *word, size_t n, const char *name)
{
	return name && n == strlen(name) && !memcmp(word, name, n);
}

uint64_t cpu_interrupts_column(const char *bytes, size_t n, unsigned cpu, const char *only,
			       const char *but)
{
	struct table_text t = { bytes, bytes + n };
	uint64_t sum = 0;
	unsigned column;

	if (!find_column(&t, cpu, &column))
		return 0;
	for (next_line(&t); t.at < t.end; next_line(&t)) {
		const char *word;
		size_t length = next_word(&t, &word);

		if (!length || word[length - 1] != ':' || is_named(word, length, but) ||
		    (only && !is_named(word, length, only)))
			continue;
		for (unsigned i = 0; i <= column; i++)
			length = next_word(&t, &word);
		sum += number_in(word, length);
	}
	return sum;
}

static size_t read_table(const char *path, char bytes[TABLE_MOST])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0)
		return 0;
	while (n < TABLE_MOST && (got = read(fd, bytes + n, TABLE_MOST - n)) > 0)
		n += (size_t)got;
	close(fd);
	return n;
}

void cpu_interrupts_read(unsigned cpu, struct cpu_interrupts *out)
{
	static const char nmi[] = "NMI:";
	char bytes[TABLE_MOST];
	size_t n = read_table("/proc/interrupts", bytes);

	out->nmis = cpu_interrupts_column(bytes, n, cpu, nmi, NULL);
	out->interrupts = cpu_interrupts_column(bytes, n, cpu, NULL, nmi);
	n = read_table("/proc/softirqs", bytes);
	out->softirqs = cpu_interrupts_column(bytes, n, cpu, NULL, NULL);
}
