/* SPDX-License-Identifier: MIT */
/* Shared by parse.c and translate.c: how a fault in the statement is told. */
#pragma once
#include "sql/sql.h"

/* Sets *err: the sentence, the text's line at fault, and the column in it. Returns -EINVAL. */
int sql_fault(const char *text, size_t at, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
