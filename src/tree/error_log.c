/* SPDX-License-Identifier: MIT */
/* The error_log of an instance. Any thread may add to it or show it: l->lock protects the entries,
 * and is innermost. Text that users wrote is made harmless for a terminal and for the layout before
 * it is kept. */
#include "tree/error_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void error_log_init(struct error_log *l)
{
	*l = (struct error_log){ 0 };
	pthread_mutex_init(&l->lock, NULL);
}

static void entry_free(struct error_entry *e)
{
	free(e->location);
	free(e->text);
	free(e->command);
}

void error_log_free(struct error_log *l)
{
	error_log_clear(l);
	pthread_mutex_destroy(&l->lock);
}

/* Returns the line that contains `column`, which then counts from its start. Characters that would
 * move the caret or end the line become blanks. */
static char *line_at(const char *command, size_t n, size_t *column)
{
	size_t at = *column < n ? *column : n, begin, end;
	char *line;

	/* behind the last line: the error is at its end */
	while (at == n && at && command[at - 1] == '\n') {
		n--;
		at--;
	}
	for (begin = at; begin && command[begin - 1] != '\n'; begin--)
		;
	for (end = at; end < n && command[end] != '\n'; end++)
		;
	*column = *column > begin ? *column - begin : 0;
	line = mem_realloc(NULL, end - begin + 1, 1);
	for (size_t i = begin; i < end; i++)
		line[i - begin] =
			(unsigned char)command[i] < ' ' || command[i] == 0x7f ? ' ' : command[i];
	line[end - begin] = '\0';
	return line;
}

/* A copy in one line: sentences may quote what was written. */
static char *one_line(const char *text)
{
	char *line = mem_strdup(text);

	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return line;
}

/* command is what was written, n bytes without a NUL, of which only the line with the fault is
 * kept. The oldest entry goes, as in the kernel. */
void error_log_add(struct error_log *l, uint64_t ns, const char *location, const char *text,
		   const char *command, size_t n, size_t column)
{
	/* Built before the lock is taken. */
	struct error_entry e = { ns, mem_strdup(location), one_line(text), NULL, column };

	e.command = line_at(command, n, &e.column);
	pthread_mutex_lock(&l->lock);
	if (l->n == ERROR_LOG_KEPT) {
		entry_free(&l->entries[0]);
		memmove(&l->entries[0], &l->entries[1], (ERROR_LOG_KEPT - 1) * sizeof(e));
		l->n--;
	}
	l->entries[l->n++] = e;
	pthread_mutex_unlock(&l->lock);
}

/* The mutex stays: the log is used on. */
void error_log_clear(struct error_log *l)
{
	pthread_mutex_lock(&l->lock);
	while (l->n)
		entry_free(&l->entries[--l->n]);
	pthread_mutex_unlock(&l->lock);
}

/* The kernel's layout: the caret stands below the character at fault, and the eleven blanks are
 * those of " Command: ". */
void error_log_show(struct error_log *l, struct out *out)
{
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->n; i++) {
		const struct error_entry *e = &l->entries[i];

		out_printf(out, "[%5llu.%06u] %s: error: %s\n  Command: %s\n           ",
			   (unsigned long long)(e->ns / 1000000000),
			   (unsigned)(e->ns % 1000000000 / 1000), e->location, e->text, e->command);
		out_spaces(out, e->column);
		out_str(out, "^\n");
	}
	pthread_mutex_unlock(&l->lock);
}
