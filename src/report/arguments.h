/* SPDX-License-Identifier: MIT */
/* Arguments and values of calls as text. The prototype and the record may be anybody's. */
#pragma once
#include "base/out.h"
#include "trace/calls.h"

/* Returns "(cents=4, name=\"x1\")" for a call with EVENT_ARGUMENTS, which the caller frees. NULL:
 * what its function takes is not known, or the record does not fit. */
char *arguments_text(const struct trace_info *info, const struct event *e);

/* Returns "(...)" for a call whose arguments are not at hand, though its function has some: they
 * were lost, or their types cannot be recorded. NULL: it has none, or nothing is known of it. */
const char *arguments_unknown(const struct trace_info *info, uint32_t thread, uint32_t fn);

/* The form in which a returned value is shown: not at all, because the function returns none or it
 * is not asked for; a text by the function's type, to be freed; or it is left to the caller. tsc:
 * when it returned. */
enum arguments_value { ARGUMENTS_VALUE_HIDDEN, ARGUMENTS_VALUE_TEXT, ARGUMENTS_VALUE_PLAIN };
enum arguments_value arguments_value(const struct trace_info *info, uint32_t image, uint32_t fn,
				     struct call_value value, uint64_t tsc, char **text);

/* Arguments and values one by one, by their types, for formats that have types of their own. TEXT:
 * characters, not all that there were if `more`. NAME: a word of the program's (an enumerator,
 * A|B).
 * FAULT: it could not be read. OPEN, CLOSE: a structure, whose members come in between. UNKNOWN:
 * the compiler left it out, or its type is not recorded. */
enum argument_kind {
	ARGUMENT_UNKNOWN, ARGUMENT_SIGNED, ARGUMENT_UNSIGNED, ARGUMENT_BOOL, ARGUMENT_FLOAT,
	ARGUMENT_POINTER, ARGUMENT_TEXT, ARGUMENT_NAME, ARGUMENT_FAULT, ARGUMENT_OPEN,
	ARGUMENT_CLOSE, ARGUMENT_LIST, ARGUMENT_LIST_END
};
#define ARGUMENT_KINDS_N (ARGUMENT_LIST_END + 1)
struct argument_told {
	uint8_t kind;         /* enum argument_kind */
	bool more;            /* TEXT goes on; LIST_END: there are more elements */
	/* of the parameter or member, not ended by a NUL; CLOSE, LIST_END: NULL */
	const char *name;
	uint32_t name_bytes;
	uint32_t bytes;       /* of the text */
	const char *text;     /* TEXT, NAME; FLOAT: its digits, as arguments_text() has them */
	uint64_t number;      /* SIGNED: as int64_t */
	double real;          /* FLOAT */
};
/* The visitor's argument is valid during the call. */
typedef void argument_visit(void *context, const struct argument_told *a);

/* Visits those of a call with EVENT_ARGUMENTS. False: as arguments_text()'s NULL. */
bool arguments_each(const struct trace_info *info, const struct event *e, argument_visit *visit,
		    void *context);
/* Visits a returned value, with a name. False: it is not shown, or by its number alone. */
bool arguments_returned(const struct trace_info *info, uint32_t image, uint32_t fn,
			struct call_value value, const char *name, argument_visit *visit,
			void *context);
/* Print the same as JSON: an object, {"cents":4,"name":"x1"}, and a value; an array is a list,
 * whose last element is "..." where it goes on. Pointers and names are
 * strings, and a string that goes on ends in "..."; 0x0 and what is not known is null, what could
 * not be read "(fault)". False: as above, and nothing is printed. */
bool arguments_json(struct out *o, const struct trace_info *info, const struct event *e);
bool arguments_returned_json(struct out *o, const struct trace_info *info, uint32_t image,
			     uint32_t fn, struct call_value value);
