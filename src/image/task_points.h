/* SPDX-License-Identifier: MIT */
/* The task events of a process (event/tasks.h): at which system calls it tells them, and when a
 * program begins. */
#pragma once
#include "event/event_set.h"
#include "shared/tasks.h"

/* The armed kinds, a bit each. */
uint32_t task_points_kinds(const struct event_set *set);
/* The number of the kind's event in the session, if it is armed; else TASK_NO_EVENT. */
uint32_t task_points_event(const struct event_set *set, enum task_event kind);
/* Whether any of these kinds is told at a system call of this number, before or behind it.
 * CALL_UNKNOWN: at any call. */
bool task_points_at(uint32_t kinds, uint32_t number, bool behind);
/* Whether any of these kinds is told when an executed program begins. */
bool task_points_at_begin(uint32_t kinds);
/* Bytes of the block below, a multiple of 8. */
uint32_t task_points_bytes(const struct event_set *set);
/* Writes the armed events and their filters for the agent. `to` has that many bytes, zeroed;
 * executable: the process maps it so. */
void task_points_write(const struct event_set *set, struct task_block *to, bool executable);
