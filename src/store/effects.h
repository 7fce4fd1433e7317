/* SPDX-License-Identifier: MIT */
/* The effect of each packet of records on the stack of its thread's open calls: which calls it
 * leaves open, and how many of those before it return in it. All packets' together tell what was
 * open where any of them begins, so that a reader may begin there. Private to src/store.
 *
 * A packet tells it only where entries, jumps and returns alone decide. One with records of
 * unwinding, handlers, sleeps, losses, or of the kernel's calls does not, and from there on its
 * thread's stack is not known: docs/trace-file.md. Readers then begin at the thread's beginning. */
#pragma once
#include "store/format.h"
#include "store/store.h"
#include "trace/loops.h"

/* Open calls, and marks of setjmp, that a packet adds; one that adds more tells nothing. */
#define EFFECTS_FRAMES_MAX 1024
#define EFFECTS_MARKS_MAX 64

/* A packet of PACKET_EFFECTS that waits for the file's end. */
struct effects_packet {
	struct packet_header head;
	struct bytes payload;
};

/* Collects what the packets of a file tell, in the order in which they are written. All zero is
 * ready. Not locked. */
struct effects_writer {
	struct bytes raw;
	uint64_t first, n; /* packets of records that came before those in `raw`; in it */
	VEC(struct effects_packet) packets;
	bool dropped;      /* the file has packets that told nothing: nothing is written */
};

/* A jump to a function where the packet has no open call: whether it is a loop of the call on top
 * depends on what earlier packets left open. */
struct effects_jump {
	uint64_t returns; /* of calls that were open before the packet, and come before the jump */
	uint32_t fn;
};

/* A packet's jumps of functions to their own first instruction. All zero is ready. */
struct effects_jumps {
	bool known;     /* the packet tells of them; else its words have to be followed */
	uint32_t loops; /* of calls that the packet opened */
	VEC(struct effects_jump) open;
};

/* Appends what the n words of a packet tell, and sets *jumps. head: its thread's CPU, first and
 * last time. */
void effects_tell(struct bytes *out, struct effects_jumps *jumps, const uint64_t *words, size_t n,
		  const struct packet_records *head);
/* Follows by what a packet tells in place of its words. jumps->known is set. Returns how many of
 * its records are loops. */
uint32_t effects_follow(const struct bytes *told, const struct effects_jumps *jumps,
			struct loops *l);
/* Takes what the next packet of records tells. A lack of memory to compress with drops all. */
void effects_add(struct effects_writer *w, const struct bytes *told);
/* Makes the last packet: w->packets are whole. */
void effects_end(struct effects_writer *w);
/* Forgets everything, for a file whose packets do not all tell. */
void effects_drop(struct effects_writer *w);
void effects_free(struct effects_writer *w);

/* --- reading ------------------------------------------------------------------------ */

/* An open call: its entry, or the jump that began it. */
struct start_frame {
	uint64_t tsc;
	uint32_t fn;
	uint16_t cpu;
	bool tail;
};

/* A setjmp that may return again: its EVENT_MARK, and how many calls were open then. They still
 * are. */
struct start_mark {
	uint64_t sp;
	uint32_t below;
};

/* Where reading of a thread begins. */
struct thread_start {
	uint32_t packet;              /* into store_reader.packets; behind the last: no packet */
	bool known;                   /* of a beginning that is not the thread's own */
	uint64_t at;                  /* stack pointer that its first EVENT_AT told; 0: none */
	VEC(struct start_frame) open; /* outermost first */
	VEC(struct start_mark) marks; /* those below fewer calls first */
};

/* The part of a start that was told. All zero: nothing. */
struct start_told {
	bool at;
	size_t open, marks;
};
/* The events that are told first: an EVENT_AT, then the entries of the calls that are open, with
 * marks between them. False: all are told. tsc: of the packet that comes next. */
bool store_start_next(const struct thread_start *s, struct start_told *told, uint32_t thread,
		       uint64_t tsc, struct event *out);
/* The thread's, or NULL: it begins with its first packet. start may be NULL. */
const struct thread_start *store_start_of(const struct store_start *start, uint32_t thread);
