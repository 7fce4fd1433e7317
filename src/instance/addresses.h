/* SPDX-License-Identifier: MIT */
/* Gives every function of a session one address, the same in all processes: raw records name
 * functions by it, and kallsyms maps it to names. A file that several processes have mapped has its
 * functions once, where the first process mapped it. If its place is taken by another file, it
 * stands 2^47 bytes (the size of a program's address space) higher, or a multiple of that. So with
 * one program all addresses are the program's own. */
#pragma once
#include "base/out.h"
#include "trace/trace_info.h"

/* The function that writes text of trace_marker into the trace, as the kernel names it. No program
 * has an address so high. */
#define ADDRESS_MARKER UINT64_C(0xfffffffffffff000)

struct address_map { uint64_t *at; size_t n; }; /* 0: not looked up yet */

struct addresses {
	/* by their first module */
	VEC(struct address_file { uint32_t module; uint64_t base; }) files;
	VEC(uint64_t) bases;               /* by module: the base of its file */
	VEC(struct address_map) functions; /* by image */
	VEC(struct address_map) sites;     /* by image */
};

/* In all of these functions no other thread changes info during the call; it may have grown since
 * the last call.
 *
 * Returns the address of function fn of the image; 0: not known. */
uint64_t addresses_function(struct addresses *a, const struct trace_info *info, uint32_t image,
			    uint32_t fn);
/* Returns the address of a call site (its return address); 0: not known. */
uint64_t addresses_site(struct addresses *a, const struct trace_info *info, uint32_t image,
			uint32_t site, uint64_t tsc);
/* Translates any address of a process; an address in no module is returned unchanged. */
uint64_t addresses_resolve(struct addresses *a, const struct trace_info *info, uint32_t image,
			   uint64_t address, uint64_t tsc);
/* Finds the function of that name (as kallsyms has it; the first of several) or, with name NULL,
 * the one that contains the address. Writes its bounds; false: there is none. */
bool addresses_find(struct addresses *a, const struct trace_info *info, const char *name,
		    uint64_t address, uint64_t *begin, uint64_t *end);
/* Finds the function that contains the address: its bounds, the module of its file, and itself,
 * which is NULL in a gap between functions. False: the address is in no module. */
bool addresses_symbol(struct addresses *a, const struct trace_info *info, uint64_t address,
		      uint64_t *begin, uint64_t *end, const struct trace_module **module,
		      const struct trace_function **f);
/* Prints /proc/kallsyms's lines. A gap between functions has a line "MODULE+0xOFFSET" where it
 * begins, so that nobody takes it for the end of the function before it. */
void addresses_print(struct addresses *a, const struct trace_info *info, struct out *out);
/* A file of kallsyms: the process that mapped it first (pid), what module_file_open() needs of
 * the module there (is), where the file's address 0 and its code stand in the session's address
 * space. */
struct address_module {
	struct trace_module is;
	pid_t pid;
	uint64_t base, first, end;
	bool program;         /* not a library */
};
typedef VEC(struct address_module) address_module_list;

/* Copies what kallsyms has of files, so that they can be read when info has been released. Code
 * that a program made is in no file, and left out. addresses_files_free() frees the list. */
void addresses_files(struct addresses *a, const struct trace_info *info, address_module_list *out);
void addresses_files_free(address_module_list *list);
/* Frees the tables and leaves *a empty. */
void addresses_free(struct addresses *a);
