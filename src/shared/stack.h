/* SPDX-License-Identifier: MIT */
/* What a traced thread leaves of its stack for whoever unwinds it later: registers, and the words from its stack pointer on, in
 * one or more records RECORD_EVENT_STACK in front of the record that they belong to (docs/events.md, "Stacks"). */
#pragma once
#include <stdint.h>

/* The thread as it stands, or will when what it has called returns: what unwinding begins with. */
struct stack_regs { uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15; };
#define STACK_REGS 8u

#define STACK_WORDS_MAX 1024u     /* of a thread at once: eight frames, of which one may have a buffer for a path */
#define STACK_FIRST 1u            /* | its address: a piece that begins with event and registers */
#define STACK_RETURNS 2u          /* | there too: rip is where the thread returns to */
#define STACK_PIECE_WORDS 63u     /* payload: address; event, registers; words of the stack */
#define STACK_FIRST_WORDS (2 + STACK_REGS) /* of the first piece, before those of the stack */
#define STACK_OF_CALL UINT32_MAX  /* as an event: the thread's next call is meant */
