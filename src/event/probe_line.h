/* SPDX-License-Identifier: MIT */
/* A line that is being parsed, shared by probe_command.c (places in files), kprobe_command.c
 * (symbols) and eprobe.c (other events). */
#pragma once
#include "event/probe_command.h"

#define WORDS_MAX 130u            /* command, place, 128 arguments */

/* The line's words; each ends in the copy with a NUL. */
struct line_words {
	const char *line;
	char *copy;
	char *at[WORDS_MAX];
	size_t n;
	struct err *err;
	/* Where arguments may have names of the place's own: makes of [NAME=]WORD[:TYPE], and of
	 * $argN alone, one of fetch.h, which the caller frees; NULL: it is that already. 0, or
	 * -errno and *err with the column in the word. NULL: no place has such names. */
	int (*translate)(void *arg, const char *word, char **out, struct err *err);
	/* Makes what $arg* stands for, "a=$arg1:s32 b=$arg2:x64", which the caller frees; NULL and
	 * *err: it is not known. */
	char *(*all)(void *arg, struct err *err);
	void *arg;
};

/* Cuts the line at blanks; a # begins a comment. 0, or -EINVAL, -E2BIG and *w->err. The caller
 * frees w->copy, also after an error. */
int probe_line_cut(const char *line, struct line_words *w);
/* Sets the line's error. `at` points into the copy. */
int probe_line_fault(const struct line_words *w, const char *at, const char *what);
/* Reads a decimal, octal or hexadecimal number that is the whole text. */
bool probe_line_number(const char *text, uint64_t *out);
/* Whether the word is $argN and no more. */
bool probe_line_is_number(const char *word);
/* Reads [GRP/]EVENT; the separator may be a dot. The caller frees *group and *event; each is NULL
 * if it is not there. */
int probe_line_name(const struct line_words *w, const char *name, char **group, char **event);
/* Compiles the words behind the place. */
int probe_line_arguments(const struct line_words *w, struct probe_command *c,
			 struct fetch_build *b);
/* Reads a definition whose place is a symbol. */
int kprobe_command_definition(const struct line_words *w, const struct probe_symbols *symbols,
			      struct probe_command *c);
