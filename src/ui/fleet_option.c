/* SPDX-License-Identifier: MIT */
/* Servers from a command line, and what they did not answer. cmd/push.c, cmd/fleet.c and
 * fleet_diff.c call it, on brace's only thread. Fails on an address and a login that cannot be
 * read, and says so. */
#include "ui/fleet_option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "ui/say.h"

#define NS UINT64_C(1000000000)
#define RUN_DIGITS 16

int fleet_option_servers(const struct invocation *inv, const char *command,
			 struct fleet_servers *s)
{
	const char *to = inv->of_push.to ? inv->of_push.to : getenv("BRACE_FLEET");
	struct err err;

	/* An empty variable is none: scripts unset it so. */
	if (!to || !*to) {
		say("brace: %s needs a server: --to http://HOST:PORT, or $BRACE_FLEET\n", command);
		return EXIT_BRACE;
	}
	if (fleet_servers_read(s, to, &err) || fleet_servers_login(s, inv->of_push.auth, &err))
		return say_error(&err);
	for (size_t i = 0; i < s->at.n; i++) {
		s->at.at[i].ca = inv->of_push.ca;
		s->at.at[i].insecure = inv->of_push.insecure;
	}
	if (inv->of_push.insecure)
		say_warning("the server's certificate is not checked (--insecure)");
	return 0;
}

/* Lower case and all 16 digits: a shorter number would be taken for a run that it only begins
 * like. */
uint64_t fleet_option_since(const struct invocation *inv)
{
	const uint64_t now = (uint64_t)time(NULL), since = inv->of_push.since_ns;
	/* Whole seconds, as the servers' times are, rounded up: --since 1500ms has to include a run
	 * of 1.5 s ago. */
	const uint64_t before = since / NS + (since % NS != 0);

	return before && before < now ? now - before : 0;
}

bool fleet_option_run(const char *word, uint64_t *run)
{
	*run = strtoull(word, NULL, 16);
	return strlen(word) == RUN_DIGITS && word[strspn(word, "0123456789abcdef")] == '\0';
}

unsigned fleet_option_lacks(const struct fleet_answer *a, char *sentences[FLEET_LACKS_MOST])
{
	unsigned n = 0;

	if (a->lost)
		sentences[n++] = mem_printf("%" PRIu64 " records were lost in these runs: figures are too low",
					    a->lost);
	if (a->answered != a->servers)
		sentences[n++] = mem_printf("%zu of %zu servers answered, the figures lack the runs of the others: %s",
					    a->answered, a->servers, a->missing.text);
	return n;
}

/* Lost records are a warning alone; servers that did not answer are status 1, too. */
int fleet_option_missing(const struct fleet_answer *a)
{
	char *sentences[FLEET_LACKS_MOST];
	const unsigned n = fleet_option_lacks(a, sentences);

	for (unsigned i = 0; i < n; i++) {
		say_warning("%s", sentences[i]);
		free(sentences[i]);
	}
	return a->answered != a->servers;
}
