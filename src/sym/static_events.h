/* SPDX-License-Identifier: MIT */
/* Events that a program or library brings with it by include/brace/event.h: what they look like, and where they happen.
 * Untrusted bytes, as everything in a file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "sym/elf_file.h"

struct static_field {
	uint8_t kind;                /* enum static_kind */
	bool is_signed;
	uint16_t offset, size;       /* in the record */
	uint16_t element;            /* size of one of an array's */
	const char *type, *name;
};
enum static_kind { STATIC_NUMBER, STATIC_ARRAY, STATIC_DYNAMIC, STATIC_KINDS };

struct static_event {
	const char *system, *name, *print;
	const char *at;              /* SYSTEM:NAME of the event at whose sites it happens too; "": it has its own */
	VEC(struct static_field) fields;
};

/* A nop that becomes a jump while an event is wanted there. */
struct static_site {
	const char *system, *name;
	uint64_t nop, slow;          /* file addresses: STATIC_NOP_BYTES; where to jump */
};

struct static_state {
	const char *system, *name;
	uint64_t at;                 /* file address of the event's struct event_state */
};
#define STATIC_NOP_BYTES 5u
extern const uint8_t static_nop[STATIC_NOP_BYTES];

struct static_events {
	VEC(struct static_event) events; /* without the repetitions of each source file */
	VEC(struct static_site) sites;
	VEC(struct static_state) states; /* one or more of each event */
	uint64_t lowest;                 /* file address of what is mapped first */
	struct elf_file file;            /* which the strings are in */
};

/* Of an open file; path is for sentences. 0, with nothing in it if the file has no events or is none to have any; -errno and *err if it cannot be read. */
int static_events_load(int fd, const char *path, struct static_events *out, struct err *err);
/* The same from bytes, which must stay. */
void static_events_read(const void *bytes, size_t n, struct static_events *out);
void static_events_free(struct static_events *e);
