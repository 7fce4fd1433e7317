/* SPDX-License-Identifier: MIT */
/* trace_options and options/, for the table in settings.c. */
#pragma once
#include "model/settings.h"

/* Sets options: NAME or noNAME, one or several. If one is unknown none is set. 0, or -EINVAL and
 * *err. */
int options_write(struct settings *s, const char *text, struct err *err);
/* The current tracer's options, a line each, with "no" before those that are off. free() it. */
char *options_read(const struct settings *s);
/* Sets one option to "0" or "1". 0, or -EINVAL and *err. */
int options_write_one(struct settings *s, enum trace_option o, const char *text, struct err *err);
/* Sets the buffer mode and the options `overwrite` and `block`, which express it in the tree. */
void options_set_mode(struct settings *s, enum buffer_mode mode);
