/* SPDX-License-Identifier: MIT */
/* `env NAME=VALUE... PROGRAM`, as the program that brace starts: brace sets the variables itself,
 * so that the program is there from the first instruction on, and not env first, in which no
 * function of the program can be found. */
#pragma once

/* The environment before and while the program has its own; to be {0} before. */
struct run_environment { char **before, **ours; };

/* Returns the words of the program alone, within argv, and sets this process's environment to what
 * the program is to have. Where brace looks at one of the variables itself, or env has options, all
 * is left to env: argv comes back. Not beside other threads; run_environment_end() undoes it,
 * before the words are freed. */
char *const *run_environment_begin(struct run_environment *e, char *const *argv);
void run_environment_end(struct run_environment *e);
/* Behind it, when no thread looks at the environment that was set any more. */
void run_environment_free(struct run_environment *e);
