/* SPDX-License-Identifier: MIT */
/* Calls of a program, as its records tell them, to events of the objects that they take (wire.h):
 * here, and not where the calls are made, it is decided which of them belong. One thread at a
 * time. */
#pragma once
#include "follow/expression.h"
#include "follow/kernel.h"
#include "follow/recorded.h"
#include "trace/event.h"

struct follow_program_spec {
	struct follow_recording recording;
	const char *const *ends; /* functions in which objects end, NULL-terminated; globs */
	bool by_identity;
};

/* Losses: records; calls whose arguments were lost, though the call is known; objects: too many
 * at once. */
struct follow_program_losses { uint64_t records, blind, crowded; };

struct follow_program;

/* The spec and the info outlive it; sink gets the events. follow_program_free() frees it. */
struct follow_program *follow_program_new(const struct trace_info *info,
					  const struct follow_program_spec *spec,
					  follow_sink *sink, void *context);
/* The next record, in the order of time. */
void follow_program_take(struct follow_program *p, const struct event *e);
/* By the number in events; NULL: there is none. */
const struct follow_function *follow_program_function(const struct follow_program *p, uint32_t n);
/* calls: of watched functions, all that were recorded. */
void follow_program_count(const struct follow_program *p, uint64_t *calls,
			  struct follow_program_losses *losses);
void follow_program_free(struct follow_program *p);
