/* SPDX-License-Identifier: MIT */
/* The structure that an argument of a system call leads to; small ones: numbers, lists, times.
 * The others are in syscalls_messages.c, syscalls_signals.c, syscalls_waits.c and
 * syscalls_system.c. syscalls_lines.c calls it at the begin of a call, and at its end for what it
 * gave. No state; nothing fails. Any thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "report/syscalls_structs.h"

/* "long": bits above the 32nd are shown. The tables of event/syscall_names.h end by a row without a
 * name. */
void syscalls_print_flags(const struct syscall_name *names, uint64_t v, FILE *f)
{
	syscall_named_text(&(struct syscall_named){ .flags = names }, "long", v, f);
}

void syscalls_print_name(const struct syscall_name *names, uint32_t v, FILE *f)
{
	static const struct syscall_name none[] = { NAMED_END };

	syscall_named_text(
		&(struct syscall_named){ .low = UINT32_MAX, .symbols = names ? names : none },
		"int", v, f);
}

void syscalls_print_hex(const uint8_t *at, uint32_t n, FILE *f)
{
	fputc('"', f);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "\\x%02x", at[i]);
	fputc('"', f);
}

static bool print_address(const struct syscalls_memory *m, FILE *f)
{
	uint32_t n = m->n;

	/* An address that the kernel gave is as long as the kernel said. */
	if (m->after && m->call->length && m->call->length < n)
		n = m->call->length;
	return syscalls_print_address(m->at, n, f);
}

/* --- times ------------------------------------------------------------------------------- */

/* A structure of two numbers: seconds, and `part`. */
static void print_seconds(const uint8_t *at, const char *part, FILE *f)
{
	int64_t t[2];

	memcpy(t, at, sizeof(t));
	fprintf(f, "{tv_sec=%" PRId64 ", %s=%" PRId64 "}", t[0], part, t[1]);
}

/* struct timespec and struct timeval: two words of 64 bits each. */
#define TIME_BYTES 16

static bool print_time(const struct syscalls_memory *m, FILE *f)
{
	if (m->n < TIME_BYTES)
		return false;
	print_seconds(m->at, "tv_nsec", f);
	return true;
}

static bool print_micro(const struct syscalls_memory *m, FILE *f)
{
	if (m->n < TIME_BYTES)
		return false;
	print_seconds(m->at, "tv_usec", f);
	return true;
}

/* The kernel's ppoll, pselect6 and recvmmsg write the time that was left into their argument
 * (poll(2), select(2): "C library/kernel differences"). It stands behind the result. */
static bool print_left(const struct syscalls_memory *m, FILE *f)
{
	fputs("left ", f);
	return print_time(m, f);
}

/* select has a struct timeval where print_left() has a struct timespec. */
static bool print_micro_left(const struct syscalls_memory *m, FILE *f)
{
	fputs("left ", f);
	return print_micro(m, f);
}

static bool print_interval(const struct syscalls_memory *m, const char *part, FILE *f)
{
	if (m->n < 2 * TIME_BYTES)
		return false;
	fputs("{it_interval=", f);
	print_seconds(m->at, part, f);
	fputs(", it_value=", f);
	print_seconds(m->at + TIME_BYTES, part, f);
	fputc('}', f);
	return true;
}

static bool print_timer(const struct syscalls_memory *m, FILE *f)
{
	return print_interval(m, "tv_nsec", f);
}

static bool print_micro_timer(const struct syscalls_memory *m, FILE *f)
{
	return print_interval(m, "tv_usec", f);
}

/* A file's times, where two numbers of nanoseconds have a meaning of their own. They are UTIME_NOW
 * and UTIME_OMIT (utimensat(2)); the seconds beside them are not read by the kernel, and are not
 * shown. */
static bool print_file_times(const struct syscalls_memory *m, FILE *f)
{
	int64_t t[2];

	if (m->n < 2 * TIME_BYTES)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		memcpy(t, m->at + TIME_BYTES * i, sizeof(t));
		fputs(i ? ", " : "[", f);
		if (t[1] == UTIME_NOW || t[1] == UTIME_OMIT)
			fputs(t[1] == UTIME_NOW ? "UTIME_NOW" : "UTIME_OMIT", f);
		else
			print_seconds(m->at + TIME_BYTES * i, "tv_nsec", f);
	}
	fputc(']', f);
	return true;
}

