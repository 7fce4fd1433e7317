/* SPDX-License-Identifier: MIT */
/* brace latency: the times between two events, or a function's begin and another's, as a histogram
 * by powers of two. It is a statement of brace sql and a histogram of the synthetic event that the
 * statement makes. main() calls it, on brace's only thread. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ui/commands.h"
#include "ui/say.h"
#include "ui/statement.h"

#define USUAL_KEY "common_pid"
#define NAME "latency"

/* Says what is wrong with "A B [by KEY]"; false: nothing is. */
static bool is_wrong(const struct invocation *inv)
{
	char **q = inv->questions;

	if (inv->n_questions == 2 || (inv->n_questions == 1 && strstr(q[0], "~~")) ||
	    (inv->n_questions == 4 && !strcmp(q[2], "by")))
		return false;
	say("brace: from which moment to which? brace latency A B [by KEY], where KEY is a field of both, or "
	    "FIELD-OF-A=FIELD-OF-B; or brace latency 'A ~~ B'\n");
	return true;
}

/* Whether B is the return of the function A. */
static bool is_call(const char *a, const char *b)
{
	size_t n = strlen(a);

	return !strncmp(a, b, n) && !strcmp(b + n, "%return");
}

/* "SELECT ...": KEY is a field of both, or "FIELD=FIELD". The caller frees it. */
static char *join_of(const char *a, const char *b, const char *key)
{
	const char *equals = strchr(key, '=');
	int n = (int)(equals ? equals - key : (ptrdiff_t)strlen(key));

	return mem_printf("SELECT (end.TIMESTAMP - start.TIMESTAMP) AS nsecs, start.%.*s FROM %s AS "
			  "start JOIN %s AS end ON start.%.*s = end.%s", n, key, a, b, n, key,
			  equals ? equals + 1 : key);
}

/* Calls and spans are matched by their own frames and depths, others by the key. */
static char *statement_of(const struct invocation *inv)
{
	char **q = inv->questions;

	if (inv->n_questions == 1)
		return mem_printf("SELECT s.duration AS nsecs, s.start.common_pid FROM %s AS s", q[0]);
	if (inv->n_questions == 2 && is_call(q[0], q[1]))
		return mem_printf("SELECT f.duration AS nsecs, f.common_pid FROM calls.%s AS f", q[0]);
	return join_of(q[0], q[1], inv->n_questions == 4 ? q[3] : USUAL_KEY);
}

/* A statement of `brace sql` in other words: the synthetic event with a histogram on it. */
int cmd_latency(struct invocation *inv)
{
	const char *name = inv->of_sql.name ? inv->of_sql.name : NAME;
	struct statement_request r = { .n_more = 1, .hist = true };
	struct sql_write more = { .append = true };
	char *text;
	int status;

	if (is_wrong(inv))
		return EXIT_BRACE;
	text = statement_of(inv);
	/* The files that are printed are the kernel's, too: there the statement keeps account. */
	if (inv->of_sql.within && !inv->explain && !inv->of_sql.execute) {
		invocation_add_line(inv, mem_strdup("set_event_scope"), mem_strdup(inv->of_sql.within));
	} else if (inv->of_sql.within) {
		char *plain = text;

		text = mem_printf("%s WITHIN %s", plain, inv->of_sql.within);
		free(plain);
	}
	more.file = mem_printf("events/synthetic/%s/trigger", name);
	more.text = mem_strdup("hist:keys=nsecs.log2:vals=hitcount,hitcount.graph:sort=nsecs");
	inv->of_sql.name = name;
	r.text = text;
	r.more = &more;
	status = statement_run(inv, &r);
	free(more.file);
	free(more.text);
	free(text);
	return status;
}
