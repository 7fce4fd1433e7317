/* SPDX-License-Identifier: MIT */
/* What stands in a struct probe_site of kind PROBE_CALL, in the place of a fetch program: which events a system call is,
 * before it is made or behind it (docs/syscalls.md). */
#pragma once
#include <stdint.h>

#define CALL_UNKNOWN UINT32_MAX
#define CALL_NO_EVENT 0xffffu   /* as an event's number */
#define CALL_NUMBERS 512u       /* every number of a system call is smaller */
#define CALL_ARGUMENTS 6u

struct call_event {
	uint16_t event;
	uint8_t arguments;      /* in its record */
	uint8_t stacked;        /* its records come with the stack */
	uint32_t filter;        /* a filter_program, bytes from struct call_about; 0 = every record */
};

/* For agent/syscall.S, which writes both events at once. Headers of records without their time: 0 = is not wanted. */
struct call_quick {
	uint64_t raw, named;
	uint64_t number;
	uint64_t bytes;         /* of the records, headers included; 0: the call needs more thought than this */
	uint8_t arguments;      /* of named */
	uint8_t behind;
	uint8_t pad[6];
};
_Static_assert(sizeof(struct call_quick) == 40, "agent/syscall.S reads it");

struct call_about {
	struct call_quick quick;
	uint32_t number;        /* CALL_UNKNOWN: the call says it; behind it the agent knows, if `kept` */
	uint8_t behind;
	uint8_t kept;           /* from before the call to behind it, by its stack pointer */
	uint16_t n;             /* named: one, of `number`; or one of each number */
	uint32_t tasks;         /* a struct task_block (tasks.h), bytes from here; 0 = none */
	uint32_t ahead;         /* 1: the call comes a little later; its only argument will be 0 */
	struct call_event raw;  /* of every number */
	struct call_event named[];
};
