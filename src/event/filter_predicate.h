/* SPDX-License-Identifier: MIT */
/* One comparison of a filter: `prev_comm ~ "py*"`. */
#pragma once
#include "base/vec.h"
#include "event/filter_compile.h"

/* A filter that is being compiled. Patterns and masks are collected in data; an instruction's
 * `data` counts from the begin of data until the program is assembled. */
struct filter_build {
	const struct event_format *event;
	const struct filter_context *context;
	const char *text;              /* NUL-terminated */
	struct filter_fault *fault;
	VEC(struct filter_insn) insns;
	VEC(uint8_t) data;
	uint16_t needs;
};

/* Reads the comparison at *at and adds its instruction; *at is then after it. Returns 0, or -errno
 * and the fault. */
int filter_predicate(struct filter_build *b, size_t *at);
