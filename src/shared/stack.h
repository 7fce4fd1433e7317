/* SPDX-License-Identifier: MIT */
/* The part of its stack that a traced thread leaves for a later unwinder: registers, and the words
 * from its stack pointer on, in one or more records RECORD_EVENT_STACK before the record that they
 * belong to (docs/events.md, "Stacks"). */
#pragma once
#include <stdint.h>

/* The registers that unwinding begins with: the thread's present ones, or those it will have when
 * its current call returns. */
#define STACK_KEPT 5u /* further registers that a call keeps, in the order of arch/dwarf.h */
struct stack_regs { uint64_t pc, sp, fp, kept[STACK_KEPT]; };
#define STACK_REGS (3u + STACK_KEPT)

#define STACK_WORDS_MAX 1024u /* at once: eight frames, one of which may have a buffer for a path */
#define STACK_FIRST 1u            /* | its address: a piece that begins with event and registers */
#define STACK_RETURNS 2u          /* | there too: pc is where the thread returns to */
#define STACK_PIECE_WORDS 63u     /* payload: address; event, registers; words of the stack */
#define STACK_FIRST_WORDS (2 + STACK_REGS) /* of the first piece, before those of the stack */
#define STACK_OF_CALL UINT32_MAX  /* as an event: the thread's next call is meant */
