/* SPDX-License-Identifier: MIT */
/* The file that a user means by a word. */
#pragma once

/* Returns a path, or the file of the program that a shell would find; the caller frees it. A word
 * that leads nowhere stays as it is: opening it tells what is wrong. */
char *binary_path(const char *word);