/* utimes: a number of microseconds has no values for UTIME_NOW and UTIME_OMIT. */
static bool print_micro_times(const struct syscalls_memory *m, FILE *f)
{
	if (m->n < 2 * TIME_BYTES)
		return false;
	fputc('[', f);
	print_seconds(m->at, "tv_usec", f);
	fputs(", ", f);
	print_seconds(m->at + TIME_BYTES, "tv_usec", f);
	fputc(']', f);
	return true;
}

/* --- numbers ----------------------------------------------------------------------------- */

/* Prints the numbers that were copied, of `all`. A number has 32 bits, as int, uid_t and gid_t
 * have. `all` may be anything that a program has passed: it is compared, and never used as a
 * size. */
static void print_numbers(const struct syscalls_memory *m, uint64_t all, FILE *f)
{
	int32_t v;
	uint32_t i;

	fputc('[', f);
	for (i = 0; i + sizeof(v) <= m->n; i += (uint32_t)sizeof(v)) {
		memcpy(&v, m->at + i, sizeof(v));
		fprintf(f, "%s%" PRId32, i ? ", " : "", v);
	}
	fputs(i / sizeof(v) < all ? ", ...]" : "]", f);
}

/* A single number behind a pointer is shown as a list of one, as strace does. all is 0, so that no
 * dots follow. Of struct sched_param, which is one int, the same text comes out. */
static bool print_number(const struct syscalls_memory *m, FILE *f)
{
	if (m->n < sizeof(int32_t))
		return false;
	print_numbers(m, 0, f);
	return true;
}

/* sendfile(2) moves the offset by its result. Where that is 0, both texts would be the same, and
 * one is shown. */
static bool print_offset(const struct syscalls_memory *m, FILE *f)
{
	int64_t v;

	if (m->n < sizeof(v))
		return false;
	memcpy(&v, m->at, sizeof(v));
	/* Before and after stand side by side. */
	if (m->after && m->result)
		fprintf(f, "%s => ", m->before);
	fprintf(f, "[%" PRId64 "]", v);
	return true;
}

static bool print_groups(const struct syscalls_memory *m, FILE *f)
{
	/* getgroups(0) asks for no groups and is told how many there are. */
	if (m->after && !m->call->args[0])
		return false;
	print_numbers(m, m->after ? (uint64_t)m->result : (uint32_t)m->call->args[0], f);
	return true;
}

/* Two new descriptors. pipe(2), socketpair(2): the kernel writes both or none. */
static bool print_two(const struct syscalls_memory *m, FILE *f)
{
	int32_t two[2];

	if (m->n < sizeof(two))
		return false;
	memcpy(two, m->at, sizeof(two));
	fputc('[', f);
	syscalls_print_descriptor(m, two[0], f);
	fputs(", ", f);
	syscalls_print_descriptor(m, two[1], f);
	fputc(']', f);
	return true;
}

/* The processors of a mask, as numbers. The kernel's mask is words of 64 bits, lowest bit first,
 * which on a little-endian machine is an array of bytes. */
static bool print_processors(const struct syscalls_memory *m, FILE *f)
{
	const char *before = "";

	fputc('[', f);
	for (uint32_t i = 0; i < 8 * m->n; i++)
		if (m->at[i / 8] >> i % 8 & 1) {
			fprintf(f, "%s%" PRIu32, before, i);
			before = " ";
		}
	fputc(']', f);
	return true;
}

/* Prints the number of strings of an environment, behind its address. The record has the number in
 * place of the strings. */
static bool print_variables(const struct syscalls_memory *m, FILE *f)
{
	uint32_t n;

	if (m->n < sizeof(n))
		return false;
	memcpy(&n, m->at, sizeof(n));
	fprintf(f, "0x%" PRIx64 " /* %" PRIu32 " var%s */", m->call->args[m->argument], n,
		n == 1 ? "" : "s");
	return true;
}

/* getrandom may give fewer bytes than it was asked for, and the record may have fewer yet. */
static bool print_random(const struct syscalls_memory *m, FILE *f)
{
	syscalls_print_hex(m->at, m->n, f);
	fputs(m->n < m->result ? "..." : "", f);
	return true;
}

/* The second argument of prctl is a string with PR_SET_NAME alone. */
static bool print_process_name(const struct syscalls_memory *m, FILE *f)
{
	uint32_t option = (uint32_t)m->call->args[0];

	if (option != PR_SET_NAME)
		return false;
	syscalls_print_quoted(m->at, (uint32_t)strnlen((const char *)m->at, m->n), f);
	return true;
}

