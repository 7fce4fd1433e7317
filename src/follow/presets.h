/* SPDX-License-Identifier: MIT */
/* Facts about some types: short names for objects that are followed often, and functions in
 * which objects end. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "follow/wire.h"

struct follow_preset {
	char *text;              /* as an expression (expression.h) */
	const char *said;        /* as the user wrote it: the caller's text */
	int descriptor;          /* the objects are behind it; -1: they are the expression's */
	uint64_t buffer, buffer_bytes; /* a program's memory; bytes 0: it is none */
	const char *filter;      /* pcap's, of packets, in the user's text; NULL: none */
	const char *const *ends; /* NULL-terminated */
};

/* Takes packet[:MARK], packet:EXPRESSION, file:PATH, task:PID, connection:PORT, fd:NUMBER or
 * buffer:ADDRESS[+BYTES] for the expression that it stands for, any other text for itself. 0, or
 * -errno and *err. follow_preset_free() frees it in any case. */
int follow_preset_read(const char *text, struct follow_preset *out, struct err *err);
/* Fills in the usual ends of the type's objects, perhaps none. */
void follow_preset_ends(struct follow_preset *p, const char *type);
/* Whether what a function of the type returns for an object is made of it. */
bool follow_preset_gives(const char *type);
/* Whether the line of /proc/PID/mountinfo is of the mount with this number; then also the device of
 * its superblock. */
bool follow_preset_mount(const char *line, uint64_t mount, unsigned *major, unsigned *minor);
/* The structure's name; NULL: it is the expression's. */
const char *follow_kind_name(enum follow_kind kind);
/* After a fault in p->text: has *err show what the user wrote in its place. Faults of other texts,
 * and texts that are no preset, stay as they are. */
void follow_preset_blame(const struct follow_preset *p, struct err *err);
void follow_preset_free(struct follow_preset *p);
