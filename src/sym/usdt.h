/* SPDX-License-Identifier: MIT */
/* USDT markers: places in a program at which it offers its arguments to tracers (systemtap's
 * notes). Each costs a nop until one is there. Untrusted bytes, as everything in a file. */
#pragma once
#include "sym/module.h"

struct usdt_marker {
	const char *provider, *name; /* in the module's file: valid while that is open */
	const char *arguments;       /* "-4@%edi 8@-16(%rbp)": event/usdt.h */
	uint64_t vaddr;              /* address of the nop */
	uint64_t semaphore; /* of a counter of two bytes, which the program looks at before it
			       prepares arguments; 0 = none */
};
typedef VEC(struct usdt_marker) usdt_markers;

/* Adds all markers of a file's bytes that stand in code, in the file's order. vec_free() frees the
 * list. */
void sym_usdt_bytes(const uint8_t *bytes, size_t n, usdt_markers *out);
/* (tests) sym_usdt_bytes() of a module's file. */
void sym_usdt(const struct sym_module *m, usdt_markers *out);

/* Finds the address of the object of this name, n characters, which an argument may name. False:
 * not known. */
bool sym_object(const struct sym_module *m, const char *name, size_t n, uint64_t *vaddr);
