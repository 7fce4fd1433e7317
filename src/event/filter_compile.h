/* SPDX-License-Identifier: MIT */
/* Compiles a filter's text to the program that the traced program runs (shared/filter.h). */
#pragma once
#include "event/filter_error.h"
#include "event/format.h"
#include "shared/filter.h"

#define FILTER_TEXT_MAX 4096u /* one page with its NUL, as ftrace takes it at once */
#define FILTER_STRING_MAX 256u

struct filter_function {
	uint64_t begin;
	uint32_t bytes;
};

/* Things that the text may refer to. */
struct filter_context {
	uint32_t cpus; /* number of CPUs; 0: FILTER_CPUS_MAX */
	/* For `field.function`: finds the function of that name, or with name NULL the one that
	 * holds the address. Addresses are those that `place` of a struct filter_record gives. */
	bool (*function)(void *arg, const char *name, uint64_t address, struct filter_function *f);
	void *arg;
};

/* Compiles n characters. Returns 0 and *program, to be freed, of (*program)->bytes bytes; or -errno
 * and *fault, which points into text. */
int filter_compile(const struct event_format *e, const char *text, size_t n,
		   const struct filter_context *c, struct filter_program **program,
		   struct filter_fault *fault);
