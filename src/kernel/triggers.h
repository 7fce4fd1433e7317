/* SPDX-License-Identifier: MIT */
/* Triggers that stand in an instance: one whose variables another one reads holds the instance, and
 * the kernel does not remove it. */
#pragma once
#include <stdbool.h>

/* Removes all triggers of the instance's events, those that read others' variables first. Reads the
 * file of every event: for an instance that cannot be removed otherwise. */
void kernel_triggers_clear(const char *dir);
/* Removes one, dir/file's, by the text that it was written with. False: it is read by another. */
bool kernel_triggers_remove(const char *dir, const char *file, const char *text);
