/* SPDX-License-Identifier: MIT */
/* Symbols as their programmers wrote them: C++ and Rust by libiberty, others by
 * demangle_schemes.h. */
#pragma once
#include <stddef.h>

/* The form of functions' names where a user reads them (--names). */
enum demangle_style {
	NAMES_SHORT,   /* "std::string::append"; more only where it tells functions apart */
	NAMES_FULL,    /* all parameters, and the types as the compiler has them */
	NAMES_MANGLED, /* the symbols */
};

/* Chooses for the process, SHORT if never called. Called before other threads begin. */
void demangle_choose(enum demangle_style style);
enum demangle_style demangle_chosen(void);

/* "_ZN4node5StartEiPPc" -> "node::Start", without parameters; another name, or one that does not
 * demangle, comes out as it is. Other styles: as demangle_full(), or the symbol. Returns the length
 * as snprintf does. */
int demangle(const char *name, char *out, size_t n);
/* demangle() in the style SHORT, whatever is chosen. */
int demangle_plain(const char *name, char *out, size_t n);
/* demangle_plain() with parameters, as they tell overloads apart: "node::Start(int, char**)". */
int demangle_whole(const char *name, char *out, size_t n);
/* (tests) demangle_whole() with all that the symbol tells: templates' default arguments, Rust's
 * hashes. */
int demangle_full(const char *name, char *out, size_t n);
/* The text of demangle_plain() (0), of demangle_whole() (1), of demangle_full() (2), that of
 * demangle_whole() with ".base" or ".deleting" if it is such a constructor or destructor (3), or
 * the symbol (4), in memory that the caller frees. */
char *demangle_text(const char *name, unsigned level);
/* Cuts the parameters off a name of demangle_whole(), in place. Returns 0 if it has none. */
int demangle_cut(char *name);
/* True if the name looks mangled. */
int demangle_is_mangled(const char *name);

/* The texts that a function may be shown under, for comparing with what a user wrote. */
#define DEMANGLE_SPELLINGS 6u
struct demangle_spellings { char *at[DEMANGLE_SPELLINGS]; unsigned n; };
/* All but the symbol itself; of a name that is not mangled, what it would be in Ada. Free them by
 * demangle_spellings_free(). */
void demangle_spell(const char *symbol, struct demangle_spellings *s);
void demangle_spellings_free(struct demangle_spellings *s);
