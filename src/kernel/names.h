/* SPDX-License-Identifier: MIT */
/* Names of the kernel's threads, from its list of the tasks that it has recorded. */
#pragma once
#include "kernel/records.h"

/* Finds the name of a thread in `text`, the file saved_cmdlines: "TID NAME" lines; NULL is fine.
 * False: it is not there, and comm is unchanged. */
bool kernel_names_find(const char *text, uint32_t tid, char comm[TRACE_COMM]);
/* Renames the threads that were met, from tsc on, where the text has other names than they have. */
void kernel_names_apply(struct kernel_records *r, const char *text, uint64_t tsc);
