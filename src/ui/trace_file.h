/* SPDX-License-Identifier: MIT */
/* Opening a trace file, as replay, report and info do. */
#pragma once
#include "excerpt/excerpt.h"
#include "ui/invocation.h"

/* Opens the command's first operand, or trace.brace. Says what is wrong, and warns of a file that
 * was cut short. 0, or EXIT_BRACE. The caller closes *out. */
int trace_file_open(const struct invocation *inv, struct store_reader **out);
/* Shows from now on how much of it is read (ui/meter.h); trace_file_close() ends that. */
void trace_file_meter(const struct invocation *inv, struct store_reader *r);
/* store_close(), and the meter's end. NULL is fine. */
void trace_file_close(struct store_reader *r);
/* trace_file_open() of a file by name; NULL: trace.brace. */
int trace_file_open_path(const struct invocation *inv, const char *named,
			 struct store_reader **out);
/* The part of the file that the options of excerpt_options choose; everything without any. NULL and
 * *err: they choose what the file does not have, or it cannot be read. The caller closes it before
 * the reader. Does it give nothing, excerpt_source_is_empty() has the reason. */
struct source *trace_file_source(const struct invocation *inv, struct store_reader *r,
				 struct err *err);
/* trace_file_source(), with the beginnings of calls that were recorded only at their ends
 * (report/openings.h). *part: what excerpt_source_is_empty() is to be asked of. */
struct source *trace_file_openings(const struct invocation *inv, struct store_reader *r,
				   struct source **part, struct err *err);
/* Leaves the kernel's part of a trace of both out, and says so: for outputs that have no
 * place for it yet. `what`: "brace html". */
void trace_file_leave_kernel_out(struct store_reader *r, const char *what);
/* Warns of lost records, apart from the output. */
void trace_file_warn_of_losses(const struct trace_info *info);
