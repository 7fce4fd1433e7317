/* SPDX-License-Identifier: MIT */
/* Loads the plans of a program that is about to be executed: while the kernel and ld.so load it,
 * another processor reads the plans that they will need. */
#pragma once

struct ahead;

/* path: the program's file. NULL if no thread can be started; then every plan is loaded when it is
 * first needed. */
struct ahead *ahead_begin(const char *path);
/* Waits until all is loaded, and frees. NULL does nothing. */
void ahead_end(struct ahead *a);
