/* SPDX-License-Identifier: MIT */
/* Function commands: what happens when a function is called. set_ftrace_filter takes them besides
 * names,
 *
 *	[!]GLOB:traceoff[:COUNT]          traceon, snapshot, stacktrace, dump, cpudump
 *	[!]GLOB:enable_event:SYSTEM:EVENT[:COUNT]     disable_event
 *
 * Text in, text out; the code that runs a command asks function_command_due. As in ftrace a command
 * with a count and one without are two: `!f:traceoff` removes the one without, `!f:traceoff:0` the
 * other, whatever is left of its count. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

enum function_action {
	FUNCTION_TRACEON,
	FUNCTION_TRACEOFF,
	FUNCTION_SNAPSHOT,
	FUNCTION_STACKTRACE,
	FUNCTION_DUMP,
	FUNCTION_CPUDUMP,
	FUNCTION_ENABLE,
	FUNCTION_DISABLE,
	FUNCTION_ACTIONS_N,
};

#define COMMAND_UNLIMITED (~0ul)

/* Shared by all copies of the lists that have it, so that each sees the count go down. */
struct function_command {
	enum function_action action;
	char *function;               /* a glob */
	char *system, *event;         /* the event that it switches; or NULL */
	bool counted;
	_Atomic unsigned long count;  /* how often it may still run; other threads decrease it */
	_Atomic unsigned users;       /* number of lists that have it */
};

struct function_commands {
	VEC(struct function_command *) at; /* the newest last; shown from the newest on */
};

/* Where the command begins in a word of set_ftrace_filter ("f:traceoff": at its colon); NULL: the
 * word is a name. `::` belongs to names. */
const char *function_command_in(const char *word);

/* Adds the word's command or, with `!`, removes those it matches. 0, or -EINVAL and *err with the
 * column; then nothing has changed. A command that is there already stays as it is. `exists`:
 * whether there is such an event. */
int function_commands_write(struct function_commands *l, const char *word,
			    bool (*exists)(void *arg, const char *system, const char *event),
			    void *arg, struct err *err);
/* The list as text, a line for each command; free() it. */
char *function_commands_read(const struct function_commands *l);
/* Shares the commands; function_commands_free drops a list's references. */
void function_commands_copy(struct function_commands *to, const struct function_commands *from);
void function_commands_free(struct function_commands *l);

/* Called when the function was called: whether the command is to run; counts it. `already`: its
 * effect already holds (traceon and traceoff, enable and disable); that is not counted. */
bool function_command_due(struct function_command *c, bool already);
