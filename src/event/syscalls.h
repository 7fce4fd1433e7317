/* SPDX-License-Identifier: MIT */
/* System calls as events: raw_syscalls:sys_enter and sys_exit, and for each call
 * syscalls:sys_enter_NAME and sys_exit_NAME, with the fields of Linux 6.12 on x86-64. */
#pragma once
#include "event/catalogue.h"

#define SYSCALL_NUMBERS 512u /* every number is smaller */
#define SYSCALL_ARGS 6u

struct syscall_info {
	uint16_t number;
	const char *name;      /* newstat: the name of the kernel's function, not of the number */
	const char *arguments; /* "unsigned int fd, char * buf": type, blank, name */
};

/* Returns all calls by number, *n of them; unused numbers are left out. */
const struct syscall_info *syscalls_all(size_t *n);
/* Returns the call with this number; NULL: the kernel has no event for it. */
const struct syscall_info *syscall_by_number(uint32_t number);
/* Returns the call whose events have this name; NULL: there is none on this machine. */
const struct syscall_info *syscall_by_name(const char *name);

/* Records of these events from offset 8 on, as their formats say. */
struct syscall_raw_enter { int64_t id; uint64_t args[SYSCALL_ARGS]; };
struct syscall_raw_exit { int64_t id, ret; };
/* as many as the call has */
struct syscall_enter { int32_t nr, zero; uint64_t args[SYSCALL_ARGS]; };
struct syscall_exit { int32_t nr, zero; int64_t ret; };

struct syscall_events { const struct event_entry *enter, *exit; };

/* Every program has them. */
extern const struct event_provider syscalls_provider;
/* (tests) Returns the events of a number, if they were added; both NULL: it has none. */
struct syscall_events syscalls_find(struct event_catalogue *c, uint32_t number);
