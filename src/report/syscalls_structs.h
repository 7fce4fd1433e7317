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
	bool after;                       /* after the call */
	int64_t result;                   /* then */
	const char *before; /* the argument's text before the call; NULL: it is that */
};

enum syscalls_phase {
	SYSCALLS_BEFORE = 1, SYSCALLS_AFTER = 2,
	SYSCALLS_NOTE = 4, /* behind the result */
};

/* Prints the structure, by the kernel's names of the call and of the argument that leads to it;
 * false: nothing is printed. */
bool syscalls_print_struct(const struct syscalls_memory *m, enum syscalls_phase when,
			   const char *call, const char *argument, FILE *f);

/* Prints the name of a number; in hexadecimal where it has none. names NULL: none has one. */
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

/* Every function below that takes a struct syscalls_memory has this shape: it prints the structures
 * at m->at to f as strace does, keeps neither, and returns true. False: fewer bytes are there than
 * the structure has, or the call does not use it; nothing is printed then. Of an array the whole
 * elements are printed that are there. A row of `structs` (syscalls_structs.c) names the call and
 * the argument; the comment here says what the bytes are. */
typedef bool syscalls_printer(const struct syscalls_memory *m, FILE *f);

/* --- syscalls_messages.c ---------------------------------------------------------------------- */

/* A socket address of n bytes, by its family; false: the family is not known, or n is too small. */
bool syscalls_print_address(const uint8_t *at, uint32_t n, FILE *f);
/* The bytes that structures iovec lead to, as many as a record has. */
struct syscalls_iov_data {
	const uint8_t *at;
	uint32_t n;
	bool known; /* false: they are still to be filled */
	bool whole; /* a call gave so many, and no more */
	unsigned netlink; /* 1 and the protocol of a socket of netlink; 0: of another file */
	uint64_t all; /* netlink: bytes that the call sent or received */
};
/* The structures iovec, of which there are `all`, and n bytes are at hand. */
void syscalls_print_vector(const uint8_t *at, uint32_t n, uint64_t all,
			   const struct syscalls_iov_data *data, FILE *f);
/* struct msghdr with what it leads to: of sendmsg before the call, of recvmsg after it. */
syscalls_printer syscalls_print_message;
/* struct msghdr of recvmsg before the call: addresses and lengths alone are known. */
syscalls_printer syscalls_print_message_room;
/* struct mmsghdr of sendmmsg, and of recvmmsg after the call, as CALL_COPY_MESSAGES has them. */
syscalls_printer syscalls_print_sent_messages;
syscalls_printer syscalls_print_received_messages;
/* A level of setsockopt, and an option of that level, by name or number. */
void syscalls_print_level(uint32_t level, FILE *f);
void syscalls_print_option(uint32_t level, uint32_t option, FILE *f);
/* The value of a socket's option, by the call's level and option: numbers, struct linger, struct
 * timeval. */
syscalls_printer syscalls_print_option_value;

/* --- syscalls_netlink.c ----------------------------------------------------------------------- */

/* struct sockaddr_nl of n bytes; false: they are too few. */
bool syscalls_print_netlink_address(const uint8_t *at, uint32_t n, FILE *f);
/* The messages of a buffer that has `all` bytes, of which n are at hand; false: none is. */
bool syscalls_print_netlink(const uint8_t *at, uint32_t n, uint64_t all, unsigned protocol,
			    FILE *f);
/* The buffer of sendto, before the call, or of recvfrom, after it, if the socket is netlink's. */
syscalls_printer syscalls_print_netlink_bytes;

/* --- syscalls_signals.c ----------------------------------------------------------------------- */

/* A signal's name, or its number where it has none. */
void syscalls_print_signal(int number, FILE *f);
/* A signal set, as [INT TERM]. */
syscalls_printer syscalls_print_signals;
/* pselect6's structure of the address and the size of a signal set. */
syscalls_printer syscalls_print_signals_at;
/* struct sigevent of timer_create: how the timer tells its end. */
syscalls_printer syscalls_print_signal_event;
/* The kernel's struct sigaction. */
syscalls_printer syscalls_print_action;
/* struct sigaltstack (stack_t). */
syscalls_printer syscalls_print_signal_stack;
/* The part of a siginfo_t that waitid and rt_sigtimedwait fill in. */
syscalls_printer syscalls_print_signal_info;
/* The int of wait4: exited, killed, stopped or continued. */
syscalls_printer syscalls_print_status;

/* --- syscalls_waits.c ------------------------------------------------------------------------- */

/* The structures pollfd, with the events that are waited for. */
syscalls_printer syscalls_print_polls;
/* Behind the result: those of them that an event has come of. */
syscalls_printer syscalls_print_polled;
/* A descriptor set of select, before the call. */
syscalls_printer syscalls_print_selects;
/* Behind the result: the descriptors that are left in the set, with `in`, `out` or `except`. False
 * if none is. */
syscalls_printer syscalls_print_selected;
/* As many structures epoll_event as the call returned. */
syscalls_printer syscalls_print_epolls;
/* The struct epoll_event of epoll_ctl. */
syscalls_printer syscalls_print_epoll;

/* --- syscalls_rights.c ------------------------------------------------------------------------ */

/* The header and the sets of capabilities of capget and capset. */
syscalls_printer syscalls_print_rights_header;
syscalls_printer syscalls_print_rights;

/* --- syscalls_system.c ------------------------------------------------------------------------ */

/* A file's type and permissions. */
void syscalls_print_mode(uint32_t mode, FILE *f);
/* struct stat. */
syscalls_printer syscalls_print_stat;
/* struct statx: the fields that its mask says are filled. */
syscalls_printer syscalls_print_statx;
/* The names of what statx is asked for. */
void syscalls_print_statx_mask(uint32_t mask, FILE *f);
/* struct statfs. */
syscalls_printer syscalls_print_statfs;
/* The structures linux_dirent64 of a directory. */
syscalls_printer syscalls_print_entries;
/* struct flock of fcntl, for commands that take one; after the call, for those that ask. */
syscalls_printer syscalls_print_lock;
/* struct rusage. */
syscalls_printer syscalls_print_usage;
/* struct rlimit. */
syscalls_printer syscalls_print_limit;
/* The structures of uname, sysinfo and times, told apart by the size of the copy. */
syscalls_printer syscalls_print_system;
/* The argument of a terminal's ioctl: a number, or struct winsize. */
syscalls_printer syscalls_print_terminal;
/* struct clone_args of clone3. */
syscalls_printer syscalls_print_clone;
