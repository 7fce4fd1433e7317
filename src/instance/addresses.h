/* SPDX-License-Identifier: MIT */
/* Every function of a session at an address of its own, the same in all processes: raw records name functions by it,
 * and kallsyms says which is which. A file that several processes have mapped has its functions once, where the first
 * one had them; a file whose place is taken by another one's stands 2^47 bytes (all of a program's memory) higher, or
 * twice as much, and so on. So with one program all addresses are the program's. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

/* What has put text into the trace that was written to trace_marker, as the kernel names it. No program has it. */
#define ADDRESS_MARKER UINT64_C(0xfffffffffffff000)

struct address_map { uint64_t *at; size_t n; }; /* 0: not looked up yet */

struct addresses {
	VEC(struct address_file { uint32_t module; uint64_t base; }) files; /* by their first module */
	VEC(uint64_t) bases;               /* by module: of its file */
	VEC(struct address_map) functions; /* by image */
	VEC(struct address_map) sites;     /* by image */
};

/* In all of these, nobody changes info meanwhile; it may have grown since the last call. */
/* 0: not known. */
uint64_t addresses_function(struct addresses *a, const struct trace_info *info, uint32_t image, uint32_t fn);
/* Of the return address of a call site; 0: not known. */
uint64_t addresses_site(struct addresses *a, const struct trace_info *info, uint32_t image, uint32_t site, uint64_t tsc);
/* Of any address of a process; in no module: as it is. */
uint64_t addresses_place(struct addresses *a, const struct trace_info *info, uint32_t image, uint64_t address, uint64_t tsc);
/* The function of that name (as kallsyms has it; the first of several), or with name NULL the one that holds the address. */
bool addresses_find(struct addresses *a, const struct trace_info *info, const char *name, uint64_t address, uint64_t *begin,
		    uint64_t *end);
/* As /proc/kallsyms. What lies between functions has a line "MODULE+0xOFFSET" where it begins, lest it be taken for
 * the end of the function before it. */
void addresses_print(struct addresses *a, const struct trace_info *info, struct out *out);
void addresses_free(struct addresses *a);
