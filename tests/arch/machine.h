/* Runs a few instructions with every register, the flags and memory set beforehand, and says
 * what they left. No assembly: a signal handler loads the state, and int3 or a fault brings
 * it back. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_MEMORY 4096 /* of the stack and of the data registers point into, each */

struct machine_state {
	uint64_t gpr[16];      /* in the order of instruction encoding; 4 is rsp */
	uint64_t rip, flags;
	uint8_t xmm[256];
	uint32_t mxcsr;
	int signal;            /* how it ended */
	uint64_t fault;        /* address, for SIGSEGV and SIGBUS */
};

/* Once in a process. */
void machine_init(void);
/* The memory that code may use: registers should point into the middle of one. */
uint8_t *machine_stack(void), *machine_data(void);
/* Random registers (most of them pointers into data), flags and memory; the return address on the
 * stack leads to an int3. */
void machine_randomize(struct machine_state *s);
/* Runs from state->rip until a signal ends it, and stores the state then. */
void machine_run(struct machine_state *state);
