/* SPDX-License-Identifier: MIT */
/* Words to the user on standard error: errors, warnings, progress. All are escaped (base/escape.h): sentences have names of
 * functions, files and programs in them. An error and a warning are one line each. */
#pragma once
#include <stddef.h>

#include "base/err.h"

/* brace's own failures; the traced program's status is passed through otherwise. */
enum { EXIT_BRACE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The sink of a struct out that goes to standard error. */
int say_bytes(void *arg, const char *bytes, size_t n);
/* "brace: sentence", and under it the text at fault with a caret. Returns EXIT_BRACE. */
int say_error(const struct err *err);
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints the error and returns the status for a program that could not be started. */
int say_start_error(const struct err *err);
