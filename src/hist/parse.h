/* SPDX-License-Identifier: MIT */
/* A line that is being parsed, shared by command.c (parts and their order), expression.c (fields,
 * modifiers, operators), variables.c (variables of other histograms) and actions.c. */
#pragma once
#include "hist/internal.h"
#include "hist/words.h"

/* Assignments are collected first, because the kernel looks at values before keys, in whatever
 * order they are written; of several of a kind the last one counts. */
struct hist_parse {
	const struct event_format *event;
	const struct hist_line *line;
	struct filter_fault *fault;
	struct hist_command *c;
	struct words keys, values, sort, size, clock, name;
	struct words assignments[HIST_VARIABLES_MAX], actions[HIST_ACTIONS_MAX];
	size_t n_assignments, n_actions;
	struct { struct words name, value; } variables[HIST_VARIABLES_MAX];
	size_t n_variables;
	bool counted;           /* `hitcount` stood among the values */
	unsigned subexpressions, groups;
};

enum parse_role { PARSE_KEY, PARSE_VALUE, PARSE_VARIABLE, PARSE_OPERAND };

/* Refuses the line, with the caret at the first occurrence of the words; absent or empty ones: at
 * its begin. */
int parse_refuse(struct hist_parse *p, const char *sentence, struct words at);
/* parse_refuse() with the caret at the words, for faults that the kernel has no sentence for. */
int parse_refuse_here(struct hist_parse *p, const char *sentence, struct words at);

/* Reads a field, constant, variable or expression. *f is the caller's, its operands the
 * command's. */
int parse_value(struct hist_parse *p, struct hist_field *f, struct words text,
		enum parse_role role);

/* Finds a variable: of SYSTEM.EVENT, if they are not absent, else of the events that onmatch names,
 * else of any. Returns 1: found, and *f reads it; 0: there is none; -EINVAL: there are several. */
int parse_find_variable(struct hist_parse *p, struct words system, struct words event,
			struct words name, struct hist_field *f);
/* Finds a field of an event, as parse_find_variable() does a variable: by the histogram there that
 * has keys like this one's. */
int parse_find_field(struct hist_parse *p, struct words system, struct words event,
		     struct words name, struct hist_field *f);
/* Whether another histogram of this event has a variable of that name. */
bool parse_is_taken(struct hist_parse *p, struct words name);

/* Splits the actions' lines; then, when variables are known, finds what they are about. */
int parse_actions(struct hist_parse *p);
int parse_finish_actions(struct hist_parse *p);
/* Frees what is in the action, parsed or half parsed. */
void parse_free_action(struct hist_action *a);
