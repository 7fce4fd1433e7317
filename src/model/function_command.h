/* SPDX-License-Identifier: MIT */
/* What shall happen when a function is called: the commands that set_ftrace_filter takes besides names,
 *
 *	[!]GLOB:traceoff[:COUNT]          traceon, snapshot, stacktrace, dump, cpudump
 *	[!]GLOB:enable_event:SYSTEM:EVENT[:COUNT]     disable_event
 *
 * Text in, text out; who runs a command asks function_command_due. As in ftrace a command with a count and the same
 * one without are two: `!f:traceoff` takes out the one without, `!f:traceoff:0` the other, whatever it has left. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

enum function_action {
	FUNCTION_TRACEON, FUNCTION_TRACEOFF, FUNCTION_SNAPSHOT, FUNCTION_STACKTRACE, FUNCTION_DUMP, FUNCTION_CPUDUMP,
	FUNCTION_ENABLE, FUNCTION_DISABLE,
};

#define COMMAND_UNLIMITED (~0ul)

/* Shared by all copies of the lists it is in, so that what it did is seen in each. */
struct function_command {
	enum function_action action;
	char *function;               /* a glob */
	char *system, *event;         /* that it switches; or NULL */
	bool counted;
	_Atomic unsigned long count;  /* how often yet */
	_Atomic unsigned users;       /* lists */
};

struct function_commands {
	VEC(struct function_command *) at; /* the newest last; shown from the newest on */
};

/* Where the command begins in a word of set_ftrace_filter ("f:traceoff": at its colon), or NULL: it is a name. `::`
 * belongs to names. */
const char *function_command_in(const char *word);

/* Adds the word's command, or takes those out that it fits, with `!`. 0, or -EINVAL and *err with the column; then nothing has
 * changed. A command that is there already stays as it is. `exists`: whether there is such an event. */
int function_commands_write(struct function_commands *l, const char *word,
			    bool (*exists)(void *arg, const char *system, const char *event), void *arg, struct err *err);
/* A line for each; free() it. */
char *function_commands_read(const struct function_commands *l);
void function_commands_copy(struct function_commands *to, const struct function_commands *from);
void function_commands_free(struct function_commands *l);

/* The function was called: whether the command is to be done, which is counted. `so`: what it would bring about is
 * so already (traceon and traceoff, enable and disable), which is not. */
bool function_command_due(struct function_command *c, bool so);
