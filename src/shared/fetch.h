/* SPDX-License-Identifier: MIT */
/* The program of a probe: where each field's value is found (registers, memory) and where it goes
 * in the event's record. The tracer compiles it (event/fetch.h); the agent runs it in the probed
 * thread. Both sides know this file, as they know filter.h: no libc, no pointers, no allocation.
 *
 * One value is at hand, from instruction to instruction. REG, FLOAT, IMM, IP, CALLER, COMM,
 * RECALL, RECORD and ENTRY begin a field. A load from memory that is not there makes the number 0
 * and the string empty until the next field begins.
 *
 * fetch_run() does not trust the program: it loads every instruction once, checks where it writes,
 * and goes forward only. A program that is overwritten while it runs gives a wrong record at
 * worst. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define FETCH_INSNS_MAX 256u
#define FETCH_RECORD_MAX 512u  /* with the 8 common bytes */
#define FETCH_COMM_BYTES 16u
#define FETCH_COUNT_MAX 64u    /* elements of an array */
/* Registers have instructions' numbers: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... */
#define FETCH_FLAGS_REG 16u
#define FETCH_REGS 17u
#define FETCH_FLOATS 8u        /* vector registers, where there are any */
#define FETCH_ENTRY_WORDS 7u   /* of a call, kept from its entry to its return */

enum fetch_op {
	FETCH_IMM,     /* value */
	FETCH_REG,     /* register `reg` + value */
	FETCH_IP,      /* the address of the probed instruction + value */
	FETCH_CALLER,  /* at a return instruction: the address that it returns to */
	FETCH_COMM,    /* no number: STRING writes the thread's name */
	FETCH_ADD_REG, /* + register `reg` << size */
	FETCH_BASE,    /* adds the load bias of the module */
	FETCH_LOAD,    /* `size` bytes of memory at value + the number */
	FETCH_SHIFT,   /* right, by value */
	FETCH_NARROW,  /* the lowest `size` bytes of it */
	FETCH_STORE,   /* its lowest `size` bytes to `at` of the record */
	FETCH_STRING,  /* the string in memory at value + the number: behind the fixed fields, with
			  its NUL, and  length << 16 | place as 4 bytes to `at`; at most
			  `count` bytes with the NUL (0: as there is room). Length 0: it cannot be
			  read; place 0, too: `count` is given, and the pointer is 0 */
	FETCH_TEXT,    /* `size` bytes of value, the lowest first, and a NUL: as STRING; or more of
			  it, if the instruction before was TEXT for the same `at` */
	FETCH_ARRAY,   /* `count` elements of `size` bytes of memory at value + the number, to
			  `at` */
	FETCH_BITS,    /* of `count` elements of `size` bytes at `at`: (value >> 8) bits from bit
			  (value & 255) on */
	FETCH_KEEP,    /* value + the number is kept for RECALL */
	FETCH_RECALL,  /* begins a field: the kept number */
	FETCH_FLOAT,   /* begins a field: the lower 8 bytes of vector register `reg`, or the 8
			  behind them */
	FETCH_BLOCK,   /* `count` bytes of memory at value + the number, to `at`, and behind them a
			  byte that is 1; nothing, if not all of them can be read */
	FETCH_RECORD,  /* begins a field: 8 bytes of the record from `at` on */
	FETCH_ENTRY,   /* begins a field: the word number `at` that was kept at the call's entry */
	FETCH_OPS
};

#define FETCH_SIGNED 1u        /* LOAD, NARROW: the number is sign-extended to 64 bits */
#define FETCH_UPPER 1u         /* FLOAT: the 8 bytes behind the lower ones */
#define FETCH_BOUNDED 1u       /* STRING: has at most as many bytes as the kept number */
#define FETCH_BLOCK_MAX 256u   /* bytes */

struct fetch_insn {
	uint8_t op;            /* enum fetch_op */
	uint8_t size;          /* 1, 2, 4, 8; ADD_REG: 0 to 3 */
	uint8_t reg, flags;
	uint16_t at, count;    /* count: 1 to FETCH_COUNT_MAX; of STRING: bytes */
	int64_t value;
};

/* A header and n instructions. */
struct fetch_program {
	uint16_t n;            /* instructions */
	uint16_t fixed;        /* bytes of the record's fixed fields, the common ones included */
	uint32_t pad;
	struct fetch_insn code[];
};

#define FETCH_RANGES_MAX 4u

/* A string in memory to be read: n bytes at the address, of which `got` could be, or fewer, if the
 * string ends within them. */
struct fetch_range { uint64_t address; uint8_t *to; uint32_t n, got; };

/* The probed thread's state and the ways to read its memory. */
struct fetch_context {
	const uint64_t *regs;  /* FETCH_REGS of them */
	const uint64_t *floats; /* two words for each of FETCH_FLOATS; NULL: all are 0 */
	uint64_t ip, base;
	/* Copies up to n bytes from an address that may lead anywhere; returns the number of bytes
	 * that could be read, counted from the first. */
	uint32_t (*read)(void *context, uint64_t address, void *to, uint32_t n);
	/* Writes the thread's name, FETCH_COMM_BYTES of it. */
	void (*comm)(void *context, char *to);
	void *context;
	/* Returns the address that the probed instruction, a return, leads to. NULL: it is none. */
	uint64_t (*caller)(void *context);
	/* At a return: FETCH_ENTRY_WORDS words that its call's entry kept. NULL: all are 0. */
	const uint64_t *entry;
	/* Reads at most FETCH_RANGES_MAX strings, each as read() does, but up to its NUL only, if
	 * that is faster. NULL: strings are read one by one, by read(). */
	void (*read_ranges)(void *context, struct fetch_range *ranges, unsigned n);
};

/* Writes a record's fields, from offset 8 on; the fixed ones are zeroed first. `bytes` is the size
 * of the memory at p, `room` that of the record. Returns the record's size with the 8 common bytes;
 * 0: the program is malformed. */
uint32_t fetch_run(const struct fetch_program *p, uint32_t bytes, const struct fetch_context *c,
		   uint8_t *record, uint32_t room);

/* fetch_run() for a program that only stores registers and the instruction's address, as numbers
 * among arguments are fetched: without a context, and faster. Returns the record's size in whole
 * words, the last of which is zeroed to its end; 0: the program does something else, or is
 * malformed. The record has FETCH_RECORD_MAX bytes. */
uint32_t fetch_registers(const struct fetch_program *p, uint32_t bytes, const uint64_t *regs,
			 uint64_t ip, uint8_t *record);

/* True if the compiler could have made the program. */
bool fetch_verify(const struct fetch_program *p, uint32_t bytes);
