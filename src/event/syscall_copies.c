/* SPDX-License-Identifier: MIT */
/* Constant tables, by the names that the kernel gives to calls and arguments: so they hold for
 * every machine. syscalls.c makes fields of the copies, image/call_points.c tells the agent. An
 * argument whose call is not in a table has no copy. Any thread; nothing fails. */
#include "event/syscall_copies.h"

#include <stdio.h>
#include <string.h>

/* A text that ends with a NUL is what an argument of one of these names leads to, if its type is
 * char *. The kernel's prototypes are consistent there. A call that has no text under one of these
 * names (sethostname has a length beside it) stands in the table below. */
static const char *const texts[] = {
	"filename",      "pathname",    "path",     "oldname",      "newname",
	"from_pathname", "to_pathname", "new_root", "put_old",      "name",
	"specialfile",   "special",     "dev_name", "dir_name",     "type",
	"name_user",     "u_name",      "uname",    "_fs_name",     "_key",
	"_type",         "_description", "_callout_info",
};

/* Other copies: of the call, the argument; as many elements as the argument `count` says, or a
 * structure of 4-byte elements, or after the call as many bytes as it returned. */
struct copied {
	const char *call, *argument;
	enum call_copy_length length; /* without the number of the argument `count` */
	uint8_t elements;
	bool behind;
	const char *count;
};

#define BYTES(call, argument, count) { call, argument, CALL_COPY_BYTES, 0, false, count }
#define WORDS(call, argument, count) { call, argument, CALL_COPY_WORDS, 0, false, count }
#define PAIRS(call, argument, count) { call, argument, CALL_COPY_PAIRS, 0, false, count }
#define STRUCT(call, argument, bytes) \
	{ call, argument, CALL_COPY_FIXED, (bytes) / 4, false, NULL }
#define GATHER(call, argument, count) { call, argument, CALL_COPY_GATHER, 0, false, count }
#define INTS(call, argument, count) { call, argument, CALL_COPY_INTS, 0, false, count }
#define BITS(call, argument, count) { call, argument, CALL_COPY_BITS, 0, false, count }
#define OTHER(call, argument, how) { call, argument, how, 0, false, NULL }
#define GIVES(call, argument) { call, argument, CALL_COPY_RESULT, 0, true, NULL }
#define GIVES_STRUCT(call, argument, bytes) \
	{ call, argument, CALL_COPY_FIXED, (bytes) / 4, true, NULL }
#define GIVES_ARRAY(call, argument, bytes) \
	{ call, argument, CALL_COPY_RETURNED, (bytes) / 4, true, NULL }
#define GIVES_AS(call, argument, how, count) { call, argument, how, 0, true, count }

/* Sizes of the kernel's structures (uapi), which the agent copies without their headers. They are
 * the 64-bit ABI's. */
/* Two of them are x86-64's alone: struct stat has 128 bytes where asm-generic/stat.h is used, and
 * struct epoll_event, which x86-64 packs (EPOLL_PACKED), has 16. */
#define TIME_BYTES 16
#define STAT_BYTES 144
#define ADDRESS_BYTES 112 /* struct sockaddr_un, in whole elements */
/* Most calls that take a set of signals take its size, too, and refuse any other than this. */
#define SET_BYTES 8      /* of signals */
#define ACTION_BYTES 32  /* the kernel's struct sigaction */
#define SIGNAL_BYTES 48  /* of siginfo_t, what has names */
#define USAGE_BYTES 144
#define EPOLL_BYTES 12
/* The kernel's struct termios has 19 control characters; the C library's is another one, of 32. */
#define TERMIOS_BYTES 36
#define LOCK_BYTES 32
/* CLONE_ARGS_SIZE_VER2 of linux/sched.h. Programs may pass the shorter structures of before. */
#define CLONE_BYTES 88
#define LIMIT_BYTES 16
#define OPTION_BYTES 16  /* of a socket */

