/* SPDX-License-Identifier: MIT */
/* The errors of filters, in ftrace's words and at ftrace's column. For `error_log`
 * (tree/error_log.h): FILTER_FAULT_LOCATION, or `KIND:SYSTEM:EVENT` if f.kind is set,
 * filter_fault_sentence(f), f.text, f.length, f.position. */
#pragma once
#include <stddef.h>

#include "base/err.h"

enum filter_error {
	FILTER_ERROR_OTHER, /* the kernel has no word for it: "Error" */
	FILTER_INVALID_OP,
	FILTER_TOO_MANY_OPEN,
	FILTER_TOO_MANY_CLOSE,
	FILTER_MISSING_QUOTE,
	FILTER_MISSING_BRACE_OPEN,
	FILTER_MISSING_BRACE_CLOSE,
	FILTER_OPERAND_TOO_LONG,
	FILTER_EXPECT_STRING,
	FILTER_EXPECT_DIGIT,
	FILTER_ILLEGAL_FIELD_OP,
	FILTER_FIELD_NOT_FOUND,
	FILTER_ILLEGAL_INTVAL,
	FILTER_BAD_SUBSYSTEM,
	FILTER_TOO_MANY_PREDICATES,
	FILTER_MEANINGLESS,
	FILTER_INVALID_CPULIST,
	FILTER_INVALID_VALUE,
	FILTER_NO_FUNCTION,
	FILTER_NO_FILTER,
	FILTER_ERRORS
};

#define FILTER_FAULT_LOCATION "event filter parse error"

struct filter_fault {
	enum filter_error error;
	int code;           /* positive errno, the kernel's */
	size_t position;    /* place of ftrace's caret; may be one or two after the text */
	const char *text;   /* the filter, in what the caller passed */
	size_t length;
	/* The kind of a trigger whose own parameters are at fault, and the sentence; text is the
	 * whole command then. NULL: a filter is at fault. */
	const char *kind, *sentence;
};

extern const char *const filter_error_text[FILTER_ERRORS];

/* Returns what is wrong, in the kernel's words. */
const char *filter_fault_sentence(const struct filter_fault *f);

/* Fills *f; returns -code. */
int filter_fault_set(struct filter_fault *f, enum filter_error error, int code, size_t position);

/* Returns the text that the `filter` file shows of a refused filter: text, caret, sentence. free()
 * it. */
char *filter_fault_shown(const struct filter_fault *f);

/* Makes *err of the fault, for people: a sentence, the text, the column. Returns -err->code. */
int filter_fault_err(const struct filter_fault *f, struct err *err);
