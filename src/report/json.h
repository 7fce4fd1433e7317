/* SPDX-License-Identifier: MIT */
/* JSON for machines: one object a line, the first tells the schema. */
#pragma once
#include "base/out.h"

/* "s" with its quotes; what is not UTF-8 becomes U+FFFD. NULL: null. */
void json_string(struct out *o, const char *s);
