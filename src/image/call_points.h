/* SPDX-License-Identifier: MIT */
/* System calls as places for probes: the part of probes.c that knows the events of calls. */
#pragma once
#include "hook/syscalls.h"
#include "image/probes.h"

/* Whether the set wants records of any event of every program, for which a place in the code is
 * needed. */
bool call_points_wanted(const struct event_set *set);
/* Whether the file may make system calls. (Other bytes may look like one.) */
bool call_points_possible(const uint8_t *bytes, size_t n);
/* Adds places before and behind each call of which the set wants records. The points own their
 * programs. */
void call_points_add(const hook_syscall_list *calls, const struct event_set *set,
		     probe_points *out);
