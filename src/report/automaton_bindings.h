/* SPDX-License-Identifier: MIT */
/* The records of a trace that are the events of a model. The text of brace_EVENT, or the
 * event's name, is one of these, or several with | between them:
 *
 *   FUNCTION          a call of it begins
 *   FUNCTION%return   a call of it returns; FUNCTION? and FUNCTION?%return: there may be none
 *   SYSTEM:EVENT      a record of this event
 *   %handler, %handler%return   a signal's handler begins, and ends
 *
 * and behind it `key KEY`, the object whose state it changes: $arg1 to $arg6 of the call, $retval
 * of its return, or a field of the event; ? says that it is not known, so that afterwards any
 * object may be in any state. A key of 0 is no object. `if KEY` leaves out what has 0 there,
 * `if !KEY` what has not. `outside`: a fault is none if the call came from the module that has the
 * function, as an allocator's from its own lists. Data alone; any thread. */
#pragma once
#include "report/automaton.h"

enum binding_key_kind { BINDING_NOTHING, BINDING_ARGUMENT, BINDING_RETVAL, BINDING_FIELD,
			BINDING_UNKNOWN };

struct binding_key {
	enum binding_key_kind kind;
	unsigned argument;        /* from 0 on */
	char *field;
};

struct binding {
	uint32_t event;           /* of the automaton */
	char *function;           /* or NULL: */
	char *system, *name;
	bool handler;             /* or a handler of a signal */
	bool returns, optional, outside;
	struct binding_key key, condition;
	bool negated;             /* the condition is that it is 0 */
};

struct automaton_bindings { VEC(struct binding) at; bool keyed; /* all have keys; or none has */ };

/* Reads those of all events. 0; or -EINVAL and *err with the column. *out is to be freed either
 * way. */
int automaton_bindings_read(const struct automaton *a, struct automaton_bindings *out,
			    struct err *err);
void automaton_bindings_free(struct automaton_bindings *b);
