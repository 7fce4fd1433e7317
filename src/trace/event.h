/* SPDX-License-Identifier: MIT */
/* One decoded record, whatever it came from, and the stream of them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/trace_info.h"

enum event_kind {
	EVENT_ENTRY,      /* function called: fn */
	/* function entered by a tail jump: fn; shares the exit of the one before */
	EVENT_TAIL,
	EVENT_EXIT,       /* a call returned: site; value, with EVENT_VALUE in flags */
	EVENT_CALL,       /* function tracer: fn, site */
	EVENT_SPAN,       /* fn, site, begin: a whole call, reported at its exit; value as EXIT's */
	EVENT_ENTRY_ONLY, /* fn, site: a call whose return is not followed */
	EVENT_UNWIND,     /* count: number of further calls that an unwinder has left */
	EVENT_LOST,       /* count: records of this thread that are missing here */
	/* Events about stack pointers (shared/record.h, docs/nesting.md): */
	EVENT_SWITCH,     /* count: sp; begin: where it goes to, 0 = not known; flags */
	EVENT_MARK,       /* count: sp */
	EVENT_AT,         /* count: sp; site: the call's, 0 = the next event knows it or nobody */
	/* begin: when the thread stopped running; count: ticks until it went on */
	EVENT_SLEPT,
	/* fn, count: an EVENT_SPAN with this `begin` comes later; begin: when (report/openings.h
	 * makes them) */
	EVENT_OPEN,
	/* fn: the event's index, or EVENT_LOCK_ROW, which no event has; payload, count: its
	 * record's bytes from offset 8 on, or the row's (shared/locks.h) */
	EVENT_TRACE,
	/* step: of a call that src/excerpt has followed already; tracks_feed() hands it on. fn,
	 * site, value as in the step. No records are unpacked to it */
	EVENT_STEP,
};
#define EVENT_KINDS_N (EVENT_STEP + 1)
/* The bits of `flags`, by the kinds that have it. A bit may mean something else of another kind. */
enum event_switch_flags { /* EVENT_SWITCH: as RECORD_SWITCH_* */
	EVENT_SWITCH_FOLLOWED = 1, EVENT_SWITCH_ENDS = 2, EVENT_SWITCH_UNWINDS = 4,
};
enum event_at_flags { EVENT_AT_OUTERMOST = 2 }; /* as RECORD_AT_OUTERMOST */
enum event_step_flags {
	EVENT_STEP_EARLIER = 1, /* a call that was open where the excerpt begins */
};
enum event_call_flags {
	/* EXIT, SPAN: `value` is the lower half of xmm0; EXIT: payload has the string that was
	 * returned, count its bytes and 1, or 0: it could not be read */
	EVENT_FLOAT = 1, EVENT_TEXT = 2,
	/* EXIT, with EVENT_TEXT: instead of a string, all registers that a value may be in, or the
	 * memory at rax (RECORD_EXIT_REGISTERS, RECORD_EXIT_MEMORY) */
	EVENT_REGISTERS = 4, EVENT_MEMORY = 32,
	EVENT_VALUE = 8,        /* EXIT, SPAN: `value` is known */
	/* ENTRY, EXIT: of a function of the kernel's: fn, count: its depth by the kernel's count;
	 * EXIT: value: nanoseconds by the kernel's measure. CALL: value: the address it returns
	 * to */
	EVENT_KERNEL = 16,
	EVENT_HANDLER = 64,     /* ENTRY: of a signal's handler, which the kernel called */
	/* ENTRY, TAIL, CALL, ENTRY_ONLY: payload, count are the arguments, as EVENT_TRACE's */
	EVENT_ARGUMENTS = 128,
};

/* Behind the last index that an event can have (shared/record.h): arrays by index stay small. */
#define EVENT_LOCK_ROW RECORD_TRACES

struct call_step;

struct event {
	uint64_t tsc;      /* full 64 bits */
	union {
		uint64_t begin;          /* EVENT_SPAN: TSC of the entry; EVENT_SLEPT */
		/* EVENT_TRACE, EVENT_ARGUMENTS, EVENT_TEXT: a stream's next() keeps it until it is
		 * called again */
		const uint64_t *payload;
		const struct call_step *step; /* EVENT_STEP: as long as a payload */
	};
	/* EVENT_UNWIND, EVENT_LOST; EVENT_SPAN: its depth, 1023 for more; a stack pointer;
	 * EVENT_SLEPT: ticks */
	uint64_t count;
	uint64_t value;    /* EVENT_VALUE: rax; EVENT_FLOAT: the lower half of xmm0 */
	uint32_t thread;   /* index into trace_info.threads */
	uint32_t fn;       /* function id in the thread's image */
	uint32_t site;     /* call-site id; 0 = unknown */
	uint16_t cpu;
	uint8_t kind;      /* enum event_kind */
	uint8_t flags;     /* one of the enums event_*_flags, by the kind */
};

/* Whether a call of a function begins, also one that is reached by a jump. */
static inline bool event_is_call(const struct event *e)
{
	return e->kind == EVENT_ENTRY || e->kind == EVENT_TAIL || e->kind == EVENT_CALL ||
	       e->kind == EVENT_ENTRY_ONLY;
}

/* Words that `payload` leads to; 0: the event has none. */
static inline uint64_t event_payload_words(const struct event *e)
{
	if (e->kind == EVENT_TRACE || (e->kind != EVENT_EXIT && e->flags & EVENT_ARGUMENTS))
		return e->count / 8;
	/* A byte more than the string has. */
	return e->kind == EVENT_EXIT && e->flags & EVENT_TEXT ? (e->count + 6) / 8 : 0;
}

/* A stream of events merged by time. Buffers of live sessions and trace files both provide one. */
struct source;
struct source_ops {
	/* 1 and *out filled; 0 at the end; -errno with *err set. Events of all threads, by tsc. */
	int (*next)(struct source *s, struct event *out, struct err *err);
	void (*close)(struct source *s);
};
struct source {
	const struct source_ops *ops;
	struct trace_info *info; /* grows while events come; valid until close */
	/* Set by the reader of a live stream, or NULL. Called each time the stream has nothing
	 * (yet), so that the reader can show what it has read. */
	void (*idle)(void *context);
	void *idle_context;
	/* Set by the reader of a live stream that compares threads' times: events wait until no
	 * older ones can come. */
	bool ordered;
};
