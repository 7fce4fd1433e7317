/* SPDX-License-Identifier: MIT */
/* Functions and other symbols of a session's programs, as kprobe_events finds them. */
#pragma once
#include "event/probe_command.h"

/* The ops find_symbol, find_object, find_argument, find_parameters and find_address of the tree's
 * target; arg: the trace_array. */
unsigned symbols_find(void *arg, const char *module, const char *symbol, uint64_t more,
		      struct symbol_match *out);
bool symbols_object(void *arg, const struct symbol_match *place, const char *name, size_t n,
		    uint64_t *vaddr);
int symbols_argument(void *arg, const struct symbol_match *place, const char *word, char **out,
		     struct err *err);
char *symbols_parameters(void *arg, const struct symbol_match *place, struct err *err);
bool symbols_at(void *arg, uint64_t address, struct symbol_match *out);
