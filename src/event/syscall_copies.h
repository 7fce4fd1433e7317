/* SPDX-License-Identifier: MIT */
/* The arguments of system calls that lead to memory of which records have a copy: paths and names,
 * buffers with a length, and some structures. */
#pragma once
#include "event/syscalls.h"
#include "shared/calls.h"

/* Writes the copies of a call's record before it, or after it (`behind`), in the order of its
 * arguments; returns how many, at most CALL_COPIES. */
unsigned syscall_copies(const struct syscall_info *s, bool behind,
			struct call_copy copies[CALL_COPIES]);
/* (tests) Whether each row of the table of copies, *rows of them, names arguments of its call. */
bool syscall_copies_are_right(size_t *rows);
/* Returns the number of arguments that the call has. */
unsigned syscall_arguments(const struct syscall_info *s);
/* Copies the name of argument i, of which there are more, to `name`; its type to `type`. Either may
 * be NULL; both are cut to n bytes. */
void syscall_argument(const struct syscall_info *s, unsigned i, char *type, char *name, size_t n);
