/* SPDX-License-Identifier: MIT */
/* The targets kernel and elsewhere share this: the kernel's part of a trace, with the symbols that
 * a target chooses, and the fields that begin each format. */
#pragma once
#include <stdlib.h>

#include "kernel/symbols.h"

#define KERNEL_COMMON_FIELDS                                              \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"       \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"       \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

struct kernel_part {
	struct trace_info *info; /* the caller's, as trace_info_new() gave it */
	struct trace_module all;
	struct kernel_used used;
	struct kernel_records records;
};

/* Must not be copied or moved afterwards. */
static inline void kernel_part_begin(struct kernel_part *p, struct trace_info *info,
				     const char *symbols)
{
	p->info = info;
	if (kernel_symbols_read(&p->all, symbols, NULL))
		abort();
	trace_info_add_kernel(info);
	kernel_used_init(&p->used, &p->all);
	kernel_records_init(&p->records, info, 0, &p->used);
}

/* Frees info, too. */
static inline void kernel_part_end(struct kernel_part *p)
{
	kernel_records_free(&p->records);
	kernel_used_free(&p->used);
	kernel_symbols_free(&p->all);
	trace_info_free(p->info);
}
