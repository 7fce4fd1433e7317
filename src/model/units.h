/* SPDX-License-Identifier: MIT */
/* Parses and prints times and sizes as people write them. Pure functions. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* Parses "10us", "1.5ms", "2s", "300ns"; a bare number has the unit given, in nanoseconds. 0, or
 * -EINVAL or -ERANGE and *err with the column of the fault. */
int units_parse_time_ns(const char *text, uint64_t bare_unit_ns, uint64_t *out, struct err *err);
/* Parses "64K", "4M", "1G" into kilobytes; a bare number is kilobytes. At least 1. Errors as
 * units_parse_time_ns. */
int units_parse_size_kb(const char *text, uint64_t *out, struct err *err);
/* Parses a whole decimal number from min to max; a `+` may precede it. Errors as
 * units_parse_time_ns; `what` begins the sentence. */
int units_parse_number(const char *text, const char *what, uint64_t min, uint64_t max,
		       uint64_t *out, struct err *err);

/* The shortest text that units_parse_time_ns with a bare unit of 1 µs reads back: "10" or "1500ns".
 * buf has at least 32 bytes. Returns buf. */
const char *units_format_thresh(uint64_t ns, char *buf);
