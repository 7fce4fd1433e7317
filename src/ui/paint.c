/* SPDX-License-Identifier: MIT */
/* Used by screen.c between the text and the terminal. Works only on what reports have printed, so
 * it guesses by form: a line that is not recognized stays plain. Nothing fails; the sink keeps its
 * own errors. On the main thread. */
#include "ui/paint.h"

#include <ctype.h>

#define DIM "\033[2m"
#define BOLD "\033[1m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

/* Every piece ends with PLAIN, so that no colour reaches over a line's end, not even if the pager
 * shows a part. */
static void painted(struct out *to, const char *colour, const char *bytes, size_t n)
{
	out_str(to, colour);
	out_bytes(to, bytes, n);
	out_str(to, PLAIN);
}

/* Index of a marked duration ("! 174.232 us"), or n. It stands left of the `|`. */
static size_t find_mark(const char *line, size_t n)
{
	for (size_t i = 1; i + 2 < n && line[i] != '|'; i++)
		/* ftrace's marks of long durations (trace_find_mark): +, !, #, *, @ and $, from 10
		 * us to 1 s. */
		if (line[i - 1] == ' ' && memchr("+!#*@$", line[i], 6) && line[i + 1] == ' ' &&
		    isdigit((unsigned char)line[i + 2]))
			return i;
	return n;
}

static size_t find_bytes(const char *line, size_t n, size_t from, const char *what)
{
	const char *at = memmem(line + from, n - from, what, strlen(what));

	return at ? (size_t)(at - line) : n;
}

void paint_graph(struct out *to, const char *line, size_t n)
{
	size_t mark = find_mark(line, n), end = find_bytes(line, n, mark, " |");
	/* Searched behind the duration, where the line has one. */
	size_t comment = find_bytes(line, n, end < n ? end : 0, "/* ");

	if (n && line[0] == '#') {
		painted(to, DIM, line, n);
		return;
	}
	out_bytes(to, line, mark < comment ? mark : comment);
	if (mark < n)
		painted(to, line[mark] == '+' || line[mark] == '!' ? YELLOW : RED, line + mark,
			end - mark);
	if (mark < n)
		out_bytes(to, line + end, comment - end);
	if (comment < n)
		painted(to, DIM, line + comment, n - comment);
}

/* The header is known by CALLS in the first 32 columns, where rows have numbers. */
void paint_table(struct out *to, const char *line, size_t n)
{
	static const char header[] = "CALLS";

	if (find_bytes(line, n, 0, header) + strlen(header) <= 32 &&
	    find_bytes(line, n, 0, "TOTAL") < n)
		painted(to, BOLD, line, n);
	else
		out_bytes(to, line, n);
}

void paint_list(struct out *to, const char *line, size_t n)
{
	size_t remark = find_bytes(line, n, 0, " (not hooked");

	out_bytes(to, line, remark);
	if (remark < n)
		painted(to, RED, line + remark, n - remark);
}

/* Keeps the beginning of a line. */
static void keep_bytes(struct paint *p, const char *bytes, size_t n)
{
	if (!n)
		return;
	vec_reserve(&p->rest, p->rest.n + n);
	memcpy(p->rest.at + p->rest.n, bytes, n);
	p->rest.n += n;
}

/* `bytes` end a line: n of them, behind the kept ones. */
static void finish_line(struct paint *p, const char *bytes, size_t n)
{
	if (p->rest.n) {
		keep_bytes(p, bytes, n);
		p->line(p->to, p->rest.at, p->rest.n);
		p->rest.n = 0;
	} else {
		p->line(p->to, bytes, n);
	}
}

void paint_bytes(struct paint *p, const char *bytes, size_t n)
{
	const char *end = bytes + n, *newline;

	while ((newline = memchr(bytes, '\n', (size_t)(end - bytes)))) {
		finish_line(p, bytes, (size_t)(newline - bytes));
		out_char(p->to, '\n');
		bytes = newline + 1;
	}
	if (bytes < end)
		keep_bytes(p, bytes, (size_t)(end - bytes));
}

void paint_end(struct paint *p)
{
	if (p->rest.n)
		finish_line(p, NULL, 0);
	vec_free(&p->rest);
}
