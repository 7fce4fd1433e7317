/* SPDX-License-Identifier: MIT */
/* What a probe writes down, as a program: where each field's value is found (registers, memory) and where it
 * goes in the event's record. The tracer compiles (event/fetch.h); the agent runs it in the probed thread. As with
 * filters (filter.h) both sides know what is here: no libc, no pointers, no allocation.
 *
 * One value is at hand, from instruction to instruction. REG, IMM, IP and COMM begin a field; what is then
 * fetched from memory that is not there makes the number 0, the string empty, until the next field begins.
 *
 * fetch_run trusts nothing in the program: it looks at every instruction once, checks where it writes, and goes ahead
 * only, so that a program overwritten while it runs gives a wrong record at worst. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define FETCH_INSNS_MAX 256u
#define FETCH_RECORD_MAX 512u  /* with the 8 common bytes */
#define FETCH_COMM_BYTES 16u
#define FETCH_FLAGS_REG 16u    /* registers are numbered as instructions number them: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... */
#define FETCH_REGS 17u

enum fetch_op {
	FETCH_IMM,     /* value */
	FETCH_REG,     /* register `reg` + value */
	FETCH_IP,      /* the address of the probed instruction + value */
	FETCH_COMM,    /* no number: STRING writes the thread's name */
	FETCH_ADD_REG, /* + register `reg` << size */
	FETCH_BASE,    /* + what the module was moved by when it was loaded */
	FETCH_LOAD,    /* `size` bytes of memory at value + the number */
	FETCH_SHIFT,   /* right, by value */
	FETCH_NARROW,  /* the lowest `size` bytes of it */
	FETCH_STORE,   /* its lowest `size` bytes to `at` of the record */
	FETCH_STRING,  /* the string in memory at value + the number: behind the fixed fields, with its NUL, and
	                  length << 16 | place as 4 bytes to `at` */
	FETCH_OPS
};

#define FETCH_SIGNED 1u        /* LOAD, NARROW: what is narrower than 64 bits is extended by its sign */

struct fetch_insn {
	uint8_t op;            /* enum fetch_op */
	uint8_t size;          /* 1, 2, 4, 8; ADD_REG: 0 to 3 */
	uint8_t reg, flags;
	uint16_t at, pad;
	int64_t value;
};

struct fetch_program {
	uint16_t n;            /* instructions */
	uint16_t fixed;        /* bytes of the record's fixed fields, the common ones included */
	uint32_t pad;
	struct fetch_insn code[];
};

struct fetch_context {
	const uint64_t *regs;  /* FETCH_REGS of them */
	uint64_t ip, base;
	/* Copies up to n bytes from an address that may lead anywhere; how many there were, from its begin. */
	uint32_t (*read)(void *context, uint64_t address, void *to, uint32_t n);
	void (*comm)(void *context, char *to); /* FETCH_COMM_BYTES */
	void *context;
};

/* Writes a record's fields, from offset 8 on; the fixed ones are zeroed first. `bytes` is how much memory there is at p,
 * `room` how much of the record. Its size, common bytes included; 0: the program makes no sense. */
uint32_t fetch_run(const struct fetch_program *p, uint32_t bytes, const struct fetch_context *c, uint8_t *record, uint32_t room);

/* Could the compiler have made it? */
bool fetch_verify(const struct fetch_program *p, uint32_t bytes);
