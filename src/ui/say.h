/* SPDX-License-Identifier: MIT */
/* Words to the user on standard error: errors, warnings, progress. All text is escaped
 * (base/escape.h), because sentences contain names of functions, files and programs. An error and a
 * warning are one line each. */
#pragma once
#include <stddef.h>

#include "base/err.h"

/* exit statuses of brace's own failures; otherwise the traced program's is passed on */
enum { EXIT_BRACE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* Words go to this descriptor instead, which no program that is executed inherits. 0, or -errno and
 * *err: it is not open for writing. */
int say_to(int fd, struct err *err);
/* Puts `null`, a descriptor of /dev/null, in the place of that descriptor, whose reader sees the
 * end. Does nothing without say_to(). */
void say_end(int null);
/* Prints a text; its newlines stay. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Sink of a struct out that writes to standard error. */
int say_bytes(void *arg, const char *bytes, size_t n);
/* Prints "brace: sentence", and below it the text at fault with a caret. Returns EXIT_BRACE. */
int say_error(const struct err *err);
/* Prints the error of a program that cannot be executed. Returns the status that a shell has for
 * it, EXIT_NOT_FOUND or EXIT_NOT_EXECUTABLE. */
int say_exec_error(const struct err *err);
/* A word that the user wrote, for a sentence: of a long one the beginning, and "...". The result is
 * `word`, or is written to `cut`. */
#define SAY_WORD 64
const char *say_word(const char *word, char cut[SAY_WORD]);
/* Prints "brace: warning: sentence". */
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