/* --- nodes of memory --------------------------------------------------------------------- */

/* A mask of nodes: the kernel takes one bit less than it is told, in whole words. `bits` is the
 * call's maxnode (mbind(2)), a number that a program may choose: the loop ends with the copy,
 * whatever it says. 0 and 1 are masks of no node. */
static bool print_mask(const struct syscalls_memory *m, uint64_t bits, FILE *f)
{
	const uint64_t words = bits > 1 ? (bits - 2) / 64 + 1 : 0;
	uint64_t word;

	if (!words || m->n < sizeof(word))
		return false;
	for (uint64_t i = 0; i < words && i < m->n / sizeof(word); i++) {
		memcpy(&word, m->at + i * sizeof(word), sizeof(word));
		fprintf(f, "%s%#0*" PRIx64, i ? ", " : "[", 16, word);
	}
	fputs(words > m->n / sizeof(word) ? ", ...]" : "]", f);
	return true;
}

static bool print_nodes(const struct syscalls_memory *m, FILE *f)
{
	return print_mask(m, m->call->args[2], f);
}

static bool print_bound_nodes(const struct syscalls_memory *m, FILE *f)
{
	return print_mask(m, m->call->args[4], f);
}

static bool print_moved_nodes(const struct syscalls_memory *m, FILE *f)
{
	return print_mask(m, m->call->args[1], f);
}

static bool print_policy(const struct syscalls_memory *m, FILE *f)
{
	const struct syscall_named *names = syscall_named("mbind", "mode");
	uint32_t policy;

	if (!names || m->n < sizeof(policy))
		return false;
	memcpy(&policy, m->at, sizeof(policy));
	fputc('[', f);
	/* MPOL_F_NODE asks for a node. */
	if (m->call->args[4] & 1)
		fprintf(f, "%#" PRIx32, policy);
	else
		syscall_named_text(names, "int", policy, f);
	fputc(']', f);
	return true;
}

/* move_pages: addresses of pages, as many as the second argument says. The record may have
 * fewer. */
static bool print_pages(const struct syscalls_memory *m, FILE *f)
{
	const uint64_t all = m->call->args[1], n = m->n / sizeof(uint64_t);
	uint64_t page;

	if (!n)
		return false;
	for (uint64_t i = 0; i < all && i < n; i++) {
		memcpy(&page, m->at + i * sizeof(page), sizeof(page));
		fprintf(f, page ? "%s%#" PRIx64 : "%sNULL", i ? ", " : "[", page);
	}
	fputs(n < all ? ", ...]" : "]", f);
	return true;
}

static bool print_page_nodes(const struct syscalls_memory *m, FILE *f)
{
	print_numbers(m, m->call->args[1], f);
	return true;
}

/* A page's node, or why it was not moved. The kernel writes an errno below 0 in the place of the
 * node. INT32_MIN has no positive number, and no name. */
static bool print_page_states(const struct syscalls_memory *m, FILE *f)
{
	const uint64_t all = m->call->args[1], n = m->n / sizeof(int32_t);
	int32_t state;

	fputc('[', f);
	for (uint64_t i = 0; i < all && i < n; i++) {
		memcpy(&state, m->at + i * sizeof(state), sizeof(state));
		fputs(i ? ", " : "", f);
		if (state < 0 && state > INT32_MIN && strerrorname_np(-state))
			fprintf(f, "-%s", strerrorname_np(-state));
		else
			fprintf(f, "%" PRId32, state);
	}
	fputs(n < all ? ", ...]" : "]", f);
	return true;
}

/* --- the table --------------------------------------------------------------------------- */

