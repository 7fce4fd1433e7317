/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this report share: objects with states, and faults. */
#pragma once
#include "base/keyed_hash.h"
#include "base/number_map.h"
#include "report/names.h"
#include "report/verify.h"
#include "trace/tracks.h"

/* A process between two execs, to which objects belong. */
/* any: nothing is known of what came before; losing: threads with a loss that may go on */
struct verify_owner { uint32_t epoch, losing; bool any; };

struct verify_object {
	uint64_t key, states;     /* states 0: a free bucket */
	uint32_t owner, epoch;    /* an older epoch than the owner's: any state is possible */
};

struct verify_fault {
	uint64_t tsc, key, states; /* states: in which the object may have been */
	uint64_t step;             /* its number: the order, which stamps need not have */
	uint32_t thread, event, owner, site;
	bool called, outside;      /* it is a call: site may be known; with `outside` */
};

#define VERIFY_ARGUMENTS 6u
#define VERIFY_CALLS 32u

/* The arguments of a call; bit n of known: argument n is. */
struct verify_call {
	uint64_t arguments[VERIFY_ARGUMENTS], begin; /* begin: number of its step */
	uint32_t fn;
	uint8_t known;
	bool faulty;               /* its begin was a fault, whose place its return tells */
};

struct verify_thread {
	struct verify_call calls[VERIFY_CALLS]; /* open ones of the model */
	unsigned n;
	uint64_t last, tsc;       /* its last record's step and time */
	bool losing;              /* a loss was told that nothing has ended yet */
};

/* The bindings of a function, by image and id; those of an event, and the places of their
 * fields. */
struct verify_fields { uint16_t key, condition; uint8_t key_bytes, condition_bytes; };
struct verify_event_fields { uint32_t binding; struct verify_fields at; };
struct verify_of_function { bool known; VEC(uint32_t) bindings; };
struct verify_of_event { bool known; VEC(struct verify_event_fields) bindings; };
struct verify_image { VEC(struct verify_of_function) functions; };

struct verify {
	const struct trace_info *info;
	const struct automaton *a;
	const struct automaton_bindings *b;
	bool whole;
	struct sites sites_map;
	struct tracks tracks;
	struct names names;
	struct number_map owner_of; /* image and pid -> owner */
	VEC(struct verify_owner) owners;
	struct verify_object *objects; /* open addressing, a power of two */
	struct hash_key secret;   /* of their places */
	size_t n_objects, room;
	VEC(struct verify_image) images;
	VEC(struct verify_of_event) events;
	struct verify_of_function handlers; /* of any function that a signal calls */
	VEC(struct verify_thread) threads;
	VEC(struct verify_fault) faults;
	/* faults: all that were found; doubtful: taken back; unknown: events whose object is not
	 * known; unwatched: objects for which there was no room */
	uint64_t seen, all_faults, doubtful, unknown, unwatched;
	uint64_t steps;           /* records and calls that were looked at */
	struct event last;
};

/* Objects that ended in no final state; 0 if the model has none. */
uint64_t verify_unfinished(const struct verify *v);
