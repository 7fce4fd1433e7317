/* SPDX-License-Identifier: MIT */
/* Records, as the agent writes them into a sub-buffer: 64-bit little-endian words.
 *
 *   63            24 23         2 1    0
 *  +----------------+------------+------+
 *  | tsc, low 40    | id, 22     | kind |
 *  +----------------+------------+------+
 *
 * The sub-buffer's descriptor holds one full TSC, so that a reader restores the upper
 * bits. A word of 0 is a slot that was never written (sub-buffers are zeroed before
 * use): kind and id of a written word are never both 0.
 *
 * RECORD_EVENT words are headers of longer records: the id is split into the number of
 * payload words that follow (6 bits) and the type (16 bits). Payload is stored before
 * its header, so a header that is there vouches for its payload.
 *
 * An exit that tells what its function returned (funcgraph-retval) has RECORD_EXIT_VALUE in its
 * id, which no call site has, and one word of payload: rax, or with RECORD_EXIT_FLOAT the lower
 * half of xmm0. If it returned a string, or what has more words, the exit is a RECORD_EVENT_EXIT.
 */
#pragma once
#include <stdint.h>

enum record_kind {
	RECORD_EVENT = 0, /* id = payload words << 16 | enum record_event */
	RECORD_ENTRY = 1, /* id = function: it was called */
	RECORD_EXIT = 2,  /* id = call site (record_site): the call made there returned */
	RECORD_TAIL = 3,  /* id = function: entered by a jump, or again by a loop to its own
	                     entry; it shares its exit with the entry before it */
};

#define RECORD_KINDS 4u /* enum record_kind fills its two bits */

enum record_event {
	RECORD_EVENT_NONE = 0,
	RECORD_EVENT_CALL = 1, /* 1 word: function | site << 32. The function tracer's record */
	RECORD_EVENT_SPAN = 2, /* 2 words: function | depth << 22 | site << 32; TSC (all 64 bits) of
				  its entry. A call that lasted tracing_thresh or longer, at its
				  exit. A third word is what it returned */
	RECORD_EVENT_CPU = 3,  /* 1 word: the CPU this thread runs on from here */
	RECORD_EVENT_UNWIND = 4, /* 1 word: so many calls more that an unwinder has left, innermost
				  first. They are those open when it was entered (its SWITCH) */
	RECORD_EVENT_ENTRY_ONLY = 5, /* 1 word: function | site << 32. Its return is not followed */
	RECORD_EVENT_PAD = 6,	     /* fills the rest of a sub-buffer; nothing follows in it */
	/* Where a thread is on its stack; `sp` is the stack pointer of the one who calls or is
	   returned to, outside of the call: docs/nesting.md */
	RECORD_EVENT_SWITCH = 7, /* 2 words: sp | RECORD_SWITCH_*; sp it goes to, 0 = not known. The
				  call just entered may leave this stack, or jump up in it */
	RECORD_EVENT_MARK = 8,	 /* 1 word: sp. The call just entered (setjmp) may return again */
	RECORD_EVENT_AT = 9, /* 2 words: sp; the call's site, or 0, with RECORD_AT_*. Of the record
			      that follows: the thread's first, and the first after a SWITCH */
	RECORD_EVENT_SLEPT = 10, /* 2 words: TSC (all 64 bits) when the thread stopped running;
				    ticks until it went on. Between the record before and the one
				    that follows, whose time it has. brace's own: of the thread's
				    records this alone is not the program's (collect/switches.h) */
	/* some words: a piece of the thread's stack (shared/stack.h), for the record that
	 * follows */
	RECORD_EVENT_STACK = 11,
	RECORD_EVENT_HANDLER =
		12, /* 1 word: function. An entry as RECORD_ENTRY tells one, of a signal's handler:
		       what it and its calls take is not the time of those that it interrupted */
	/* 1 or more words: function; its arguments' values, as base/prototype.h lays them out. Of
	 * the call of that function that follows; a reader that finds none there drops it */
	RECORD_EVENT_ARGUMENTS = 13,
	/* A call of the kernel's function (src/kernel), without a call site. 1 word: function |
	 * depth << 22, the depth as the kernel counts it, cut at 1023 */
	RECORD_EVENT_KERNEL_ENTRY = 14,
	/* 2 words: as KERNEL_ENTRY's, of the function that returned; nanoseconds that the kernel
	 * measured */
	RECORD_EVENT_KERNEL_EXIT = 15,
	/* 2 words: function; the address that it returns to. A call that the kernel's tracer
	 * `function` told, whose return is not known */
	RECORD_EVENT_KERNEL_CALL = 16,
	/* 2 or more words: site | RECORD_EXIT_* | (bytes + 1) << 32, where 0 is what could not be
	 * read; rax; the bytes. A RECORD_EXIT of a call that returned a string; with
	 * RECORD_EXIT_REGISTERS, a value in several registers, which are all there (struct
	 * prototype_registers of base/prototype.h); with RECORD_EXIT_MEMORY, the first bytes of a
	 * value in memory */
	RECORD_EVENT_EXIT = 17,
	/* Some words: sums of a lock, or an order of several, as shared/locks.h lays them out. Its
	 * thread changes them after the header is there, until it leaves the sub-buffer */
	RECORD_EVENT_LOCK = 18,
	/* From here on an event of the program's: TRACE + its number in the session, below
	 * RECORD_TRACES. Payload: its record as its `format` says, from offset 8 on, zeros up to
	 * a word. docs/events.md */
	RECORD_EVENT_TRACE = 64,
};

