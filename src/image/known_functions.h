/* SPDX-License-Identifier: MIT */
/* Parameters of well-known functions of the C library, by the names of their manual pages, which
 * its debug information, if there is any, does not have. */
#pragma once

/* A line of base/prototype.h, which stays, or NULL. path: the file that has the function; NULL: it
 * is an import of another file, which the C library provides. */
const char *known_functions_prototype(const char *path, const char *name);
