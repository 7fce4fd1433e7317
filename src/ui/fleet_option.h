/* SPDX-License-Identifier: MIT */
/* The options by which brace push and brace fleet find their servers, and what those lack. */
#pragma once
#include "fleet/questions.h"
#include "ui/invocation.h"

/* Reads --to, or $BRACE_FLEET, and --auth, --ca and --insecure. s is empty; the caller frees it,
 * whatever comes. 0, or EXIT_BRACE (said). */
int fleet_option_servers(const struct invocation *inv, const char *command,
			 struct fleet_servers *s);
/* Returns the second, since 1970, at which --since begins; 0: it was not given, or lies before
 * 1970. */
uint64_t fleet_option_since(const struct invocation *inv);
/* Reads a run's number, as brace fleet runs prints it. False: the word is none. */
bool fleet_option_run(const char *word, uint64_t *run);
#define FLEET_LACKS_MOST 2
/* Sentences, for free(), about what the figures do not have. Returns their number. */
unsigned fleet_option_lacks(const struct fleet_answer *a, char *sentences[FLEET_LACKS_MOST]);
/* Warns of what the figures do not have. Returns the exit status: 1 if a server did not answer. */
int fleet_option_missing(const struct fleet_answer *a);
