/* SPDX-License-Identifier: MIT */
/* The index "I want to ...": questions of users, and the command that answers each. brace help
 * --search prints and searches it; man/brace.1 and README.md have the same rows
 * (tests/ui/search.sh compares them, and runs the commands). */
#pragma once

struct help_want {
	const char *question; /* goes on after "I want to" */
	/* To be typed; words in capitals stand for the user's own. */
	const char *command;
	const char *words;    /* other words for it, not shown */
};

extern const struct help_want wants[]; /* ends with a NULL question */