#define RECORD_TRACES 65000u

/* Only in trace files: the writer puts it where records of the thread are missing. One word: how
 * many. */
#define RECORD_STORE_LOST 0xfff0

/* AT: with graph functions, the call begins a graph: no call is open below it on its stack. */
#define RECORD_AT_OUTERMOST (UINT64_C(1) << 32)
#define RECORD_SWITCH_FOLLOWED 1u /* the call has an exit; with this sp, it is resumed */
#define RECORD_SWITCH_ENDS 2u     /* it never returns */
#define RECORD_SWITCH_UNWINDS 4u  /* an unwinder: it stays on this stack */
#define RECORD_SWITCH_FLAGS 7u

#define RECORD_TSC_BITS 40
#define RECORD_ID_BITS 22
#define RECORD_ID_MAX ((1u << RECORD_ID_BITS) - 1)
#define RECORD_EXIT_VALUE (1u << 21)
#define RECORD_EXIT_FLOAT (1u << 20)
#define RECORD_EXIT_REGISTERS (1u << 22) /* of RECORD_EVENT_EXIT, beside the site */
#define RECORD_EXIT_MEMORY (1u << 23)
#define RECORD_PAYLOAD_MAX 63

/* Packs a record's header; only the lower 40 bits of tsc are kept. */
static inline uint64_t record_word(uint64_t tsc, uint32_t id, enum record_kind kind)
{
	return tsc << (64 - RECORD_TSC_BITS) | (uint64_t)id << 2 | kind;
}

/* Returns the id of a RECORD_EVENT header. */
static inline uint32_t record_event_id(unsigned words, enum record_event type)
{
	return words << 16 | type;
}

/* The parts of a header. record_site() of an exit, record_type() of an event. */
static inline enum record_kind record_kind(uint64_t word) { return word & (RECORD_KINDS - 1); }
static inline uint32_t record_id(uint64_t word) { return word >> 2 & RECORD_ID_MAX; }
static inline uint32_t record_site(uint64_t word)
{
	return record_id(word) & (RECORD_EXIT_FLOAT - 1);
}
static inline enum record_event record_type(uint64_t word) { return record_id(word) & 0xffff; }

/* True for an entry or exit that has no payload. Nearly all records are such, so readers test for
 * it first. */
static inline int record_is_short(uint64_t word)
{
	return record_kind(word) != RECORD_EVENT && !(record_id(word) & RECORD_EXIT_VALUE);
}

/* True if the header is that of a call's return. */
static inline int record_is_exit(uint64_t word)
{
	return record_kind(word) == RECORD_EXIT ||
	       (record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_EXIT);
}

/* Returns the number of words that follow the header `word` and belong to it. */
static inline unsigned record_payload(uint64_t word)
{
	if (__builtin_expect(record_is_short(word), 1))
		return 0;
	if (record_kind(word) == RECORD_EVENT)
		return record_id(word) >> 16;
	return record_kind(word) == RECORD_EXIT && record_id(word) & RECORD_EXIT_VALUE;
}

/* True if this word of the record's payload is a TSC. */
static inline int record_payload_is_time(uint64_t word, unsigned index)
{
	return index == 1 && record_kind(word) == RECORD_EVENT &&
	       record_type(word) == RECORD_EVENT_SPAN;
}

/* Returns the first payload word of a SPAN, KERNEL_ENTRY or KERNEL_EXIT; depths over 1023 are
 * cut. */
static inline uint64_t record_span(uint64_t function, uint64_t depth, uint64_t site)
{
	return function | (depth < 1023 ? depth : 1023) << RECORD_ID_BITS | site << 32;
}

/* True if `word` is one of the records that kept + lost = produced counts: all but those that only
 * help readers. */
static inline int record_counts(uint64_t word)
{
	const unsigned serves = 1u << RECORD_EVENT_CPU | 1u << RECORD_EVENT_PAD |
				1u << RECORD_EVENT_UNWIND | 1u << RECORD_EVENT_SWITCH |
				1u << RECORD_EVENT_MARK | 1u << RECORD_EVENT_AT |
				1u << RECORD_EVENT_SLEPT | 1u << RECORD_EVENT_STACK;

	return record_kind(word) != RECORD_EVENT || record_type(word) > RECORD_EVENT_STACK ||
	       !(serves >> record_type(word) & 1);
}

/* True if `word` tells a time in which the thread did not run. */
static inline int record_is_sleep(uint64_t word)
{
	return record_kind(word) == RECORD_EVENT && record_type(word) == RECORD_EVENT_SLEPT;
}

/* True if `word` says that a function was called. */
static inline int record_is_call(uint64_t word)
{
	enum record_event type = record_type(word);

	if (record_kind(word) != RECORD_EVENT)
		return record_kind(word) != RECORD_EXIT;
	return type == RECORD_EVENT_CALL || type == RECORD_EVENT_SPAN ||
	       type == RECORD_EVENT_ENTRY_ONLY || type == RECORD_EVENT_HANDLER ||
	       type == RECORD_EVENT_KERNEL_ENTRY || type == RECORD_EVENT_KERNEL_CALL;
}

/* Returns the full TSC of `word`, given a full TSC at most 2^39 cycles before or after it. */
static inline uint64_t record_tsc(uint64_t word, uint64_t near)
{
	uint64_t low = word >> (64 - RECORD_TSC_BITS);
	int64_t delta = (int64_t)((low - near) << (64 - RECORD_TSC_BITS)) >> (64 - RECORD_TSC_BITS);

	return near + (uint64_t)delta;
}
