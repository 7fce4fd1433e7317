/* SPDX-License-Identifier: MIT */
/* Times and sizes as people write them. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* "10us", "1.5ms", "2s", "300ns"; a bare number is in the unit given (nanoseconds of it).
 * 0, or -EINVAL / -ERANGE and *err with the column of the fault. */
int parse_time_ns(const char *text, uint64_t bare_unit_ns, uint64_t *out, struct err *err);
/* "64K", "4M", "1G", in kilobytes; a bare number is kilobytes. At least 1. Errors alike. */
int parse_size_kb(const char *text, uint64_t *out, struct err *err);
/* A whole number from min to max, decimal, of which the sign may be written. Errors alike; `what` begins the sentence. */
int parse_number(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out,
		 struct err *err);

/* The shortest text that parse_time_ns with a bare unit of 1 µs reads back: "10" or "1500ns".
 * buf has at least 32 bytes. Returns buf. */
const char *format_thresh(uint64_t ns, char *buf);
