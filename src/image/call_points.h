/* SPDX-License-Identifier: MIT */
/* System calls as places to be probed at: what probes.c asks of a file whose instructions it keeps. */
#pragma once
#include "hook/syscalls.h"
#include "image/probes.h"

/* Brings their events into the catalogue, unless they are there. */
void call_points_catalogue(struct event_catalogue *c);
/* Does the set want records of this one, a system call's? */
bool call_points_want(const struct event_set *set, const struct event_entry *e);
/* Of any? */
bool call_points_wanted(const struct event_set *set);
/* May the file make any? (Some bytes look like one.) */
bool call_points_possible(const uint8_t *bytes, size_t n);
/* Two places of each call that the set wants records of. */
void call_points_add(const hook_syscall_list *calls, const struct event_set *set, probe_points *out);
