/* What traced processes left in the session memory for the user. */
#pragma once
#include <sys/types.h>

#include "shared/notes.h"
#include "source/trace_info.h"

/* Brings info->notes up to date. The memory may hold anything. */
void notes_take(const struct memory_notes *from, struct trace_info *info);
/* A handler that is not probed, once for each name. reason: enum hook_reason, or NOTE_NOT_HELD. */
void notes_add_handler(struct memory_notes *to, uint32_t reason, pid_t pid, const char *handler);
/* For a process that could not say it itself. */
void notes_add(struct memory_notes *to, enum note_kind kind, pid_t pid, const char *program);
