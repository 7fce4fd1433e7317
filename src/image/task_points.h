/* SPDX-License-Identifier: MIT */
/* What a process is to tell of its threads and itself (event/tasks.h): at which system calls, and when it begins. */
#pragma once
#include "event/event_set.h"
#include "shared/tasks.h"

/* Which of them are armed, a bit each. */
uint32_t task_points_kinds(const struct event_set *set);
/* Its number in the session, if it is armed; else TASK_NO_EVENT. */
uint32_t task_points_event(const struct event_set *set, enum task_event kind);
/* Is any of these told at a system call of this number, before it, or behind it? CALL_UNKNOWN: at any. */
bool task_points_at(uint32_t kinds, uint32_t number, bool behind);
/* When a program begins that was executed? */
bool task_points_at_begin(uint32_t kinds);
/* Bytes of the block below, a multiple of 8. */
uint32_t task_points_bytes(const struct event_set *set);
/* For the agent: which are armed, with their filters. `to` has that many bytes, zeroed; executable: it will be, in the process. */
void task_points_write(const struct event_set *set, struct task_block *to, bool executable);
