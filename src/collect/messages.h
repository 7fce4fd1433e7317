/* SPDX-License-Identifier: MIT */
/* Messages that traced processes, and the tracer for them, left in the session memory for the
 * user. */
#pragma once
#include <sys/types.h>

#include "shared/messages.h"
#include "trace/trace_info.h"

/* Adds the messages of one session memory to info->messages; equal ones about one program become
 * one with a count. The memory may hold anything. */
void messages_take(const struct memory_messages *from, struct trace_info *info);
/* Adds a handler that is not probed, once for each name. reason: enum hook_reason, or
 * MESSAGE_NOT_HELD. */
void messages_add_handler(struct memory_messages *to, uint32_t reason, pid_t pid,
			  const char *handler);
/* Adds an event that is not probed everywhere, once for each name. reason: enum hook_reason. */
void messages_add_probe(struct memory_messages *to, uint32_t reason, pid_t pid, const char *event);
/* Notes a file that cannot be opened, once for each name. code: errno. */
void messages_add_file(struct memory_messages *to, int code, pid_t pid, const char *module);
/* Notes that a process has ended that was attached. status: as waitpid gives it, -1: not known. */
void messages_add_ended(struct memory_messages *to, int status, pid_t pid, const char *program);
/* Notes something about a process that could not do so itself. */
void messages_add(struct memory_messages *to, enum message_kind kind, pid_t pid,
		  const char *program);
