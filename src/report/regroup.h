/* SPDX-License-Identifier: MIT */
/* A summary's input in which calls count for other rows than their functions': those of the
 * functions that made them, of modules, of processes. Each thread of the trace is followed by
 * itself, as in all summaries. */
#pragma once
#include "model/function_list.h"
#include "report/summary.h"

enum regroup_by {
	REGROUP_CALLERS, /* calls of some functions, by the function that made them */
	REGROUP_CALLEES, /* calls that some functions made, by the function that was called */
	REGROUP_MODULE,
	REGROUP_FILE,    /* of the source, by debug information; a module without: in brackets */
	REGROUP_LINE,    /* the line of the source where the function's name stands */
	REGROUP_PROCESS,
};

struct regroup;

/* Reads through `inner`, which is copied; its info must not change. functions: those that CALLERS
 * and CALLEES are about; NULL for the others. regroup_free() frees it. */
struct regroup *regroup_new(const struct summary_input *inner, enum regroup_by by,
			    const struct function_list *functions);
void regroup_free(struct regroup *g);
/* 0, or why functions have no FILE or LINE that a file tells: declared_failure(). */
int regroup_failure(const struct regroup *g, struct err *err);
/* Whether the trace has any of the functions. */
bool regroup_has_functions(const struct regroup *g);
/* Valid as long as *g. */
struct summary_input regroup_input(struct regroup *g);
