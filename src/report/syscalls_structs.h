/* SPDX-License-Identifier: MIT */
/* Memory that the arguments of system calls lead to, as text: between syscalls_lines.c and the
 * files that know a sort of structures. The bytes are a program's, as a record has them: a function
 * that wants more than there are prints nothing and returns false. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "event/syscall_names.h"
#include "report/syscalls_internal.h"

#define NAMED(constant) { (uint32_t)(constant), #constant }
#define NAMED_END { 0, NULL }

/* The memory that one argument leads to. */
struct syscalls_memory {
	struct syscalls *s;               /* has the names of descriptors */
	const struct syscalls_call *call;
	unsigned argument;                /* its number */
	const uint8_t *at;                /* n bytes; NULL: n is 0 */
	uint32_t n;
	bool given;                       /* after the call */
	int64_t result;                   /* then */
	const char *before; /* the argument's text before the call; NULL: it is that */
};

enum syscalls_moment {
	SYSCALLS_BEFORE = 1, SYSCALLS_GIVEN = 2,
	SYSCALLS_NOTE = 4, /* behind the result */
};

/* Prints the structure, by the kernel's names of the call and of the argument that leads to it;
 * false: nothing is printed. */
bool syscalls_print_struct(const struct syscalls_memory *m, enum syscalls_moment when,
			   const char *call, const char *argument, FILE *f);

/* One name; a number without one in hexadecimal. names NULL: none has one. */
void syscalls_print_name(const struct syscall_name *names, uint32_t v, FILE *f);
/* Names of bits, with a bar between; 0 for none. */
void syscalls_print_flags(const struct syscall_name *names, uint64_t v, FILE *f);
/* Bytes in hexadecimal, as C's string with its quotes. */
void syscalls_print_hex(const uint8_t *at, uint32_t n, FILE *f);
/* A descriptor of the call's process, with its name. */
void syscalls_print_descriptor(const struct syscalls_memory *m, int32_t fd, FILE *f);

/* syscalls_arguments.c: whether argument i of the call is shown; one that the call does not look at
 * is not. */
bool syscalls_is_shown(const struct syscalls_call *c, const char *call, unsigned i);
/* Prints an argument that is a number of a sort of its own; false: nothing is printed. */
bool syscalls_print_number_of(const struct syscalls_call *c, const char *call, unsigned i, FILE *f);
void syscalls_print_open_flags(uint64_t flags, FILE *f);
/* Prints what a result means that did not fail; false: nothing. */
bool syscalls_print_meaning(const struct syscalls_call *c, const char *call, int64_t result,
			    FILE *f);
enum syscalls_base { SYSCALLS_DECIMAL, SYSCALLS_HEXADECIMAL, SYSCALLS_OCTAL };
enum syscalls_base syscalls_result_base(const struct syscalls_call *c, const char *call);

/* syscalls_messages.c */
bool syscalls_print_address(const uint8_t *at, uint32_t n, FILE *f);
/* The bytes that structures iovec lead to, as many as a record has. */
struct syscalls_iov_data {
	const uint8_t *at;
	uint32_t n;
	bool known; /* false: they are still to be filled */
	bool whole; /* a call gave so many, and no more */
};
/* The structures iovec, of which there are `all`. */
void syscalls_print_vector(const uint8_t *at, uint32_t n, uint64_t all,
			   const struct syscalls_iov_data *data, FILE *f);
bool syscalls_print_message(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_message_room(const struct syscalls_memory *m, FILE *f);
void syscalls_print_level(uint32_t level, FILE *f);
void syscalls_print_option(uint32_t level, uint32_t option, FILE *f);
bool syscalls_print_option_value(const struct syscalls_memory *m, FILE *f);

/* syscalls_signals.c */
void syscalls_print_signal(int number, FILE *f);
bool syscalls_print_signals(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_signals_at(const struct syscalls_memory *m, FILE *f);
/* The first one: how a timer tells its end. */
bool syscalls_print_signal_event(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_action(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_signal_stack(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_signal_info(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_status(const struct syscalls_memory *m, FILE *f);

/* syscalls_waits.c */
bool syscalls_print_polls(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_polled(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_selects(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_selected(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_epolls(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_epoll(const struct syscalls_memory *m, FILE *f);

/* syscalls_system.c */
bool syscalls_print_stat(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_statx(const struct syscalls_memory *m, FILE *f);
/* The names of what statx is asked for. */
void syscalls_print_statx_mask(uint32_t mask, FILE *f);
bool syscalls_print_statfs(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_entries(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_lock(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_usage(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_limit(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_system(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_terminal(const struct syscalls_memory *m, FILE *f);
bool syscalls_print_clone(const struct syscalls_memory *m, FILE *f);
