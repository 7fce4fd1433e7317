/* SPDX-License-Identifier: MIT */
/* JSON for machines: one object a line; the first names the schema. */
#pragma once
#include "base/out.h"

/* Prints "s" with its quotes; bytes that are not UTF-8 become U+FFFD. NULL prints null. */
void json_string(struct out *o, const char *s);
