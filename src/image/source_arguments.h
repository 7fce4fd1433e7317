/* SPDX-License-Identifier: MIT */
/* Arguments of probes by the names of the source, as text: source_probe.c writes lines of
 * uprobe_events with them, instance/symbol_arguments.c those of functions. */
#pragma once
#include "sym/source.h"

/* The place that the arguments of one line are made for. */
struct source_place_of_arguments {
	const struct sym_module *m;
	uint64_t vaddr, offset;   /* of the probe; of a return: of its function */
	/* at_return: names are those of the function's begin, of which the arguments are kept.
	 * numbered: $arg1 to $arg6 are registers here. */
	bool at_return, numbered;
	/* opened when the first name is met */
	struct sym_source_info *source;
	struct sym_scope *scope;
};

/* Whether a word, n characters of [NAME=]ARGUMENT[:TYPE], is in the source's words. */
bool source_argument_is(const char *word, size_t n);
/* Whether the word is $vars or $params. */
bool source_argument_is_all(const char *word, size_t n);
/* Makes the argument of uprobe_events; the caller frees it. NULL, and *err with the column in the
 * word. */
char *source_argument(struct source_place_of_arguments *p, const char *word, size_t n,
		      struct err *err);
/* All variables that can be fetched: " a=%di:s32 b=..."; the caller frees it. parameters: these
 * alone. NULL and *err: there is no debug information. */
char *source_arguments_all(struct source_place_of_arguments *p, bool parameters, struct err *err);
/* Writes $argN in place of each register that holds an argument when a function begins, and, but at
 * a return, $stack in place of the stack pointer; the caller frees it. NULL: another register is
 * meant. */
char *source_argument_numbered(const char *text, bool at_return);
/* Finds the type of the whole number, as fetch arguments have types, that the function at p->vaddr
 * returns: the C library's, of this symbol (NULL: none is known), by its manual, others by the
 * debug information. p->vaddr may be another one's each time. Returns 0, and in *type what the
 * caller frees; NULL: the type is not known, or of another kind. -ENODATA: the function returns
 * nothing. */
int source_argument_returned(struct source_place_of_arguments *p, const char *symbol, char **type);
/* Whether the word of n characters is $retval, or NAME=$retval, without a type. */
bool source_argument_is_value(const char *word, size_t n);
/* Closes what names of variables have opened in *p, which can be used again. */
void source_arguments_end(struct source_place_of_arguments *p);
