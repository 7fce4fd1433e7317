/* SPDX-License-Identifier: MIT */
/* Servers from a command line, and what they did not answer. cmd/push.c, cmd/fleet.c and
 * fleet_diff.c call it, on brace's only thread. Fails on an address and a login that cannot be
 * read, and says so. */
#include "ui/fleet_option.h"

#include <inttypes.h>
#include <stdlib.h>

#include "ui/say.h"

int fleet_option_servers(const struct invocation *inv, const char *command,
			 struct fleet_servers *s)
{
	const char *to = inv->of_push.to ? inv->of_push.to : getenv("BRACE_FLEET");
	struct err err;

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

int fleet_option_missing(const struct fleet_answer *a)
{
	if (a->lost)
		say_warning("%" PRIu64 " records were lost in these runs: figures are too low", a->lost);
	if (a->answered == a->servers)
		return 0;
	say_warning("%zu of %zu servers answered, the figures lack the runs of the others: %s",
		    a->answered, a->servers, a->missing.text);
	return 1;
}
