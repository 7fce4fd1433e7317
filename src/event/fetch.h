/* SPDX-License-Identifier: MIT */
/* Compiles a probe's arguments, as a person or a marker's note writes them, to the program that
 * fetches them (shared/fetch.h) and the format of the record that they make. */
#pragma once
#include "base/vec.h"
#include "event/format.h"
#include "shared/fetch.h"

/* A field's type: u8 to u64, s8 to s64, x8 to x64 (shown in hexadecimal), char, symbol (an address
 * that is shown as a function), symstr (so, in quotes), string. */
struct fetch_type { const char *name, *field, *print; uint8_t size; bool is_signed, is_string; };
/* An argument's type with its dimension: the text behind the colon. */
struct fetch_shape {
	const struct fetch_type *type; /* of an element */
	uint16_t count;           /* elements of an array; 0: it is none */
	uint8_t bits, shift;      /* of the number, `bits` from bit `shift` on; 0: all */
	bool bad_bits;            /* there are no such bits */
};
/* Parses TYPE, TYPE[N] or bWIDTH@OFFSET/BITS, with [N] or without. NULL; or a sentence, and *where
 * in the text. */
const char *fetch_shape_parse(const char *text, struct fetch_shape *out, const char **where);
/* Returns the type of that name, n characters; NULL: none. */
const struct fetch_type *fetch_type_named(const char *name, size_t n);
/* Returns the type of a number of that width. */
const struct fetch_type *fetch_type_number(unsigned size, bool is_signed);

struct fetch_field {
	char *name;
	const struct fetch_type *type;
	uint16_t at, count;       /* count: elements of an array; 0: it is none */
};

/* A probe's fields, one after the other without gaps, as in the kernel's probes; the first is
 * __probe_ip, or of a return __probe_func and then __probe_ret_ip. */
struct fetch_build {
	VEC(struct fetch_field) fields;
	VEC(struct fetch_insn) code;
	uint32_t fixed;           /* bytes of the record so far */
	bool at_return;           /* it stands at a return instruction */
	bool of_file;             /* the probed instruction's place in its file is known: */
	uint64_t offset;
	/* The place was given as a symbol, as in kprobe_events: it is shown as one, and there are
	 * @SYMBOL and, at a function's first instruction, $argN. */
	bool by_symbol, at_entry;
	bool no_registers;        /* there is no %REG, as in the kernel's fprobes */
	/* by_symbol: finds a symbol of the probed file, n characters; *distance: its place less the
	 * probed one. False: there is none. */
	bool (*symbol)(void *arg, const char *name, size_t n, int64_t *distance);
	void *symbol_arg;
	/* The record is made of that of another event (eprobe.h), and $NAME, n characters, is a
	 * field: compiles the number, or the address of a string. False: there is none of the name.
	 * NULL: the program is a probe's. */
	bool (*field)(struct fetch_build *b, const char *name, size_t n);
	void *field_arg;
	/* The record is that of a tracepoint (tprobe.c): compiles its argument number n, from 1 on;
	 * false: there is none. NULL: $argN is a function's. */
	bool (*argument)(struct fetch_build *b, unsigned n);
	/* Numbers of the function's arguments that the program, at its return, wants from the
	 * entry: fetch_finish_entry(). */
	unsigned n_kept;
	uint8_t kept[FETCH_ENTRY_WORDS];
	/* The field compiled last is a string, of at most so many bytes; 0: as far as the record
	 * goes. */
	bool field_is_string;
	uint16_t field_bytes;
};

/* Begins with __probe_ip alone; fetch_free() frees what is in it. */
void fetch_begin(struct fetch_build *b);
/* Begins the program of a function's return. The probe's site has the function's address. Registers
 * are as in the caller: the stack pointer has passed the return address, %ip is that. */
void fetch_begin_return(struct fetch_build *b);
/* Begins the program of a tracepoint's event: __probe_ip is the other event's, if it has one, else
 * 0, and `at` is its place in the record's memory. */
void fetch_begin_tracepoint(struct fetch_build *b,
			    bool (*argument)(struct fetch_build *b, unsigned n), void *arg,
			    uint64_t at);
/* Begins without a field, for an event on another event's fields. */
void fetch_begin_event(struct fetch_build *b, bool (*field)(struct fetch_build *b, const char *name,
							    size_t n),
		       void *arg);
void fetch_free(struct fetch_build *b);

/* Adds a field without code. Returns its offset in the record; -EINVAL and *err if the name is
 * malformed, or there already; -E2BIG if there are too many. */
int fetch_add_field(struct fetch_build *b, const char *name, size_t n,
		    const struct fetch_type *type, struct err *err);
/* Adds an instruction. */
void fetch_insn(struct fetch_build *b, struct fetch_insn i);

/* Adds `[NAME=]FETCHARG[:TYPE]`, as in kprobe_events and uprobe_events, n characters of it;
 * without a name it is arg1, arg2, ...
 *   %REG   $stackN   $stack   $comm   $retval   \NUMBER   \"TEXT"   @ADDRESS   @+ADDRESS
 *   @SYMBOL   @SYMBOL+OFFSET   @SYMBOL-OFFSET   $argN   +OFFSET(FETCHARG)   -OFFSET(FETCHARG)
 * @+ counts from the module's begin, as it was linked; with b->of_file it is an offset in the
 * file. Offsets may have a `u`, which changes nothing here. Beyond the kernel: &FETCHARG is the
 * address from which FETCHARG, one with an offset or @, would be fetched. At a return $argN is what
 * the function was called with, and what +OFFSET loads by it is as it is then. Returns 0, or -errno
 * and *err with the column, in the kernel's words. */
int fetch_add(struct fetch_build *b, const char *text, size_t n, struct err *err);

/* Returns the program (free() it), *bytes long. NULL: it would be too long. */
struct fetch_program *fetch_finish(const struct fetch_build *b, uint32_t *bytes);
/* Returns the program for the function's entry, whose fields are the words that FETCH_ENTRY finds
 * at its return (free() it). NULL: there are none. */
struct fetch_program *fetch_finish_entry(const struct fetch_build *b, uint32_t *bytes);
/* Returns the `format` file's text, for event_format_parse() and events_add(); free() it. */
char *fetch_format(const struct fetch_build *b, const char *name);
/* Returns the number of a register by the kernel's name for it (ax, di, r8, ip, flags), n
 * characters; FETCH_REGS for ip; -1: none. */
int fetch_register(const char *name, size_t n);
