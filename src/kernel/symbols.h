/* SPDX-License-Identifier: MIT */
/* The kernel's functions by address: /proc/kallsyms as a module of the trace. It has some 50,000 of
 * them, of which a trace file gets those that its records name. */
#pragma once
#include "base/err.h"
#include "trace/trace_info.h"

/* Whether the text has no addresses: of a user who may not see them. */
bool kernel_symbols_hidden(const char *text);
/* In their place: one symbol that no record names. */
#define KERNEL_SYMBOLS_NONE "ffffffff7fffffff T hidden\n"
/* Reads all symbols of text, in the order of their addresses; of several at one address the first,
 * as the kernel prints it. text: /proc/kallsyms. The module has no names and no image;
 * kernel_symbols_free() frees it. 0, or -errno and *err: no symbol has an address (ENOENT). */
int kernel_symbols_read(struct trace_module *out, const char *text, struct err *err);
void kernel_symbols_free(struct trace_module *m);
/* Adds the image of the kernel, with all symbols as its one module. Returns the module's index; or
 * -errno and *err. */
int kernel_symbols_add(struct trace_info *info, const char *text, struct err *err);
/* The id of the function around an address; 0: none. */
uint32_t kernel_symbols_at(const struct trace_module *m, uint64_t address);

/* Functions that records name. Their ids in the trace are given when they come into it, so that
 * records have to be renumbered then. */
struct kernel_used {
	const struct trace_module *all; /* of kernel_symbols_read() */
	VEC(uint32_t) ids;      /* by id in `all`: the trace's id; 0: no record named it */
	VEC(uint32_t) fresh;    /* ids in `all` of those that the trace does not have yet */
	uint32_t next_id;
};

/* all outlives u; kernel_used_free() frees it. */
void kernel_used_init(struct kernel_used *u, const struct trace_module *all);
void kernel_used_free(struct kernel_used *u);
/* A record names the function with this id in `all`; 0: none. */
void kernel_used_note(struct kernel_used *u, uint32_t id);
/* Adds the functions named since the last call to info, as a module of the image. False: there are
 * none. */
bool kernel_used_add(struct kernel_used *u, struct trace_info *info, uint32_t image);
/* Gives functions in n words of whole records, which kernel_used_add() has seen, their ids in the
 * trace. */
void kernel_used_renumber(const struct kernel_used *u, uint64_t *words, size_t n);
