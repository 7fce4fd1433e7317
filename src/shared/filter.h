/* SPDX-License-Identifier: MIT */
/* An event filter as a program: `prev_prio < 100 && comm ~ "py*"` is compiled so that the traced
 * program can decide about an event before anything of it is written. The tracer compiles it
 * (event/filter.h) and puts it into shared memory. This file is for both sides: no libc, no
 * pointers in the program, no allocation.
 *
 *   header | instructions | patterns and CPU masks | machine code, if only numbers are tested
 *
 * Every instruction tests one field of the record. If the result is what FILTER_BRANCH says,
 * control goes to `target`, else to the next instruction. Targets lie ahead, so a program ends
 * after at most as many steps as it has instructions. Instruction `n` would be "the record passes",
 * `n + 1` "it is left out".
 *
 * filter_run() does not trust the program: it loads each instruction once and checks each offset
 * that it uses. A program that is overwritten while it runs gives a wrong answer at worst. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define FILTER_MAGIC 0x31746c66u /* "flt1" */
#define FILTER_INSNS_MAX 1024u
#define FILTER_BYTES_MAX (256u << 10)
#define FILTER_CPUS_MAX 8192u
#define FILTER_COMM_BYTES 16u

enum filter_test {
	FILTER_NEVER,        /* false: a field no test of this kind fits, as the kernel has it */
	FILTER_NUMBER,       /* the field, `size` bytes, against `value` */
	FILTER_FUNCTION,     /* 8 bytes: in [value, value + data)? FILTER_EQ or FILTER_NE */
	FILTER_STRING,       /* `room` characters in the record (0: to its end) */
	FILTER_DYNAMIC,      /* __data_loc: 4 bytes, length << 16 | offset in the record */
	FILTER_RELATIVE,     /* __rel_loc: the offset counts from behind these 4 bytes */
	FILTER_POINTER,      /* 8 bytes: address of a string in the traced program */
	FILTER_COMM,         /* the thread's name */
	FILTER_CPU,          /* the CPU, as an int, against `value` */
	FILTER_CPU_IN,       /* the CPU against a mask */
	FILTER_NUMBER_IN,    /* a CPU's number in a field against a mask; `value` CPUs exist */
	FILTER_CPUS,         /* a __data_loc field that is a mask against a mask */
	FILTER_TESTS
};

/* Comparisons of numbers and masks. FILTER_AND: they have a bit in common. */
enum filter_compare {
	FILTER_EQ,
	FILTER_NE,
	FILTER_LT,
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_AND,
	FILTER_COMPARES
};

/* Comparisons of strings, in the byte that has an enum filter_compare for numbers. */
enum filter_match {
	FILTER_FULL,
	FILTER_FRONT,
	FILTER_END,
	FILTER_MIDDLE,
	FILTER_GLOB,
	FILTER_MATCHES
};

#define FILTER_SIGNED 1u  /* FILTER_NUMBER: the field's type is signed */
#define FILTER_NOT 2u     /* strings: the result reversed, if there is a string */
#define FILTER_BRANCH 4u  /* go to `target` if the test holds; without it: if it does not */

struct filter_insn {
	uint8_t test;      /* enum filter_test */
	uint8_t compare;   /* enum filter_compare or filter_match */
	uint8_t flags;
	uint8_t size;      /* of a number, in bytes: 1, 2, 4 or 8 */
	uint16_t offset;   /* of the field in the record */
	uint16_t target;
	/* Pattern, mask: bytes from the program's begin. FILTER_FUNCTION: its length. */
	uint32_t data;
	uint16_t length;   /* of the pattern or mask, in bytes */
	uint16_t room;
	uint64_t value;    /* sign- or zero-extended to 64 bits, as the field is */
};

#define FILTER_NEEDS_COMM 1u
#define FILTER_NEEDS_CPU 2u
#define FILTER_NEEDS_FETCH 4u
#define FILTER_NEEDS_RESOLVE 8u /* only the tracer can run it */

struct filter_program {
	uint32_t magic;
	uint32_t bytes;    /* the whole, a multiple of 8 */
	uint16_t n;        /* instructions */
	uint16_t needs;    /* FILTER_NEEDS_*: what to find out about the thread */
	uint16_t code;     /* filter_code, in 8 bytes from the program's begin; 0 = none */
	uint16_t code_needs; /* bytes that the record must have for it */
	struct filter_insn at[];
};

/* The program as machine code: agrees with filter_run() on a record of at least code_needs
 * bytes. */
typedef bool filter_code(const void *record);

/* One record, and what a program may ask about the thread that made it. */
struct filter_record {
	const uint8_t *bytes;  /* from common_type on */
	uint32_t size;
	int32_t cpu;           /* with FILTER_NEEDS_CPU */
	const char *comm;      /* with FILTER_NEEDS_COMM: FILTER_COMM_BYTES of them */
	/* With FILTER_NEEDS_FETCH: copies the string at an address, at most n bytes of it, to `to`;
	 * returns its length, or -1 if the memory is not there. A NULL function, or -1, makes the
	 * test false. */
	int (*fetch)(void *context, uint64_t address, char *to, uint32_t n);
	/* With FILTER_NEEDS_RESOLVE: translates an address of the process to the numbering of
	 * FILTER_FUNCTION's addresses. */
	uint64_t (*resolve)(void *context, uint64_t address);
	void *context;
	char *scratch;         /* buffer for fetch */
	uint32_t scratch_bytes;
};

/* Returns true if the record passes. `bytes` is the size of the memory at p; the program's own
 * `bytes` is not believed. A malformed program lets nothing pass. */
bool filter_run(const struct filter_program *p, uint32_t bytes, const struct filter_record *r);

/* Returns true if the program is whole and every offset in it is valid for records whose fixed
 * fields take record_bytes. */
bool filter_verify(const void *program, uint32_t bytes, uint32_t record_bytes);

/* Returns true if all n characters of s match ftrace's pattern: `*`, `?`, `[a-z]`, `[!a-z]`,
 * `\`. */
bool filter_glob(const uint8_t *pattern, uint32_t length, const uint8_t *s, uint32_t n);