static const struct copied copied[] = {
	BYTES("write", "buf", "count"),
	BYTES("pwrite64", "buf", "count"),
	BYTES("sendto", "buff", "len"),
	BYTES("sendto", "addr", "addr_len"),
	BYTES("connect", "uservaddr", "addrlen"),
	BITS("mbind", "nmask", "maxnode"),
	BITS("set_mempolicy", "nmask", "maxnode"),
	BITS("migrate_pages", "old_nodes", "maxnode"),
	BITS("migrate_pages", "new_nodes", "maxnode"),
	WORDS("move_pages", "pages", "nr_pages"),
	INTS("move_pages", "nodes", "nr_pages"),
	BYTES("bind", "umyaddr", "addrlen"),
	BYTES("setsockopt", "optval", "optlen"),
	BYTES("mq_timedsend", "u_msg_ptr", "msg_len"),
	BYTES("sethostname", "name", "len"),
	BYTES("setdomainname", "name", "len"),
	BYTES("setxattr", "value", "size"),
	BYTES("lsetxattr", "value", "size"),
	BYTES("fsetxattr", "value", "size"),
	WORDS("poll", "ufds", "nfds"),
	WORDS("ppoll", "ufds", "nfds"),
	PAIRS("writev", "vec", "vlen"),
	GATHER("writev", "vec", "vlen"),
	PAIRS("readv", "vec", "vlen"),
	PAIRS("pwritev", "vec", "vlen"),
	GATHER("pwritev", "vec", "vlen"),
	PAIRS("preadv", "vec", "vlen"),
	PAIRS("pwritev2", "vec", "vlen"),
	GATHER("pwritev2", "vec", "vlen"),
	PAIRS("preadv2", "vec", "vlen"),
	OTHER("sendmsg", "msg", CALL_COPY_MESSAGE),
	OTHER("sendmmsg", "mmsg", CALL_COPY_MESSAGES),
	STRUCT("recvmsg", "msg", 16),
	STRUCT("recvmmsg", "timeout", TIME_BYTES),
	OTHER("execve", "argv", CALL_COPY_STRINGS),
	OTHER("execve", "envp", CALL_COPY_COUNT),
	OTHER("execveat", "argv", CALL_COPY_STRINGS),
	OTHER("execveat", "envp", CALL_COPY_COUNT),
	STRUCT("clone3", "uargs", CLONE_BYTES),
	/* Before these calls the length is the buffer's. The kernel replaces it by that of the
	 * address: so it is copied again behind the call. */
	STRUCT("accept", "upeer_addrlen", 4),
	STRUCT("accept4", "upeer_addrlen", 4),
	STRUCT("getsockname", "usockaddr_len", 4),
	STRUCT("getpeername", "usockaddr_len", 4),
	STRUCT("getsockopt", "optlen", 4),
	STRUCT("nanosleep", "rqtp", TIME_BYTES),
	STRUCT("clock_nanosleep", "rqtp", TIME_BYTES),
	STRUCT("clock_settime", "tp", TIME_BYTES),
	STRUCT("futex", "utime", TIME_BYTES),
	STRUCT("ppoll", "tsp", TIME_BYTES),
	STRUCT("ppoll", "sigmask", SET_BYTES),
	BITS("select", "inp", "n"),
	BITS("select", "outp", "n"),
	BITS("select", "exp", "n"),
	STRUCT("select", "tvp", TIME_BYTES),
	BITS("pselect6", "inp", "n"),
	BITS("pselect6", "outp", "n"),
	BITS("pselect6", "exp", "n"),
	STRUCT("pselect6", "tsp", TIME_BYTES),
	/* The kernel's sixth argument leads to the set's address and its size (select(2), "C
	 * library/kernel differences"). */
	OTHER("pselect6", "sig", CALL_COPY_SIGNALS_AT),
	STRUCT("utimensat", "utimes", 2 * TIME_BYTES),
	STRUCT("utimes", "utimes", 2 * TIME_BYTES),
	STRUCT("setitimer", "value", 2 * TIME_BYTES),
	STRUCT("timer_create", "timer_event_spec", 16),
	STRUCT("timer_settime", "new_setting", 2 * TIME_BYTES),
	STRUCT("timerfd_settime", "utmr", 2 * TIME_BYTES),
	STRUCT("epoll_ctl", "event", EPOLL_BYTES),
	STRUCT("epoll_pwait", "sigmask", SET_BYTES),
	STRUCT("epoll_pwait2", "timeout", TIME_BYTES),
	STRUCT("epoll_pwait2", "sigmask", SET_BYTES),
	STRUCT("rt_sigaction", "act", ACTION_BYTES),
	STRUCT("rt_sigprocmask", "nset", SET_BYTES),
	STRUCT("rt_sigsuspend", "unewset", SET_BYTES),
	STRUCT("rt_sigtimedwait", "uthese", SET_BYTES),
	STRUCT("rt_sigtimedwait", "uts", TIME_BYTES),
	STRUCT("signalfd4", "user_mask", SET_BYTES),
	STRUCT("sigaltstack", "uss", 24),
	/* _LINUX_CAPABILITY_VERSION_3: the data are two structures of 12 bytes. */
	STRUCT("capget", "header", 8),
	STRUCT("capset", "header", 8),
	STRUCT("capset", "data", 24),
	STRUCT("setrlimit", "rlim", LIMIT_BYTES),
	STRUCT("prlimit64", "new_rlim", LIMIT_BYTES),
	STRUCT("sched_setscheduler", "param", 4),
	STRUCT("sched_setparam", "param", 4),
	BYTES("sched_setaffinity", "user_mask_ptr", "len"),
	INTS("setgroups", "grouplist", "gidsetsize"),
	STRUCT("sendfile64", "offset", 8),
	/* An argument of these three is an address for some of their commands alone. The copy of a
	 * number as an address finds nothing there, or means nothing: readers look at the command
	 * first. */
	STRUCT("fcntl", "arg", LOCK_BYTES),
	STRUCT("ioctl", "arg", TERMIOS_BYTES),
	STRUCT("prctl", "arg2", 16),
	GIVES("read", "buf"),
	GIVES("pread64", "buf"),
	GIVES("recvfrom", "ubuf"),
	GIVES("readlink", "buf"),
	GIVES("readlinkat", "buf"),
	GIVES("getcwd", "buf"),
	GIVES("getrandom", "ubuf"),
	GIVES("getdents64", "dirent"),
	GIVES("sched_getaffinity", "user_mask_ptr"),
	/* A vector has two rows: the addresses and lengths, then the bytes there. The order of the
	 * rows is that of the copies. */
	GIVES_AS("readv", "vec", CALL_COPY_PAIRS, "vlen"),
	GIVES_AS("readv", "vec", CALL_COPY_SCATTER, "vlen"),
	GIVES_AS("preadv", "vec", CALL_COPY_PAIRS, "vlen"),
	GIVES_AS("preadv", "vec", CALL_COPY_SCATTER, "vlen"),
	GIVES_AS("preadv2", "vec", CALL_COPY_PAIRS, "vlen"),
	GIVES_AS("preadv2", "vec", CALL_COPY_SCATTER, "vlen"),
	GIVES_AS("recvmsg", "msg", CALL_COPY_MESSAGE_RETURNED, NULL),
	/* The kernel writes msg_len into each message that it sent. */
	GIVES_AS("sendmmsg", "mmsg", CALL_COPY_MESSAGES, NULL),
	GIVES_AS("recvmmsg", "mmsg", CALL_COPY_MESSAGES_RETURNED, NULL),
	GIVES_STRUCT("recvmmsg", "timeout", TIME_BYTES),
	GIVES_AS("poll", "ufds", CALL_COPY_WORDS, "nfds"),
	GIVES_AS("ppoll", "ufds", CALL_COPY_WORDS, "nfds"),
	/* Linux writes the time that was left; the C library hides that of ppoll and pselect from
	 * programs. */
	GIVES_STRUCT("ppoll", "tsp", TIME_BYTES),
	GIVES_AS("select", "inp", CALL_COPY_BITS, "n"),
	GIVES_AS("select", "outp", CALL_COPY_BITS, "n"),
	GIVES_AS("select", "exp", CALL_COPY_BITS, "n"),
	GIVES_STRUCT("select", "tvp", TIME_BYTES),
	GIVES_AS("pselect6", "inp", CALL_COPY_BITS, "n"),
	GIVES_AS("pselect6", "outp", CALL_COPY_BITS, "n"),
	GIVES_AS("pselect6", "exp", CALL_COPY_BITS, "n"),
	GIVES_STRUCT("pselect6", "tsp", TIME_BYTES),
	GIVES_ARRAY("epoll_wait", "events", EPOLL_BYTES),
	GIVES_ARRAY("epoll_pwait", "events", EPOLL_BYTES),
	GIVES_ARRAY("epoll_pwait2", "events", EPOLL_BYTES),
	GIVES_ARRAY("getgroups", "grouplist", 4),
	GIVES_AS("statx", "buffer", CALL_COPY_STATX, NULL),
	GIVES_AS("newuname", "name", CALL_COPY_UTSNAME, NULL),
	GIVES_STRUCT("statfs", "buf", 120),
	GIVES_STRUCT("fstatfs", "buf", 120),
	GIVES_STRUCT("getrusage", "ru", USAGE_BYTES),
	GIVES_STRUCT("capget", "dataptr", 24),
	GIVES_STRUCT("sysinfo", "info", 112),
	GIVES_STRUCT("times", "tbuf", 32),
	GIVES_STRUCT("getrlimit", "rlim", LIMIT_BYTES),
	GIVES_STRUCT("prlimit64", "old_rlim", LIMIT_BYTES),
	GIVES_STRUCT("getresuid", "ruidp", 4),
	GIVES_STRUCT("getresuid", "euidp", 4),
	GIVES_STRUCT("getresuid", "suidp", 4),
	GIVES_STRUCT("getresgid", "rgidp", 4),
	GIVES_STRUCT("getresgid", "egidp", 4),
	GIVES_STRUCT("getresgid", "sgidp", 4),
	GIVES_STRUCT("sched_getparam", "param", 4),
	GIVES_STRUCT("rt_sigaction", "oact", ACTION_BYTES),
	GIVES_STRUCT("rt_sigprocmask", "oset", SET_BYTES),
	GIVES_STRUCT("rt_sigpending", "uset", SET_BYTES),
	GIVES_STRUCT("rt_sigtimedwait", "uinfo", SIGNAL_BYTES),
	GIVES_STRUCT("sigaltstack", "uoss", 24),
	GIVES_STRUCT("waitid", "infop", SIGNAL_BYTES),
	GIVES_STRUCT("get_mempolicy", "policy", 4),
	GIVES_AS("get_mempolicy", "nmask", CALL_COPY_BITS, "maxnode"),
	GIVES_AS("move_pages", "status", CALL_COPY_INTS, "nr_pages"),
	STRUCT("recvfrom", "addr_len", 4),
	GIVES_STRUCT("recvfrom", "addr", ADDRESS_BYTES),
	GIVES_STRUCT("recvfrom", "addr_len", 4),
	GIVES_STRUCT("waitid", "ru", USAGE_BYTES),
	GIVES_STRUCT("setitimer", "ovalue", 2 * TIME_BYTES),
	GIVES_STRUCT("getitimer", "value", 2 * TIME_BYTES),
	GIVES_STRUCT("timer_settime", "old_setting", 2 * TIME_BYTES),
	GIVES_STRUCT("timer_gettime", "setting", 2 * TIME_BYTES),
	GIVES_STRUCT("timerfd_settime", "otmr", 2 * TIME_BYTES),
	GIVES_STRUCT("timerfd_gettime", "otmr", 2 * TIME_BYTES),
	GIVES_STRUCT("timer_create", "created_timer_id", 4),
	GIVES_STRUCT("clock_getres", "tp", TIME_BYTES),
	GIVES_STRUCT("gettimeofday", "tv", TIME_BYTES),
	GIVES_STRUCT("sendfile64", "offset", 8),
	GIVES_STRUCT("fcntl", "arg", LOCK_BYTES),
	GIVES_STRUCT("ioctl", "arg", TERMIOS_BYTES),
	GIVES_STRUCT("getsockopt", "optval", OPTION_BYTES),
	GIVES_STRUCT("getsockopt", "optlen", 4),
	GIVES_STRUCT("newstat", "statbuf", STAT_BYTES),
	GIVES_STRUCT("newlstat", "statbuf", STAT_BYTES),
	GIVES_STRUCT("newfstat", "statbuf", STAT_BYTES),
	GIVES_STRUCT("newfstatat", "statbuf", STAT_BYTES),
	GIVES_STRUCT("pipe", "fildes", 8),
	GIVES_STRUCT("pipe2", "fildes", 8),
	GIVES_STRUCT("socketpair", "usockvec", 8),
	GIVES_STRUCT("clock_gettime", "tp", TIME_BYTES),
	GIVES_STRUCT("wait4", "stat_addr", 4),
	GIVES_STRUCT("wait4", "ru", USAGE_BYTES),
	GIVES_STRUCT("accept", "upeer_sockaddr", ADDRESS_BYTES),
	GIVES_STRUCT("accept4", "upeer_sockaddr", ADDRESS_BYTES),
	GIVES_STRUCT("getsockname", "usockaddr", ADDRESS_BYTES),
	GIVES_STRUCT("getpeername", "usockaddr", ADDRESS_BYTES),
	GIVES_STRUCT("accept", "upeer_addrlen", 4),
	GIVES_STRUCT("accept4", "upeer_addrlen", 4),
	GIVES_STRUCT("getsockname", "usockaddr_len", 4),
	GIVES_STRUCT("getpeername", "usockaddr_len", 4),
};