/* By the kernel's names of calls and their arguments (event/syscall_copies.c has the copies). */
static const struct {
	const char *call, *argument;
	unsigned when; /* enum syscalls_phase, one or more */
	syscalls_printer *print;
} structs[] = {
	{ "connect", "uservaddr", SYSCALLS_BEFORE, print_address },
	{ "bind", "umyaddr", SYSCALLS_BEFORE, print_address },
	{ "sendto", "addr", SYSCALLS_BEFORE, print_address },
	{ "sendto", "buff", SYSCALLS_BEFORE, syscalls_print_netlink_bytes },
	{ "recvfrom", "ubuf", SYSCALLS_AFTER, syscalls_print_netlink_bytes },
	{ "recvfrom", "addr", SYSCALLS_AFTER, print_address },
	{ "recvfrom", "addr_len", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_number },
	{ "accept", "upeer_sockaddr", SYSCALLS_AFTER, print_address },
	{ "accept", "upeer_addrlen", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_number },
	{ "accept4", "upeer_sockaddr", SYSCALLS_AFTER, print_address },
	{ "accept4", "upeer_addrlen", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_number },
	{ "getsockname", "usockaddr", SYSCALLS_AFTER, print_address },
	{ "getsockname", "usockaddr_len", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_number },
	{ "getpeername", "usockaddr", SYSCALLS_AFTER, print_address },
	{ "getpeername", "usockaddr_len", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_number },
	{ "getsockopt", "optlen", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_number },
	{ "getsockopt", "optval", SYSCALLS_AFTER, syscalls_print_option_value },
	{ "setsockopt", "optval", SYSCALLS_BEFORE, syscalls_print_option_value },
	{ "sendmsg", "msg", SYSCALLS_BEFORE, syscalls_print_message },
	{ "recvmsg", "msg", SYSCALLS_BEFORE, syscalls_print_message_room },
	{ "recvmsg", "msg", SYSCALLS_AFTER, syscalls_print_message },
	{ "sendmmsg", "mmsg", SYSCALLS_BEFORE | SYSCALLS_AFTER, syscalls_print_sent_messages },
	{ "recvmmsg", "mmsg", SYSCALLS_AFTER, syscalls_print_received_messages },
	{ "recvmmsg", "timeout", SYSCALLS_BEFORE, print_time },
	{ "nanosleep", "rqtp", SYSCALLS_BEFORE, print_time },
	{ "clock_nanosleep", "rqtp", SYSCALLS_BEFORE, print_time },
	{ "clock_settime", "tp", SYSCALLS_BEFORE, print_time },
	{ "futex", "utime", SYSCALLS_BEFORE, print_time },
	{ "ppoll", "tsp", SYSCALLS_BEFORE, print_time },
	{ "pselect6", "tsp", SYSCALLS_BEFORE, print_time },
	{ "rt_sigtimedwait", "uts", SYSCALLS_BEFORE, print_time },
	{ "epoll_pwait2", "timeout", SYSCALLS_BEFORE, print_time },
	{ "clock_gettime", "tp", SYSCALLS_AFTER, print_time },
	{ "clock_getres", "tp", SYSCALLS_AFTER, print_time },
	{ "gettimeofday", "tv", SYSCALLS_AFTER, print_micro },
	{ "select", "tvp", SYSCALLS_BEFORE, print_micro },
	{ "utimensat", "utimes", SYSCALLS_BEFORE, print_file_times },
	{ "utimes", "utimes", SYSCALLS_BEFORE, print_micro_times },
	{ "setitimer", "value", SYSCALLS_BEFORE, print_micro_timer },
	{ "setitimer", "ovalue", SYSCALLS_AFTER, print_micro_timer },
	{ "getitimer", "value", SYSCALLS_AFTER, print_micro_timer },
	{ "timer_settime", "new_setting", SYSCALLS_BEFORE, print_timer },
	{ "timer_settime", "old_setting", SYSCALLS_AFTER, print_timer },
	{ "timer_gettime", "setting", SYSCALLS_AFTER, print_timer },
	{ "timerfd_settime", "utmr", SYSCALLS_BEFORE, print_timer },
	{ "timerfd_settime", "otmr", SYSCALLS_AFTER, print_timer },
	{ "timerfd_gettime", "otmr", SYSCALLS_AFTER, print_timer },
	{ "timer_create", "timer_event_spec", SYSCALLS_BEFORE, syscalls_print_signal_event },
	{ "timer_create", "created_timer_id", SYSCALLS_AFTER, print_number },
	{ "newstat", "statbuf", SYSCALLS_AFTER, syscalls_print_stat },
	{ "newlstat", "statbuf", SYSCALLS_AFTER, syscalls_print_stat },
	{ "newfstat", "statbuf", SYSCALLS_AFTER, syscalls_print_stat },
	{ "newfstatat", "statbuf", SYSCALLS_AFTER, syscalls_print_stat },
	{ "statx", "buffer", SYSCALLS_AFTER, syscalls_print_statx },
	{ "statfs", "buf", SYSCALLS_AFTER, syscalls_print_statfs },
	{ "fstatfs", "buf", SYSCALLS_AFTER, syscalls_print_statfs },
	{ "getdents64", "dirent", SYSCALLS_AFTER, syscalls_print_entries },
	{ "fcntl", "arg", SYSCALLS_BEFORE | SYSCALLS_AFTER, syscalls_print_lock },
	{ "sendfile64", "offset", SYSCALLS_BEFORE | SYSCALLS_AFTER, print_offset },
	{ "pipe", "fildes", SYSCALLS_AFTER, print_two },
	{ "pipe2", "fildes", SYSCALLS_AFTER, print_two },
	{ "socketpair", "usockvec", SYSCALLS_AFTER, print_two },
	{ "wait4", "stat_addr", SYSCALLS_AFTER, syscalls_print_status },
	{ "wait4", "ru", SYSCALLS_AFTER, syscalls_print_usage },
	{ "waitid", "infop", SYSCALLS_AFTER, syscalls_print_signal_info },
	{ "waitid", "ru", SYSCALLS_AFTER, syscalls_print_usage },
	{ "getrusage", "ru", SYSCALLS_AFTER, syscalls_print_usage },
	{ "execve", "envp", SYSCALLS_BEFORE, print_variables },
	{ "execveat", "envp", SYSCALLS_BEFORE, print_variables },
	{ "clone3", "uargs", SYSCALLS_BEFORE, syscalls_print_clone },
	{ "prctl", "arg2", SYSCALLS_BEFORE, print_process_name },
	{ "getrlimit", "rlim", SYSCALLS_AFTER, syscalls_print_limit },
	{ "setrlimit", "rlim", SYSCALLS_BEFORE, syscalls_print_limit },
	{ "prlimit64", "new_rlim", SYSCALLS_BEFORE, syscalls_print_limit },
	{ "prlimit64", "old_rlim", SYSCALLS_AFTER, syscalls_print_limit },
	{ "newuname", "name", SYSCALLS_AFTER, syscalls_print_system },
	{ "sysinfo", "info", SYSCALLS_AFTER, syscalls_print_system },
	{ "times", "tbuf", SYSCALLS_AFTER, syscalls_print_system },
	{ "capget", "header", SYSCALLS_BEFORE, syscalls_print_rights_header },
	{ "capget", "dataptr", SYSCALLS_AFTER, syscalls_print_rights },
	{ "capset", "header", SYSCALLS_BEFORE, syscalls_print_rights_header },
	{ "capset", "data", SYSCALLS_BEFORE, syscalls_print_rights },
	{ "getresuid", "ruidp", SYSCALLS_AFTER, print_number },
	{ "getresuid", "euidp", SYSCALLS_AFTER, print_number },
	{ "getresuid", "suidp", SYSCALLS_AFTER, print_number },
	{ "getresgid", "rgidp", SYSCALLS_AFTER, print_number },
	{ "getresgid", "egidp", SYSCALLS_AFTER, print_number },
	{ "getresgid", "sgidp", SYSCALLS_AFTER, print_number },
	{ "sched_getparam", "param", SYSCALLS_AFTER, print_number },
	{ "sched_setparam", "param", SYSCALLS_BEFORE, print_number },
	{ "sched_setscheduler", "param", SYSCALLS_BEFORE, print_number },
	{ "getgroups", "grouplist", SYSCALLS_AFTER, print_groups },
	{ "setgroups", "grouplist", SYSCALLS_BEFORE, print_groups },
	{ "sched_getaffinity", "user_mask_ptr", SYSCALLS_AFTER, print_processors },
	{ "sched_setaffinity", "user_mask_ptr", SYSCALLS_BEFORE, print_processors },
	{ "getrandom", "ubuf", SYSCALLS_AFTER, print_random },
	{ "mbind", "nmask", SYSCALLS_BEFORE, print_bound_nodes },
	{ "set_mempolicy", "nmask", SYSCALLS_BEFORE, print_nodes },
	{ "get_mempolicy", "policy", SYSCALLS_AFTER, print_policy },
	{ "get_mempolicy", "nmask", SYSCALLS_AFTER, print_nodes },
	{ "migrate_pages", "old_nodes", SYSCALLS_BEFORE, print_moved_nodes },
	{ "migrate_pages", "new_nodes", SYSCALLS_BEFORE, print_moved_nodes },
	{ "move_pages", "pages", SYSCALLS_BEFORE, print_pages },
	{ "move_pages", "nodes", SYSCALLS_BEFORE, print_page_nodes },
	{ "move_pages", "status", SYSCALLS_AFTER, print_page_states },
	{ "ioctl", "arg", SYSCALLS_BEFORE | SYSCALLS_AFTER, syscalls_print_terminal },
	{ "rt_sigaction", "act", SYSCALLS_BEFORE, syscalls_print_action },
	{ "rt_sigaction", "oact", SYSCALLS_AFTER, syscalls_print_action },
	{ "rt_sigprocmask", "nset", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "rt_sigsuspend", "unewset", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "rt_sigtimedwait", "uthese", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "signalfd4", "user_mask", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "ppoll", "sigmask", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "epoll_pwait", "sigmask", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "epoll_pwait2", "sigmask", SYSCALLS_BEFORE, syscalls_print_signals },
	{ "rt_sigprocmask", "oset", SYSCALLS_AFTER, syscalls_print_signals },
	{ "rt_sigpending", "uset", SYSCALLS_AFTER, syscalls_print_signals },
	{ "pselect6", "sig", SYSCALLS_BEFORE, syscalls_print_signals_at },
	{ "rt_sigtimedwait", "uinfo", SYSCALLS_AFTER, syscalls_print_signal_info },
	{ "sigaltstack", "uss", SYSCALLS_BEFORE, syscalls_print_signal_stack },
	{ "sigaltstack", "uoss", SYSCALLS_AFTER, syscalls_print_signal_stack },
	{ "poll", "ufds", SYSCALLS_BEFORE, syscalls_print_polls },
	{ "poll", "ufds", SYSCALLS_NOTE, syscalls_print_polled },
	{ "ppoll", "ufds", SYSCALLS_BEFORE, syscalls_print_polls },
	{ "ppoll", "ufds", SYSCALLS_NOTE, syscalls_print_polled },
	{ "ppoll", "tsp", SYSCALLS_NOTE, print_left },
	{ "pselect6", "tsp", SYSCALLS_NOTE, print_left },
	{ "recvmmsg", "timeout", SYSCALLS_NOTE, print_left },
	{ "select", "tvp", SYSCALLS_NOTE, print_micro_left },
	{ "select", "inp", SYSCALLS_BEFORE, syscalls_print_selects },
	{ "select", "inp", SYSCALLS_NOTE, syscalls_print_selected },
	{ "select", "outp", SYSCALLS_BEFORE, syscalls_print_selects },
	{ "select", "outp", SYSCALLS_NOTE, syscalls_print_selected },
	{ "select", "exp", SYSCALLS_BEFORE, syscalls_print_selects },
	{ "select", "exp", SYSCALLS_NOTE, syscalls_print_selected },
	{ "pselect6", "inp", SYSCALLS_BEFORE, syscalls_print_selects },
	{ "pselect6", "inp", SYSCALLS_NOTE, syscalls_print_selected },
	{ "pselect6", "outp", SYSCALLS_BEFORE, syscalls_print_selects },
	{ "pselect6", "outp", SYSCALLS_NOTE, syscalls_print_selected },
	{ "pselect6", "exp", SYSCALLS_BEFORE, syscalls_print_selects },
	{ "pselect6", "exp", SYSCALLS_NOTE, syscalls_print_selected },
	{ "epoll_ctl", "event", SYSCALLS_BEFORE, syscalls_print_epoll },
	{ "epoll_wait", "events", SYSCALLS_AFTER, syscalls_print_epolls },
	{ "epoll_pwait", "events", SYSCALLS_AFTER, syscalls_print_epolls },
	{ "epoll_pwait2", "events", SYSCALLS_AFTER, syscalls_print_epolls },
};

/* A call's argument may have a row for each phase; the first that fits counts. The table is
 * searched from its beginning: that is done for calls that are printed, not for those that are
 * added up. */
bool syscalls_print_struct(const struct syscalls_memory *m, enum syscalls_phase when,
			   const char *call, const char *argument, FILE *f)
{
	for (size_t i = 0; i < sizeof(structs) / sizeof(*structs); i++)
		if (structs[i].when & when && !strcmp(structs[i].call, call) &&
		    !strcmp(structs[i].argument, argument))
			return structs[i].print(m, f);
	return false;
}
