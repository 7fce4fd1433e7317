/* SPDX-License-Identifier: MIT */
/* Answers of all servers of a fleet: how many came, and the fields of their lines. */
#pragma once
#include "fleet/server.h"

struct fleet_answer {
	size_t servers, answered;
	struct err missing;           /* why the first of the others did not answer */
	uint64_t lost;                /* records, of all these runs */
	uint64_t rows;                /* that came from the servers */
};

/* Asks one server. 0, or -errno and *err. */
typedef int fleet_asker(void *arg, size_t server, struct err *err);
/* Asks all servers in turn, and counts in *a, which it begins anew, those that answer. 0; or -errno
 * and *err: none answered, or one refused, which ends the question. */
int fleet_answer_all(const struct fleet_servers *s, fleet_asker *ask, void *arg,
		     struct fleet_answer *a, struct err *err);

/* Three functions for ClickHouse's format TabSeparated; they change the text.
 *
 * Ends the line that *at stands on, and moves *at behind it. 1 and *line; 0: there is none; -EPROTO
 * and *err: it has no end, so the answer has none. */
int fleet_answer_line(char **at, char **line, struct err *err);
/* Ends the field that *at stands on, which is not NULL, and moves *at to the line's next one; to
 * NULL, if there is none. Returns the field. */
char *fleet_answer_field(char **at);
/* Undoes the escapes of a field, in place. */
void fleet_answer_unescape(char *field);
