/* SPDX-License-Identifier: MIT */
/* Called by the commands that start a program from one word (cmd/shell.c), on the main thread,
 * around the start. Nothing fails: what is not understood is env's. */
#include "ui/run_environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static bool begins_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Whether brace looks at the variable while it starts a program: where its files are. */
static bool is_ours(const char *assignment)
{
	static const char *const names[] = { "BRACE_", "HOME=", "TMPDIR=", "XDG_" };
	bool is = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is |= begins_with(assignment, names[i]);
	return is;
}

static bool is_env(const char *word)
{
	return !strcmp(word, "env") || !strcmp(word, "/usr/bin/env") || !strcmp(word, "/bin/env");
}

/* Whether both texts are NAME=... of one name. */
static bool is_same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n + 1) == 0;
}

/* The environment with the assignment in it, the latest of a name. */
static void assign(char **environment, size_t *n, char *assignment)
{
	for (size_t i = 0; i < *n; i++)
		if (is_same_name(assignment, environment[i])) {
			environment[i] = assignment;
			return;
		}
	environment[(*n)++] = assignment;
}

char *const *run_environment_begin(struct run_environment *e, char *const *argv)
{
	size_t first = 1, n = 0;

	if (!argv || !argv[0] || !is_env(argv[0]))
		return argv;
	for (; argv[first] && argv[first][0] != '=' && strchr(argv[first], '='); first++)
		if (is_ours(argv[first]) || argv[first][0] == '-')
			return argv;
	if (!argv[first] || argv[first][0] == '-' || argv[first][0] == '=')
		return argv;
	while (environ[n])
		n++;
	e->before = environ;
	e->ours = mem_zalloc((n + first) * sizeof(*e->ours));
	memcpy(e->ours, environ, n * sizeof(*environ));
	for (size_t i = 1; i < first; i++)
		assign(e->ours, &n, argv[i]);
	e->ours[n] = NULL;
	environ = e->ours;
	return argv + first;
}

void run_environment_end(struct run_environment *e)
{
	if (!e->before)
		return;
	/* A setenv() meanwhile would have copied it. */
	if (environ == e->ours)
		environ = e->before;
	e->before = NULL;
}

void run_environment_free(struct run_environment *e)
{
	free(e->ours);
	e->ours = NULL;
}
