/* SPDX-License-Identifier: MIT */
/* The writes to a tree's files that a boot configuration stands for, in the kernel's order
 * (Documentation/trace/boottime-trace.rst, kernel/trace/trace_boot.c): the keys kernel.* first,
 * then ftrace.*, then each instance; in each the settings, the events, the filters, the tracer. */
#pragma once
#include "config/bootconfig.h"

/* `echo TEXT > FILE`, or `>> FILE`. Paths are relative to the tree. */
struct config_write {
	char *instance;          /* made before the write if it is not there; NULL: the top */
	char *file, *text;
	bool append;
	size_t at;               /* the key or the value in the configuration */
};

/* A key that stands for no write, and why. */
struct config_remark { size_t at; char *text; };

struct config_writes {
	VEC(struct config_write) all;
	VEC(struct config_remark) remarks;
};

/* Fills *w, which need not be initialised. What is not understood is a remark, as the kernel goes
 * on. The configuration need not outlive the writes. */
void config_writes(const struct bootconfig *c, struct config_writes *w);
void config_writes_free(struct config_writes *w);