#define NAME_BYTES 64

/* Counted by commas: the table has the kernel's own prototype as a text. */
unsigned syscall_arguments(const struct syscall_info *s)
{
	unsigned n = *s->arguments != '\0';

	for (const char *c = s->arguments; *c; c++)
		n += *c == ',';
	return n;
}

/* i counts from 0. type and name have n bytes each and may be NULL; what does not fit is cut. */
void syscall_argument(const struct syscall_info *s, unsigned i, char *type, char *name, size_t n)
{
	const char *at = s->arguments, *end, *blank;

	for (; i && strchr(at, ','); i--)
		at = strchr(at, ',') + 1;
	at += *at == ' ';
	end = at + strcspn(at, ",");
	/* The name is the last word, the type all before it. */
	for (blank = end; blank > at && blank[-1] != ' '; blank--)
		continue;
	if (type)
		snprintf(type, n, "%.*s", (int)(blank > at ? blank - 1 - at : 0), at);
	if (name)
		snprintf(name, n, "%.*s", (int)(end - blank), blank);
}

/* The number of the argument; CALL_ARGUMENTS: there is none of that name. */
static unsigned argument_number(const struct syscall_info *s, const char *wanted)
{
	unsigned n = syscall_arguments(s);
	char name[NAME_BYTES];

	for (unsigned i = 0; i < n; i++) {
		syscall_argument(s, i, NULL, name, sizeof(name));
		if (strcmp(name, wanted) == 0)
			return i;
	}
	return CALL_ARGUMENTS;
}

