/* SPDX-License-Identifier: MIT */
/* Triggers of an instance. One whose variables another one reads holds the instance, and the kernel
 * does not remove it. What the kernel refuses is explained here, too. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Removes all triggers of the instance's events, those that read others' variables first. Reads the
 * file of every event: for an instance that cannot be removed otherwise. */
void kernel_triggers_clear(const char *dir);
/* Removes one, dir/file's, by the text that it was written with. False: it is read by another. */
bool kernel_triggers_remove(const char *dir, const char *file, const char *text);
/* Whether the file, of an instance, takes triggers. */
bool kernel_trigger_is_file(const char *file);
/* Before a write to one: empties the instance's error_log, since the kernel does not tell of every
 * refusal there. */
void kernel_trigger_prepare(const char *dir);
/* The sentence for a write that the kernel answered with e, -errno; top: the kernel's tracing
 * directory. May try the trigger's filter alone, on an event that has none. Returns e. */
int kernel_trigger_refused(const char *top, const char *dir, const char *file, const char *text,
			   int e, struct err *err);
