/* SPDX-License-Identifier: MIT */
/* Where calls stand in the source, as text: "price.c:12 <-main.c:31", the function and the place of
 * its call. The debug information of the files that the trace names tells it, as they are now; a
 * file that is gone, or is another one than was traced, tells nothing. */
#pragma once
#include "base/err.h"
#include "base/out.h"
#include "trace/trace_info.h"

struct source_text;

/* info is a trace file's, outlives it and does not grow. source_text_free() frees it. */
struct source_text *source_text_new(const struct trace_info *info);
void source_text_free(struct source_text *t); /* NULL is fine */
/* Prints the text of a call of the function, behind a blank. site: where it was called, as in
 * records; 0: not known. `out` NULL: prints nothing. Returns false if nothing is known. */
bool source_text_print(struct source_text *t, struct out *out, uint32_t image, uint32_t fn,
		       uint32_t site, uint64_t tsc);
/* As declared_failure(): this computer could not read a file that may have told more. */
int source_text_failure(const struct source_text *t, struct err *err);
