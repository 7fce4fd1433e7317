/* SPDX-License-Identifier: MIT */
/* The errors of filters in words, for error_log, the `filter` files and people. The kernel counts
 * columns from 1 where it points into a predicate, and from 0 where it points at a parenthesis or a
 * quote; the `filter` file moves a caret after the text back to its end, the log does not. So it is
 * here. No state. Callers of the compiler use it, on any thread. */
#include "event/filter_error.h"

#include <stdlib.h>

#include "base/mem.h"

const char *const filter_error_text[FILTER_ERRORS] = {
	[FILTER_ERROR_OTHER] = "Error",
	[FILTER_INVALID_OP] = "Invalid operator",
	[FILTER_TOO_MANY_OPEN] = "Too many '('",
	[FILTER_TOO_MANY_CLOSE] = "Too few '('",
	[FILTER_MISSING_QUOTE] = "Missing matching quote",
	[FILTER_MISSING_BRACE_OPEN] = "Missing '{'",
	[FILTER_MISSING_BRACE_CLOSE] = "Missing '}'",
	[FILTER_OPERAND_TOO_LONG] = "Operand too long",
	[FILTER_EXPECT_STRING] = "Expecting string field",
	[FILTER_EXPECT_DIGIT] = "Expecting numeric field",
	[FILTER_ILLEGAL_FIELD_OP] = "Illegal operation for field type",
	[FILTER_FIELD_NOT_FOUND] = "Field not found",
	[FILTER_ILLEGAL_INTVAL] = "Illegal integer value",
	[FILTER_BAD_SUBSYSTEM] = "Couldn't find or set field in one of a subsystem's events",
	[FILTER_TOO_MANY_PREDICATES] = "Too many terms in predicate expression",
	[FILTER_MEANINGLESS] = "Meaningless filter expression",
	[FILTER_INVALID_CPULIST] = "Invalid cpulist",
	[FILTER_INVALID_VALUE] = "Invalid value (did you forget quotes)?",
	[FILTER_NO_FUNCTION] = "Function not found",
	[FILTER_NO_FILTER] = "No filter found",
};

/* Constant; the kernel's, but for faults that only brace knows. */
const char *filter_fault_sentence(const struct filter_fault *f)
{
	return f->sentence ? f->sentence : filter_error_text[f->error];
}

/* Text and length are added by the caller that has the whole filter. */
int filter_fault_set(struct filter_fault *f, enum filter_error error, int code, size_t position)
{
	f->error = error;
	f->code = code;
	f->position = position;
	return -code;
}

/* A position behind the text is shown at its end. */
static int shown_column(const struct filter_fault *f)
{
	return (int)(f->position < f->length ? f->position : f->length);
}

/* As the file `filter` shows it, for free(). */
char *filter_fault_shown(const struct filter_fault *f)
{
	int n = (int)f->length;

	if (f->error == FILTER_ERROR_OTHER)
		return mem_printf("%.*s\nError: (0)\n", n, f->text);
	return mem_printf("%.*s\n%*s^\nparse_error: %s\n", n, f->text, shown_column(f), "",
			  filter_error_text[f->error]);
}

/* err_at() copies the text, cut to its own limits. */
int filter_fault_err(const struct filter_fault *f, struct err *err)
{
	char *text = mem_strndup(f->text, f->length);

	err_at(err, f->code, text, (size_t)shown_column(f), "%s: %s",
	       f->kind ? f->kind : FILTER_FAULT_LOCATION, filter_fault_sentence(f));
	free(text);
	return -f->code;
}
