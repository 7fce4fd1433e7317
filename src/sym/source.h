/* SPDX-License-Identifier: MIT */
/* A program in the words of its source: functions by name and file, lines, variables and what they
 * hold, as the debug information has them. Files are not trusted; work and answers are bounded. */
#pragma once
#include "sym/arguments.h"
#include "sym/chain.h"
#include "sym/module.h"

struct sym_source_info;

/* Opens the debug information of a module, which must outlive it. Returns 0, or -errno and *err:
 * -ENODATA: there is none, or it is left out; -EBADMSG, -ESTALE as sym_inlined_find().
 * sym_source_close() frees it; all answers are valid until then. One thread at a time. */
int sym_source_open(const struct sym_module *m, struct sym_source_info **out, struct err *err);
void sym_source_close(struct sym_source_info *s);

/* --- functions and lines
 * ----------------------------------------------------------------------- */

/* A function by its name in the source; `file`, NULL: whichever, is the end of its file's path,
 * from a directory on. Returns 0, or -errno and *err: -ENOENT. The caller frees path. */
struct sym_source_function {
	char *path;
	uint32_t line;            /* of its name */
	uint64_t vaddr;           /* its first instruction; 0: it has no code of its own */
};
int sym_source_function(struct sym_source_info *s, const char *name, const char *file,
			struct sym_source_function *out, struct err *err);

/* Places of one line: the first instruction of each function and each inlined copy that has code of
 * it, by address. function: name of the one whose code it is, n bytes of it, or "". */
struct sym_source_place { uint64_t vaddr; char function[64]; };
typedef VEC(struct sym_source_place) sym_source_places;
/* file: as above; only code of the function `within`, a name, and of its copies; NULL: any. Returns
 * 0, or -ENOENT and *err, which names the next line that has code. The caller frees *out. */
int sym_source_line(struct sym_source_info *s, const char *file, uint32_t line, const char *within,
		    sym_source_places *out, struct err *err);

/* Lines that have code, ascending and each once, with their first instruction: of a file, or of a
 * function with `within` and its own file. *path, which the caller frees: the file's. As
 * sym_source_line(). */
struct sym_source_number { uint32_t line; uint64_t vaddr; };
typedef VEC(struct sym_source_number) sym_source_numbers;
int sym_source_lines(struct sym_source_info *s, const char *file, const char *within,
		     sym_source_numbers *out, char **path, struct err *err);

/* Where each function that has code is declared, by its first instruction; a path is as the
 * compiler saw it. Returns 0, or -errno and *err. sym_source_declarations_free() frees the
 * answer. */
struct sym_source_declaration { uint64_t vaddr; uint32_t line; char *path; };
typedef VEC(struct sym_source_declaration) sym_source_declarations;
int sym_source_declared(struct sym_source_info *s, sym_source_declarations *out, struct err *err);
void sym_source_declarations_free(sym_source_declarations *d);

/* The source lines of n instructions, in any order. The caller sets vaddr, and all else to 0; line
 * stays 0 where none is known. The caller frees each path, which is as the compiler saw it. Returns
 * 0, or -errno and *err; then some of them may be set. */
struct sym_source_position { uint64_t vaddr; uint32_t line; char *path; };
int sym_source_positions_find(struct sym_source_info *s, struct sym_source_position *at, size_t n,
			      struct err *err);

/* --- variables -------------------------------------------------------------------------------- */

struct sym_scope;
/* The variables that the source sees at an instruction. 0, or -errno and *err: no function of the
 * debug information is there. sym_scope_free() frees it. */
int sym_scope_at(struct sym_source_info *s, uint64_t vaddr, struct sym_scope **out,
		 struct err *err);
void sym_scope_free(struct sym_scope *sc);

/* A variable that can be named: innermost first, hidden ones left out. why NULL: it can be fetched
 * here; else the end of a sentence about it. */
struct sym_variable { char *name, *type, *why; bool parameter; };
typedef VEC(struct sym_variable) sym_variables;
void sym_scope_variables(struct sym_scope *sc, sym_variables *out);
void sym_variables_free(sym_variables *v);
/* Name of the function around, and bytes from its first instruction; NULL: not known. */
const char *sym_scope_function(const struct sym_scope *sc, uint64_t *behind);

/* The type of an expression's value. STRING: the bytes at `chain`; STRING_AT: at the word that it
 * gives. */
enum sym_fetched_type {
	SYM_FETCHED_SIGNED, SYM_FETCHED_UNSIGNED, SYM_FETCHED_CHAR, SYM_FETCHED_POINTER,
	SYM_FETCHED_STRING, SYM_FETCHED_STRING_AT,
};
struct sym_fetched {
	struct sym_chain chain;
	bool memory;              /* the chain is the address, not the value */
	uint8_t type, size;       /* enum sym_fetched_type; bytes of the value, of an element */
	uint8_t bits, shift;      /* a bit field: `bits` from bit `shift` on; 0: all */
	uint64_t count;           /* elements of an array; 0: it is none */
	char name[32];            /* of the member or variable that is meant; "": none */
};
/* Finds NAME, EXPR->MEMBER, EXPR.MEMBER, EXPR[NUMBER], *EXPR, &EXPR, (EXPR), n characters; NAME
 * may be $retval in a function's return. any_type: what it holds is the caller's to say. Returns
 * 0, or -errno and *err with the column: -ENOENT: no such name, -ENODATA: $retval of a function
 * that returns nothing, -EINVAL: it cannot be fetched. */
int sym_scope_fetch(struct sym_scope *sc, const char *text, size_t n, bool at_return, bool any_type,
		    struct sym_fetched *out, struct err *err);

/* --- structures ------------------------------------------------------------------------------- */

/* A structure, class or union whose members are told. */
struct sym_structure;
/* Finds one by its own name or a typedef's; of several the first. Returns 0, or -errno and *err:
 * -ENOENT: there is none, and the sentence has the nearest name. sym_structure_free() frees it. */
int sym_structure_find(struct sym_source_info *s, const char *name, struct sym_structure **out,
		       struct err *err);
void sym_structure_free(struct sym_structure *st);
/* Its own name, by which declarations have it; NULL: it has none. */
const char *sym_structure_name(struct sym_structure *st);
/* Its bases, as dwarf_type_bases() tells them. The caller frees the names and the list. */
struct sym_bases { VEC(struct sym_base) at; };
void sym_structure_bases(struct sym_structure *st, struct sym_bases *out);
/* Whether it has a member of this name, n characters. */
bool sym_structure_has(struct sym_structure *st, const char *name, size_t n);
/* Finds what MEMBER, MEMBER->MEMBER, MEMBER.MEMBER or MEMBER[NUMBER] is, n characters of text from
 * `at` on, of the structure at address 0: the chain begins with a number. Works like
 * sym_scope_fetch() otherwise; the column is in the text. */
int sym_structure_fetch(struct sym_structure *st, const char *text, size_t at, size_t n,
			struct sym_fetched *out, struct err *err);
