/* SPDX-License-Identifier: MIT */
/* Names of the constants that system calls take: which arguments have them, and how they are
 * written. The print formats of syscalls.c have them, so every reader of an event prints them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event/syscalls.h"

struct syscall_name { uint32_t value; const char *name; };

/* An argument that is shown by names: one of `symbols` in the bits `low`, and `flags` in the
 * others. Lists end with a NULL name. */
struct syscall_named {
	const char *call, *argument; /* call NULL: every one but openat */
	uint32_t low;                /* 0: no symbols; UINT32_MAX: no flags */
	const struct syscall_name *symbols, *flags;
	bool low_last;               /* the flags come first, as in clone */
};

/* Returns how an argument of the call is shown; NULL: as a number. Any thread. */
const struct syscall_named *syscall_named(const char *call, const char *argument);
/* The table's second part, *n rows. Only syscall_named() looks into it. Any thread. */
const struct syscall_named *syscall_constants(size_t *n);
/* Writes the conversions that the print format needs for it, and its expressions, each after ", ".
 * `type` is the argument's: of an int the upper half of the register says nothing. */
void syscall_named_conversions(const struct syscall_named *n, FILE *f);
void syscall_named_expressions(const struct syscall_named *n, const char *type, FILE *f);
/* Writes a value in this way: names with a bar between, what has none in hexadecimal. */
void syscall_named_text(const struct syscall_named *n, const char *type, uint64_t value, FILE *f);
/* (tests) Whether each row is an argument of a call. *rows: how many there are. */
bool syscall_names_are_right(size_t *rows);
