/* SPDX-License-Identifier: MIT */
/* From events to objects and their calls: which object an address is, which entry a return belongs
 * to, how deep a call lies in others of its object on its task. One thread at a time. */
#pragma once
#include <stdbool.h>

#include "base/vec.h"
#include "follow/kernel.h"

/* One line of a graph. */
struct follow_line {
	uint64_t ns, duration, result;  /* the last two: of a return */
	uint64_t object;                /* its address: a graph may have several */
	uint32_t function, cpu, pid, tid;
	uint32_t depth;                 /* calls of its object that it lies in */
	uint32_t other;                 /* of an entry: 1 + the return's index in lines; 0: none */
	uint32_t child;                 /* of a return: number of the object that it gives */
	bool is_return, is_alone;       /* is_alone: a return whose entry is not known */
	bool unwound;                   /* no return: the call was left otherwise */
	uint8_t why, valid, kind;       /* as in struct follow_event */
	uint16_t kinds;                 /* all of the call's objects in the graph: 1 << kind */
	bool beyond;
	char comm[FOLLOW_TEXT];
	union follow_value shown[FOLLOW_SHOWN];
};

/* One graph: an object, or a descriptor with what is behind it; and what a program's object leads
 * to in the kernel. */
struct follow_object {
	uint64_t address;               /* or PID << 32 | DESCRIPTOR, in space FOLLOW_GROUPS */
	uint32_t space;                 /* the process that it is an address of; the kernel's: 0 */
	uint32_t number;                /* from 1 on */
	uint32_t parent;                /* number of the object that it was made of; 0: none */
	uint32_t made_by, ended_by;     /* 1 + function; 0: none, not */
	uint8_t kind;                   /* enum follow_kind, of its first call */
	uint64_t calls, returns;
	uint32_t open;                  /* calls that have not returned */
	bool ending;                    /* it is in the function that ends it */
	uint32_t ending_in;
	bool continued;                 /* earlier lines of it were given already */
	VEC(struct follow_line) lines;
};

#define FOLLOW_GROUPS UINT32_MAX

/* Where they go. */
struct follow_readers {
	/* each line as it comes; or NULL */
	void (*line)(void *context, const struct follow_object *o, const struct follow_line *l);
	/* the lines of an object: when it has ended, else at the end, or when there are very
	 * many; NULL: none are kept */
	void (*object)(void *context, const struct follow_object *o);
	const struct follow_function *(*function)(void *context, uint32_t n);
	void *context;
};

struct follow_objects;

/* *readers is copied. To be freed by follow_objects_free(). */
struct follow_objects *follow_objects_new(const struct follow_readers *readers);
/* Takes the next event; a reader may be called. */
void follow_objects_event(struct follow_objects *all, const struct follow_event *e);
/* Gives what is kept. */
void follow_objects_end(struct follow_objects *all);
/* Sums of all events that were taken. */
struct follow_totals { uint64_t objects, calls, returns; };
struct follow_totals follow_objects_totals(const struct follow_objects *all);
void follow_objects_free(struct follow_objects *all);
