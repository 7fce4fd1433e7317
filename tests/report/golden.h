/* The kernel's own outputs, made fit for comparison: what user space has no data for
 * (return values, interrupt flags, markers) is taken out of them, and nothing else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct golden {
	char *path, *name; /* name: after the kernel and the tracer, without .txt */
	char *text;        /* as compared */
	uint64_t options;  /* as its name and contents say */
};

/* A whole file; free() it. Without it, or with nothing in it, the test ends. */
char *golden_file(const char *path);
/* Every golden file of this tracer ("function", "function_graph"), by name. */
typedef VEC(struct golden) golden_list;
void golden_load(golden_list *list, const char *folder, const char *tracer);
void golden_free(golden_list *list);

/* Why a file cannot be made from our events at all; NULL: it can. */
const char *golden_refused(const char *name);
/* Prints both lines where the texts part; true when they are the same. prefix: `want` may
 * end early. */
bool golden_same(const struct golden *g, const char *got, bool prefix);
