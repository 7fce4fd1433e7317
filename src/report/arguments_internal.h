/* SPDX-License-Identifier: MIT */
/* Declarations that arguments.c (text) and arguments_typed.c (values by their types) share.
 * Private to these. */
#pragma once
#include "base/prototype.h"
#include "report/arguments.h"

/* Bytes of a record of arguments, from its header on. */
#define ARGUMENTS_RECORD (PROTOTYPE_FIRST + 8u * 64)
/* The longest text of a record's values: bytes of a string are four characters each at worst. */
#define TEXT_MOST (8u * 1024)

/* Text under way, in TEXT_MOST bytes; what does not fit is left out. info: pointers to functions
 * that the process had at that time have their names beside; NULL: they are numbers alone. */
struct argument_text {
	char *at;
	size_t n;
	const struct trace_info *info;
	uint64_t tsc;
	uint32_t image;
};

/* The lowest bytes of a number, with their sign if it has one. */
uint64_t arguments_narrow(uint64_t number, const struct prototype_value *v);
/* A value that is no string. */
void arguments_put_number(struct argument_text *t, const struct prototype_value *v,
			  uint64_t number);
/* A value that only prototype_whole() tells, at its place in the record. False: it is another. */
bool arguments_put_whole(struct argument_text *t, const struct prototype_value *v,
			 const uint8_t *at);
/* prototype_whole() of what was recorded of a return. False: that is not the value. */
bool arguments_whole(const struct prototype *p, struct call_value value, struct prototype *out,
		     uint8_t record[PROTOTYPE_RECORD], uint32_t *recorded);
/* Whether what was recorded of a return is the value. */
bool arguments_is_recorded(const struct prototype_value *v, struct call_value value);
/* NULL: the function is not known, or its file does not say what it takes. */
const char *arguments_prototype(const struct trace_info *info, uint32_t image, uint32_t fn);
/* Fills in the prototype of a call, and its record, with places from its header on. False: they do
 * not fit. */
bool arguments_record(const struct trace_info *info, const struct event *e, struct prototype *p,
		      uint8_t record[ARGUMENTS_RECORD]);
