/* SPDX-License-Identifier: MIT */
/* One comparison of a filter: `prev_comm ~ "py*"`. */
#pragma once
#include "base/vec.h"
#include "event/filter_compile.h"

/* A filter on its way. Patterns and masks gather in data; an instruction's `data` counts from its begin until
 * the program is put together. */
struct filter_build {
	const struct event_format *event;
	const struct filter_context *context;
	const char *text;              /* NUL-terminated */
	struct filter_fault *fault;
	VEC(struct filter_insn) insns;
	VEC(uint8_t) data;
	uint16_t needs;
};

/* Reads the comparison at *at and adds its instruction; *at is then behind it. 0, or -errno and the fault. */
int filter_predicate(struct filter_build *b, size_t *at);