/* A char * of another name is a buffer: its bytes need not end with a NUL. */
static bool is_text(const char *type, const char *name)
{
	if (strcmp(type, "const char *") != 0 && strcmp(type, "char *") != 0)
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(texts[i], name) == 0)
			return true;
	return false;
}

/* The first, or the one behind `before`; NULL: the table has no such copy. */
static const struct copied *copied_of(const struct syscall_info *s, const char *argument,
				      bool behind, const struct copied *before)
{
	for (size_t i = before ? (size_t)(before - copied) + 1 : 0;
	     i < sizeof(copied) / sizeof(*copied); i++)
		if (copied[i].behind == behind && strcmp(copied[i].call, s->name) == 0 &&
		    strcmp(copied[i].argument, argument) == 0)
			return &copied[i];
	return NULL;
}

/* Whether argument i has a first or a second copy, and how long it is. The number of an argument
 * and of pieces share a byte with the kind: enum call_copy_length leaves the lower bits free for
 * them. */
static bool is_copied(const struct syscall_info *s, unsigned i, bool behind, bool second,
		      uint8_t *length)
{
	char type[NAME_BYTES], name[NAME_BYTES];
	const struct copied *c;

	syscall_argument(s, i, type, name, NAME_BYTES);
	c = copied_of(s, name, behind, NULL);
	if (second)
		c = c ? copied_of(s, name, behind, c) : NULL;
	/* An argument that is not in the table has a copy only if it is a text. */
	if (c)
		*length = (uint8_t)(c->length |
				    (c->count ? argument_number(s, c->count) : c->elements));
	else
		*length = CALL_COPY_STRING;
	return c || (!behind && !second && is_text(type, name));
}

