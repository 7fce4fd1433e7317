/* SPDX-License-Identifier: MIT */
/* What traced processes left in the session memory for the user. */
#pragma once
#include <sys/types.h>

#include "shared/notes.h"
#include "trace/trace_info.h"

/* Adds what one session memory has to info->notes: the same about the same program becomes one note. The memory may hold
 * anything. */
void notes_take(const struct memory_notes *from, struct trace_info *info);
/* A handler that is not probed, once for each name. reason: enum hook_reason, or NOTE_NOT_HELD. */
void notes_add_handler(struct memory_notes *to, uint32_t reason, pid_t pid, const char *handler);
/* A file that is not had, once for each name. code: errno. */
void notes_add_file(struct memory_notes *to, int code, pid_t pid, const char *module);
/* For a process that could not say it itself. */
void notes_add(struct memory_notes *to, enum note_kind kind, pid_t pid, const char *program);
