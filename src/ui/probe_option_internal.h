/* SPDX-License-Identifier: MIT */
/* A definition of -e while its lines are made, shared by probe_option.c and function_option.c on
 * the main thread. */
#pragma once
#include "image/source_probe.h"
#include "ui/invocation.h"

/* One definition, as its words. */
struct probe_option {
	const struct invocation *inv;
	const char *text;
	char *made;               /* `text`, where brace has made it; to be freed */
	char *place;              /* "malloc+4%return", "libc:malloc", "work.c:12" */
	const char *in_file;      /* its end, behind the module */
	size_t head, column;      /* of the first word's end, of the place */
	size_t arguments;         /* of the place's end */
	struct err *err;
};

/* Sets *o->err: the fault is at the place, wherever in the text that stands. Never 0. */
int probe_option_fault(const struct probe_option *o, const char *what, const char *name);
/* Finds the file whose code the place is, and cuts it off: o->in_file. NULL and *o->err. */
char *probe_option_file(struct probe_option *o);
/* Makes the lines of f:NAME [MODULE:]GLOB[%return] FETCHARG..., one for each function, and says
 * which are left out. 0, or -errno and *o->err. */
int function_option_lines(struct probe_option *o, source_lines *out);