/* For the test: each row's call and arguments are there. */
bool syscall_copies_are_right(size_t *rows)
{
	size_t n;
	const struct syscall_info *all = syscalls_all(&n);

	*rows = sizeof(copied) / sizeof(*copied);
	for (size_t i = 0; i < *rows; i++) {
		size_t k = 0;

		while (k < n && strcmp(all[k].name, copied[i].call) != 0)
			k++;
		if (k == n || argument_number(&all[k], copied[i].argument) == CALL_ARGUMENTS ||
		    (copied[i].count &&
		     argument_number(&all[k], copied[i].count) == CALL_ARGUMENTS))
			return false;
	}
	return true;
}

/* Returns the number of copies, at most CALL_COPIES. behind: those that are made at the return, of
 * what the kernel has filled in. The order is that of the event's fields, which readers count by.
 * Each argument is asked twice, for a vector has two copies. */
unsigned syscall_copies(const struct syscall_info *s, bool behind,
			struct call_copy copies[CALL_COPIES])
{
	unsigned n = syscall_arguments(s), found = 0;
	uint8_t length;

	for (unsigned i = 0; i < 2 * n && found < CALL_COPIES; i++)
		if (is_copied(s, i / 2, behind, i % 2, &length))
			copies[found++] = (struct call_copy){ (uint8_t)(i / 2 + 1), length };
	return found;
}
