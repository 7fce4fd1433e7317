/* SPDX-License-Identifier: MIT */
/* Sentences of what this kernel does not have: the option that it was built without, or the nearest
 * name. */
#pragma once
#include <stddef.h>

#include "base/err.h"

/* `text` has, `at` bytes from its beginning, an event that the kernel does not have: SYSTEM:EVENT
 * or one of the two, up to a blank or the end. top: the kernel's tracing directory. -EINVAL and
 * *err. */
int kernel_absent_event(const char *top, const char *text, size_t at, struct err *err);
/* A tracer that brace does not record the kernel with: whether this kernel has it, and what it
 * would take. top as above. -EINVAL and *err. */
int kernel_absent_tracer(const char *top, const char *name, struct err *err);
