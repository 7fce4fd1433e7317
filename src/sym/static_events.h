/* SPDX-License-Identifier: MIT */
/* Events that a program or library brings with it by include/brace/event.h: their formats, and the
 * places where they happen. Untrusted bytes, as everything in a file. */
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
	uint16_t element;            /* size of an array's element */
	const char *type, *name;
};
enum static_kind { STATIC_NUMBER, STATIC_ARRAY, STATIC_DYNAMIC, STATIC_KINDS };

struct static_event {
	const char *system, *name, *print;
	/* SYSTEM:NAME of the event at whose sites this one happens, too; "": it has its own. */
	const char *at;
	VEC(struct static_field) fields;
};

/* A nop that becomes a jump while an event is wanted there. */
struct static_site {
	const char *system, *name;
	uint64_t nop, slow;          /* file addresses: of STATIC_NOP_BYTES; of the jump's target */
};

struct static_state {
	const char *system, *name;
	uint64_t at;                 /* file address of the event's struct event_state */
};
#define STATIC_NOP_BYTES 5u
extern const uint8_t static_nop[STATIC_NOP_BYTES];

struct static_events {
	VEC(struct static_event) events; /* each once, though every source file has a copy */
	VEC(struct static_site) sites;
	VEC(struct static_state) states; /* one or more of each event */
	uint64_t lowest;                 /* lowest mapped file address */
	struct elf_file file;            /* the file, which the strings are in */
};

/* Reads the events of an open file; path is for sentences. Returns 0, with nothing in *out if the
 * file has no events or cannot have any; -errno and *err if it cannot be read. static_events_free()
 * frees it. */
int static_events_load(int fd, const char *path, struct static_events *out, struct err *err);
/* static_events_load() from bytes, which must stay. */
void static_events_read(const void *bytes, size_t n, struct static_events *out);
void static_events_free(struct static_events *e);
