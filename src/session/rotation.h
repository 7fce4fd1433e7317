/* SPDX-License-Identifier: MIT */
/* A recording that goes on in a new file when one has its size or its time: PATH is the file that
 * is written, PATH.1, PATH.2, ... those before it, in order. Each is a whole trace. Belongs to the
 * thread that records. Private to src/session. */
#pragma once
#include "session/session.h"

struct session;

/* Behind PATH: the next file, for the moment in which it has no records and not yet its name. */
#define ROTATION_NEXT ".next"

struct rotation {
	struct session_rotation spec;
	uint64_t begun_ns;          /* CLOCK_MONOTONIC: of the present file */
	VEC(char *) names;          /* of files before it that are there, oldest first */
	VEC(struct trace_total) in; /* what each of them has */
	VEC(uint64_t) of_thread;    /* records, kept and lost, of all files before, by thread */
	uint32_t last;              /* the latest number that was given; 0: none */
	/* of all files before the present one; of those of them that were removed */
	struct trace_total before, removed;
	uint32_t files, files_removed;
	struct err full;            /* why one of those before could not take all; code 0: none */
};

/* After the first file has been made, which the path must be: a pipe has no second one. 0, or
 * -errno and *err. */
int rotation_begin(struct session *s, const struct session_rotation *spec, struct err *err);
/* Whether the present file has its size or its time. Never without a spec. */
bool rotation_due(const struct session *s);
/* Ends the present file, and begins the next one. What goes wrong is in s->full: then there is no
 * next one, and records count as lost. */
void rotation_turn(struct session *s);
/* Adds to info's messages what came before the present file. */
void rotation_describe(struct session *s);
/* Adds what the files before the last one had, and how many were removed. */
void rotation_result(const struct session *s, struct session_result *res);
void rotation_free(struct rotation *r);
