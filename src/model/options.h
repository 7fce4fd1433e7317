/* SPDX-License-Identifier: MIT */
/* trace_options and options/ as settings.c's table calls them. */
#pragma once
#include "model/settings.h"

/* NAME or noNAME, one or several; one unknown, nothing is set. 0, or -EINVAL and *err. */
int options_write(struct settings *s, const char *text, struct err *err);
/* The options that the current tracer has, a line each, "no" before those that are off. free() it. */
char *options_read(const struct settings *s);
/* "0" or "1". */
int options_write_one(struct settings *s, enum trace_option o, const char *text, struct err *err);
void options_set_mode(struct settings *s, enum buffer_mode mode);
