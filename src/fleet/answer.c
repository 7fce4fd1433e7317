/* SPDX-License-Identifier: MIT */
/* questions.c, statement.c and others that ask all servers call it, on the command's thread. A
 * server that is away lacks in the answer; one that refuses ends it. */
#include "fleet/answer.h"

#include <errno.h>
#include <string.h>

/* *err keeps the last failure, which is told only if no server answered; `missing` has the first
 * for those who have some rows. One server after another: the sums are small, and one curl runs at
 * a time. */
int fleet_answer_all(const struct fleet_servers *s, fleet_asker *ask, void *arg,
		     struct fleet_answer *a, struct err *err)
{
	*a = (struct fleet_answer){ .servers = s->at.n };
	for (size_t i = 0; i < s->at.n; i++) {
		const int r = ask(arg, i, err);

		if (r && !fleet_may_pass(r))
			return r;
		if (r && !a->missing.code)
			a->missing = *err;
		a->answered += !r;
	}
	return a->answered ? 0 : -err->code;
}

/* The escapes of ClickHouse's TabSeparated. In place, since the result is never longer; a NUL in a
 * text ends it. Any other character behind a backslash stands for itself. */
void fleet_answer_unescape(char *field)
{
	static const char escaped[] = "tnrbf0", bytes[] = "\t\n\r\b\f\0";
	char *to = field;

	for (; *field; field++) {
		const char *e;

		if (*field != '\\' || !field[1]) {
			*to++ = *field;
			continue;
		}
		e = strchr(escaped, *++field);
		*to++ = e ? bytes[e - escaped] : *field;
	}
	*to = '\0';
}

int fleet_answer_line(char **at, char **line, struct err *err)
{
	char *end = strchr(*at, '\n');

	if (!**at)
		return 0;
	if (!end)
		return err_set(err, EPROTO, "its answer ends within a line");
	*end = '\0';
	*line = *at;
	*at = end + 1;
	return 1;
}

/* *at becomes NULL behind the last field, so that a caller tells an empty last field from none. */
char *fleet_answer_field(char **at)
{
	char *field = *at, *end = strchr(field, '\t');

	if (end)
		*end = '\0';
	*at = end ? end + 1 : NULL;
	return field;
}
