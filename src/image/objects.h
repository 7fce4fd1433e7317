/* SPDX-License-Identifier: MIT */
/* The functions of a program that take an object which is followed, and the record of their calls
 * (follow/recorded.h). */
#pragma once
#include "follow/recorded.h"
#include "image/arguments.h"

struct module;
struct modules;

/* Plans the module's functions that take the type, and takes all others out of the selection.
 * m->asked_for counts. Reads debug information, as arguments_plan() does, which calls it. */
void objects_plan(struct modules *m, struct module *mod, const struct follow_recording *spec);
/* Says why none is watched. Returns -EINVAL; 0: they may come with a library. */
int objects_none_watched(const struct object_count *c, const struct follow_recording *spec,
			 struct err *err);
void objects_count_add(struct object_count *total, const struct object_count *more);
