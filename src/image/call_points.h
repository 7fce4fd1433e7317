/* SPDX-License-Identifier: MIT */
/* System calls as places for probes: the part of probes.c that knows the events of calls. */
#pragma once
#include "hook/syscalls.h"
#include "image/probes.h"

/* Adds the events of calls to the catalogue, unless they are there. */
void call_points_catalogue(struct event_catalogue *c);
/* Whether the set wants records of this event, and a system call is its place, or the
 * kernel tells of it. */
bool call_points_want(const struct event_set *set, const struct event_entry *e);
/* Whether the set wants records of any such event for which a place in the code is needed. */
bool call_points_wanted(const struct event_set *set);
/* Whether the file may make system calls. (Other bytes may look like one.) */
bool call_points_possible(const uint8_t *bytes, size_t n);
/* Adds places before and behind each call of which the set wants records. The points own their
 * programs. */
void call_points_add(const hook_syscall_list *calls, const struct event_set *set,
		     probe_points *out);
