/* SPDX-License-Identifier: MIT */
/* System calls as events: raw_syscalls:sys_enter and sys_exit, and for each call syscalls:sys_enter_NAME and
 * sys_exit_NAME, with the fields of Linux 6.12 on x86-64. */
#pragma once
#include "event/catalogue.h"

#define SYSCALL_NUMBERS 512u /* every number is smaller */
#define SYSCALL_ARGS 6u

struct syscall_info {
	uint16_t number;
	const char *name;      /* newstat: the kernel's function, not the number's name */
	const char *arguments; /* "unsigned int fd, char * buf": type, blank, name */
};

/* By number; *n of them. Numbers that no call has are not among them. */
const struct syscall_info *syscalls_all(size_t *n);
/* NULL: the kernel has no event for it. */
const struct syscall_info *syscall_by_number(uint32_t number);

/* Events' records, from offset 8 on: what the fields of their formats say. */
struct syscall_raw_enter { int64_t id; uint64_t args[SYSCALL_ARGS]; };
struct syscall_raw_exit { int64_t id, ret; };
struct syscall_enter { int32_t nr, zero; uint64_t args[SYSCALL_ARGS]; }; /* as many as the call has */
struct syscall_exit { int32_t nr, zero; int64_t ret; };

struct syscall_events { const struct event_entry *enter, *exit; };

/* Puts all of them into the catalogue. 0 or -errno of events_add_format. */
int syscalls_add(struct event_catalogue *c, struct err *err);
/* Of a number, when they were put in; both NULL: it has none. */
struct syscall_events syscalls_find(struct event_catalogue *c, uint32_t number);
