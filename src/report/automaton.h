/* SPDX-License-Identifier: MIT */
/* Models of runtime verification: automata in DOT, as the kernel's rvgen (dot2k) takes them. A
 * state is a node, an edge's label is the event that leads from one to the other (several: one a
 * line); the edge from "__init_STATE" says where it begins; nodes of shape doublecircle or ellipse
 * are final. What brace reads beyond that are graph attributes, which other tools ignore:
 *
 *   brace_EVENT = "WHAT [key KEY] [if [!]KEY] [outside] | ..."   (automaton_bindings.h)
 *   brace_by = "thread"                                 each thread has a state of its own, or
 *                                                       process, or all: one state for all
 *
 * Data alone; any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define AUTOMATON_MOST 64u /* states, and events: sets of states are words */

enum automaton_by { AUTOMATON_BY_THREAD, AUTOMATON_BY_PROCESS, AUTOMATON_BY_ALL };

struct automaton_event {
	char *name;
	char *what;        /* of brace_NAME; NULL: the name itself */
	uint64_t next[AUTOMATON_MOST]; /* by state: the set of states that it leads to */
};

struct automaton {
	char *name;
	VEC(char *) states;
	VEC(struct automaton_event) events;
	uint64_t first, final; /* sets of states */
	enum automaton_by by;
};

/* Reads a model of n bytes. 0 and *out, for automaton_free(); or -EINVAL, and *err with the line
 * and the column. */
int automaton_read(const char *text, size_t n, struct automaton **out, struct err *err);
void automaton_free(struct automaton *a); /* NULL is fine */
/* The set of all its states. */
uint64_t automaton_all(const struct automaton *a);
/* The states in which a set may be after the event. 0: the model allows it in none of them. */
uint64_t automaton_step(const struct automaton *a, uint32_t event, uint64_t states);
