/* SPDX-License-Identifier: MIT */
/* The place that each call was made from, for funcgraph-retaddr. Only the record of a call's end
 * tells it, but the line of its beginning shows it: so a reader that has a whole trace goes through
 * it once for this, before it prints. Used by one thread, the printer's. */
#pragma once
#include "trace/event.h"

struct callers;

/* No more calls than these are looked at; later ones have no address. 8 bytes each. */
#define CALLERS_MOST (32u << 20)

/* Reads the stream to its end, and closes it. NULL and *err if reading fails. */
struct callers *callers_find(struct source *source, struct err *err);
/* The site of call number i, which began at tsc; 0: not known. Calls are counted from 0, in the
 * order in which tracks emit their beginnings. */
uint32_t callers_site(const struct callers *c, uint64_t i, uint64_t tsc);
void callers_free(struct callers *c); /* NULL: nothing */
