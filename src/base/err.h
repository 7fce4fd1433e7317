/* SPDX-License-Identifier: MIT */
/* One error: an errno for the program, one sentence for the user, and, where the
 * fault lies in a text the user wrote, that text and the column. Functions that can
 * fail take a struct err and return 0 or -errno; only src/ui prints it. */
#pragma once
#include <stddef.h>

struct err {
	int code;         /* positive errno; 0 = no error */
	char text[512];   /* what is wrong, where, what to do; no newline */
	char input[256];  /* the text at fault, or "" */
	size_t column;    /* 0-based byte in input where the caret stands */
};

/* Both return -code, so that callers can `return err_set(...)`. e may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_at(struct err *e, int code, const char *input, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* err_at(), but of an input that is too long the part around the column is kept, and the column is
 * that of the part. */
int err_at_part(struct err *e, int code, const char *input, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Changes the errno and leaves the sentence. Returns -code. */
int err_code(struct err *e, int code);
/* Puts "prefix: " before the sentence. Returns -e->code. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
