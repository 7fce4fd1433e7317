/* SPDX-License-Identifier: MIT */
/* Names of functions in a user's text, as C++, Rust and others write them: with blanks. */
#pragma once
#include <stddef.h>

/* Returns the bytes of the name at p, which ends before a blank, a character of `ends`, or the
 * text's end. Blanks belong to it inside of brackets (`f(char const*)`), before the const behind
 * parameters, behind `operator` (`operator new`, `A::operator unsigned long()`) and the operator
 * itself (`operator<< <char>`), and behind the words that demanglers put before a name:
 * `virtual thunk to f`. */
size_t function_name_length(const char *p, const char *ends);
/* Returns where the colon stands that ends a module or a file before the name, MODULE:NAME; NULL:
 * there is none. Two colons are part of a name. */
char *function_name_colon(char *p);
