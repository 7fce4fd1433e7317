/* SPDX-License-Identifier: MIT */
/* Signatures of the C library's functions where no debug information tells them. */
#pragma once
#include "sym/signatures.h"

/* Fills in *out, except its vaddr, with the declaration by which arguments of the function are
 * shown: numbers have their widths, every pointer but a string's is void *. path: the file that has
 * the function; NULL: it is an import. False: the function is none of those. The caller frees *out
 * with sym_signature_free(). */
bool known_signature(const char *path, const char *name, struct sym_signature *out);
