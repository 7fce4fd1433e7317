/* SPDX-License-Identifier: MIT */
/* Contents of a struct probe_site of kind PROBE_CALL, where other probes have a fetch program: the
 * events of a system call, before it or after it (docs/syscalls.md). */
#pragma once
#include <stdint.h>

#define CALL_UNKNOWN UINT32_MAX
#define CALL_NO_EVENT 0xffffu   /* as an event's number */
#define CALL_NUMBERS 512u       /* every number of a system call is smaller */
#define CALL_ARGUMENTS 6u

/* The number of bytes that are copied of what an argument leads to: at most as many as the event
 * allows. "n" is what argument n says. What a call gives is copied after it, if it did not fail. */
enum call_copy_length {
	CALL_COPY_BYTES = 0,     /* | n */
	CALL_COPY_WORDS = 0x10,  /* | n: pieces of 8 bytes */
	CALL_COPY_PAIRS = 0x20,  /* | n: of 16 bytes */
	CALL_COPY_BITS = 0x30,   /* | n: bits, in pieces of 8 bytes */
	CALL_COPY_FIXED = 0x40,  /* | bytes / 4 */
	CALL_COPY_RESULT = 0x80, /* as many as it returned */
	CALL_COPY_STRING,        /* to its NUL */
	/* each string of an array of addresses, to its NUL; NULL ends the array */
	CALL_COPY_STRINGS,
	CALL_COPY_COUNT,         /* 4 bytes: how many addresses are before the NULL */
	/* a struct msghdr and what it leads to: the name, the structures iovec, the control
	 * messages, the bytes, each as it is there and at most as CALL_MESSAGE_ says */
	CALL_COPY_MESSAGE,
	CALL_COPY_MESSAGE_RETURNED, /* after the call: as many bytes as it returned */
	CALL_COPY_SIGNALS_AT,    /* an address and a size, and the 8 bytes at the address */
	CALL_COPY_STATX,         /* two structures that FIXED has no room for */
	CALL_COPY_UTSNAME,
	/* as many structures mmsghdr as argument 2 says, after the call as it returned, at most
	 * CALL_MESSAGES: of each 4 bytes that tell how many the message takes here, its msg_len,
	 * and the message */
	CALL_COPY_MESSAGES,
	CALL_COPY_MESSAGES_RETURNED, /* after the call: of each as many bytes as msg_len says */
	/* | n: structures iovec: what they lead to */
	CALL_COPY_GATHER = 0x90,
	CALL_COPY_SCATTER = 0xa0, /* the same after the call: as many bytes as it returned */
	CALL_COPY_INTS = 0xb0,    /* | n: pieces of 4 bytes */
	CALL_COPY_RETURNED = 0xc0, /* | bytes / 4 of a piece: as many pieces as it returned */
};
#define CALL_COPIES 7u
#define CALL_COPY_MOST 165u /* bytes of a string or buffer, as the kernel's maximum */
#define CALL_ARRAY_MOST 256u /* of an array of structures */
#define CALL_STATX_BYTES 256u
#define CALL_UTSNAME_BYTES 390u
#define CALL_IOVECS 16u     /* of one copy; strings, too */

/* CALL_COPY_MESSAGE: most bytes of each part. */
#define CALL_MESSAGE_HEADER 56u
#define CALL_MESSAGE_NAME 112u
#define CALL_MESSAGE_IOVECS 8u
#define CALL_MESSAGE_CONTROL 96u
#define CALL_MESSAGES 8u     /* of an array of them */

/* A copy at the record's end; a __data_loc of it stands behind the arguments. */
struct call_copy {
	uint8_t argument;        /* 1 + its number; 0 = there is no copy */
	uint8_t length;          /* enum call_copy_length */
};

/* In a record: nothing was copied. The place is one of a zero, so that readers of strings find an
 * empty one. */
#define CALL_NOTHING_COPIED 12u

/* One event that a call brings about. */
struct call_event {
	uint16_t event;
	uint8_t arguments;      /* in its record */
	uint8_t stacked;        /* its records come with the stack */
	uint32_t filter;        /* a filter_program, bytes from struct call_info; 0 = all */
	struct call_copy copies[CALL_COPIES];
	uint8_t most;           /* bytes of each copy; 0 = all copies are empty */
	uint8_t scopes;         /* as in struct probe_site */
};
_Static_assert(sizeof(struct call_event) == 24, "struct call_info stays a multiple of 8");

/* The short way of the machine's agent/syscall.S, which writes both events at once. `raw` and
 * `named` are record headers without a time; 0: that event is not wanted. */
struct call_quick {
	uint64_t raw, named;
	uint64_t number;
	/* Bytes of all records with their headers; 0: agent/syscalls.c has to look at the call. */
	uint64_t bytes;
	uint8_t arguments;      /* of named */
	uint8_t behind; /* 1: this is the side after the call */
	uint8_t empty;  /* 1: behind the arguments of `named`, two copies of nothing */
	uint8_t pad[5];
};
_Static_assert(sizeof(struct call_quick) == 40, "the machine's agent/syscall.S reads it");

struct call_info {
	struct call_quick quick;
	/* The call's number; CALL_UNKNOWN: a register has it, and after the call the agent knows it
	 * if `kept`. */
	uint32_t number;
	uint8_t behind; /* 1: this is the side after the call */
	/* 1: number and arguments are kept from before the call until after it, by the stack
	 * pointer. */
	uint8_t kept;
	uint16_t n;             /* elements of `named`: one, for `number`; or one for each number */
	uint32_t tasks;         /* a struct task_block (tasks.h), bytes from here; 0 = none */
	uint32_t ahead;         /* 1: the call comes a little later; its only argument will be 0 */
	struct call_event raw;  /* raw_syscalls' event, for every number */
	struct call_event named[];
};
