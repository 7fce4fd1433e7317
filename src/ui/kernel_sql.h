/* SPDX-License-Identifier: MIT */
/* brace sql -K: a statement whose events are the kernel's, and which the kernel carries out itself,
 * by hist triggers and a synthetic event in an instance of brace's own. */
#pragma once
#include "sql/sql.h"
#include "ui/invocation.h"

/* Does the writes, waits for the program's end, Ctrl-C or --duration, and prints what the kernel
 * has then. question: the statement, for errors. The exit status (said): the program's, if there
 * is one. */
int kernel_sql(struct invocation *inv, const char *question, const struct sql_writes *w);
