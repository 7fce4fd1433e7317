/* SPDX-License-Identifier: MIT */
/* A trace.dat that is made: trace_dat.c writes the records into pages, trace_dat_file.c the pages
 * into a file, trace_dat_btf.c what functions take and return. Private to these three. */
#pragma once
#include "export/files.h"
#include "export/parts.h"
#include "base/prototype.h"
#include "report/event_text.h"
#include "shared/record.h"
#include "store/bytes.h"
#include "trace/cpu_order.h"

#define TRACE_DAT_PAGE PARTS_BLOCK

/* The page of a CPU that is being filled. */
struct cpu_page {
	char at[TRACE_DAT_PAGE];
	size_t n;             /* bytes in it, PAGE_HEAD and more; 0: not begun */
	uint64_t first, last; /* times */
	uint64_t missed;      /* records that are missing before it */
	uint64_t next_missed; /* ... before the next one */
	uint16_t cpu;         /* as the trace numbers it */
};

/* A name in kallsyms: a frame of the kernel's at its own address, one of a program's at an address
 * behind those of the functions that were called. */
struct trace_dat_frame {
	char *name;
	uint64_t address;
};
#define TRACE_DAT_FRAMES UINT64_C(0x560000000000)

/* Pages are numbered by place, in the order in which their CPUs are met: a file may name any
 * CPU. */
struct trace_dat {
	struct walk walk;
	bool describes;                 /* calls have their arguments, functions what they take */
	struct event_texts *texts;
	struct out *out;
	struct err *err;
	struct parts parts;             /* by place in pages */
	VEC(struct cpu_page *) pages;
	VEC(uint32_t) page_of;          /* 1 + place, by CPU */
	struct cpu_order order;         /* of each thread's records over the CPUs */
	VEC(uint16_t) cpu_of;           /* by lane: where its latest record was */
	struct number_map user_of;      /* by TID, + 1: the lane of its calls in the program */
	VEC(struct trace_dat_frame) frames; /* of stacks, each once */
	struct number_map frame_of;     /* by function or place: its index in frames */
};


/* Ids of the records of calls, in their formats. */
enum { TRACE_DAT_EXIT = 10, TRACE_DAT_ENTRY = 11 };

/* Write the file of what is in d->parts, where all pages are, to d->out: version 6, or version 7,
 * compressed by zstd. 0, or -errno and d->err. Errors of d->out stay in it. */
int trace_dat_v6(struct trace_dat *d);
int trace_dat_v7(struct trace_dat *d);

/* The most words that a call's arguments have: each of a record's, and those of values without. */
#define TRACE_DAT_WORDS (PROTOTYPE_PARAMETERS + RECORD_PAYLOAD_MAX)
/* Writes what a call (WALK_BEGIN) was given, as the BTF describes it, and returns the number of
 * words; 0: nothing is known, or d->describes is false. Counts the texts, which have no place. */
uint32_t trace_dat_words(struct trace_dat *d, const struct walk_step *s,
			 uint64_t words[TRACE_DAT_WORDS]);
/* Returns the 64 bits of what a call (WALK_END) returned, a number with its sign; 0: nothing, or it
 * is not known. Counts what has no place in them: texts and structures. */
uint64_t trace_dat_returned(struct trace_dat *d, const struct walk_step *s);
/* Whether there is BTF to write: a function that was called is described. */
bool trace_dat_describes(const struct trace_dat *d);
/* Writes the BTF of all functions that were called. */
void trace_dat_put_btf(const struct trace_dat *d, struct out *o);
/* Returns the function's name in kallsyms: one word; free() it. */
char *trace_dat_name(const struct trace_dat *d, uint32_t function);
/* Writes the lowest bytes of a number, little-endian as the file's head says. */
void trace_dat_put_at(char *to, uint64_t v, unsigned bytes);
