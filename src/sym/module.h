/* SPDX-License-Identifier: MIT */
/* One ELF file: its functions, the places where it may be patched, its identity. Reads untrusted
 * bytes: any file, however malformed, gives an error or a module, never a crash. */
#pragma once
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "sym/elf_file.h"

enum sym_source { /* where a function was learnt from, best first */
	SYM_SYMTAB, SYM_DEBUGFILE, SYM_DYNSYM, SYM_EH_FRAME, SYM_GOPCLNTAB,
	SYM_ENTRY, /* the loader enters there: e_entry, DT_INIT, DT_FINI and their arrays */
	SYM_CALLED, /* code of no other source that known code calls */
	SYM_SWITCH, /* code of no other source that seems to switch stacks */
	SYM_PLT,
};

struct sym_function {
	uint64_t vaddr;
	uint64_t size; /* never 0, never beyond its section. Where no source gives it: to the
			  next function or the section's end, padding included */
	uint32_t name;         /* offset into module strings; 0 = none. Aliases: the best name;
	                          C++ and Rust as the linker spells them, no @VERSION */
	uint8_t source;        /* enum sym_source: of the address */
	bool plt;              /* an entry of .plt/.plt.sec; name is the imported symbol's */
	bool cold;             /* a .cold fragment: not a function; never hooked. By name, or in
	                          a stripped file by its frame at entry and by who reaches it */
	bool cfa_unusual;      /* its FDE says CFA != rsp+8 at entry, or RA undefined. Signal
	                          frames are not in the list at all */
	bool ifunc;            /* STT_GNU_IFUNC: name is the resolver */
};

struct sym_segment {
	uint64_t vaddr, size, offset, filesz;
	bool exec, write;
	uint8_t pad[6]; /* 0: it is stored */
};

enum sym_language { SYM_LANG_UNKNOWN, SYM_LANG_GO }; /* languages that change how we may hook */

struct sym_module {
	char *path, *root;     /* as passed to sym_open_fd(); root NULL: no file */
	const uint8_t *bytes;  /* the file's, without debug information (ELF_CONTENTS) */
	size_t n_bytes;
	struct elf_file file;  /* owner of `bytes`; empty for sym_open_bytes() */
	uint16_t e_type;       /* ET_EXEC, ET_DYN */
	uint64_t entry;
	char *interp;          /* NULL: statically linked (or a library) */
	uint8_t build_id[20];
	uint8_t build_id_len;
	uint8_t language;      /* enum sym_language */
	bool xray;             /* has an XRay sled map */
	/* Bytes of executable sections (segments, if there are none), and of them those that
	 * belong to no function and are no padding. */
	uint64_t code_bytes, unknown_bytes;
	VEC(struct sym_segment) segments;      /* PT_LOAD */
	VEC(struct sym_function) functions;    /* by vaddr, one for an address */
	VEC(char) strings;                     /* byte 0 is NUL */
	VEC(char *) needed;                    /* DT_NEEDED */
	/* All sorted; addresses that are no code are left out. */
	VEC(uint64_t) patchable;  /* __patchable_function_entries: where each run of nops begins */
	VEC(uint64_t) mcount_loc; /* __mcount_loc: addresses of the calls or nops */
	VEC(uint64_t) xray_sleds; /* function-entry sleds */
	VEC(uint64_t)
	code_refs; /* code that data, relocations or landing pads name, unique. Not what
		      position-independent jump tables name: they hold differences */
};

/* Opens and reads everything above. Returns 0, or -errno and *err (ENOENT, EACCES, ENOEXEC for not
 * ELF / not x86-64 / malformed, with a sentence). sym_close() frees it. */
int sym_open(const char *path, struct sym_module **out, struct err *err);
/* sym_open() of an open regular file, which the caller closes. path: its name, where its debug file
 * is looked for, too; both are below root, the directory that is / for the process that maps the
 * file, "" = brace's own. */
int sym_open_fd(int fd, const char *path, const char *root, struct sym_module **out,
		struct err *err);
/* (tests, fuzzing) sym_open() of bytes in memory, which must outlive the module; no debug file is
 * looked for. */
int sym_open_bytes(const uint8_t *bytes, size_t n, const char *name, struct sym_module **out,
		   struct err *err);
void sym_close(struct sym_module *m);

const char *sym_name(const struct sym_module *m, const struct sym_function *f); /* NULL = none */
/* Return the function that begins at, or lies around, a vaddr; NULL: none. */
const struct sym_function *sym_at(const struct sym_module *m, uint64_t vaddr);
const struct sym_function *sym_around(const struct sym_module *m, uint64_t vaddr);
/* Translates between an address of code and its offset in the file. False: there is no code. */
bool sym_code_offset(const struct sym_module *m, uint64_t vaddr, uint64_t *offset);
bool sym_code_vaddr(const struct sym_module *m, uint64_t offset, uint64_t *vaddr);
/* Returns n bytes of the file at a vaddr, or NULL when they are not all in one segment's file
 * part. */
const uint8_t *sym_bytes(const struct sym_module *m, uint64_t vaddr, size_t n);
