/* SPDX-License-Identifier: MIT */
/* Arguments of system calls that another argument gives a sense: of fcntl, ioctl, prctl, futex and
 * their like, as strace writes them; and those that it leaves out, because the call does not look
 * at them. syscalls_lines.c calls it at the begin of a call. No state; nothing fails. Any
 * thread. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "report/syscalls_structs.h"

/* --- what is left out -------------------------------------------------------------------- */

static bool is_in(const uint32_t *list, size_t n, uint64_t v)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == (uint32_t)v)
			return true;
	return false;
}

#define IS_IN(list, v) is_in(list, sizeof(list) / sizeof(*(list)), v)

/* open(2): the mode counts only where a file may be made. O_TMPFILE includes O_DIRECTORY's bit, so
 * that both bits have to be there. */
static bool takes_mode(uint64_t flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

/* open and openat differ by the descriptor of the directory, which moves the others by one
 * place. */
static bool is_open_shown(const struct syscalls_call *c, unsigned i)
{
	return i != 2 || takes_mode(c->args[1]);
}

static bool is_openat_shown(const struct syscalls_call *c, unsigned i)
{
	return i != 3 || takes_mode(c->args[2]);
}

/* Commands that only ask have no third argument: the register holds what the program left in it.
 * ioctl's below have none either. */
static bool is_fcntl_shown(const struct syscalls_call *c, unsigned i)
{
	static const uint32_t alone[] = { F_GETFD,    F_GETFL,	     F_GETOWN,	  F_GETSIG,
					  F_GETLEASE, F_GETPIPE_SZ, F_GET_SEALS };

	return i != 2 || !IS_IN(alone, c->args[1]);
}

static bool is_ioctl_shown(const struct syscalls_call *c, unsigned i)
{
	static const uint32_t alone[] = { FIOCLEX, FIONCLEX, TIOCEXCL, TIOCNXCL, TIOCNOTTY };

	return i != 2 || !IS_IN(alone, c->args[1]);
}

/* mremap(2): the new address is read with MREMAP_FIXED. */
static bool is_mremap_shown(const struct syscalls_call *c, unsigned i)
{
	return i != 4 || c->args[3] & MREMAP_FIXED;
}

/* The upper half of an offset, which has its place in the lower one. The kernel takes it in two
 * registers for the sake of 32 bits (pos_l, pos_h); on 64 the upper one is shifted out and means
 * nothing. */
static bool is_vector_shown(const struct syscalls_call *c, unsigned i)
{
	return i != 4;
}

/* Addresses, times and numbers that an operation has no use for. The arguments are uaddr, op, val,
 * timeout or val2, uaddr2, val3 (futex(2)). The command is masked: FUTEX_PRIVATE_FLAG and
 * FUTEX_CLOCK_REALTIME change no argument's use. */
static bool is_futex_shown(const struct syscalls_call *c, unsigned i)
{
	switch (c->args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAKE: return i < 3;
	case FUTEX_WAIT: return i < 4;
	case FUTEX_WAIT_BITSET: return i != 4;
	case FUTEX_WAKE_BITSET: return i < 3 || i == 5;
	case FUTEX_LOCK_PI: return i < 2 || i == 3;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI: return i < 2;
	case FUTEX_REQUEUE: return i < 5;
	default: return true;
	}
}

/* prctl(2): the kernel reads one argument of these options, or none. Options that want zeros in the
 * others show them, since another value is an error. */
static bool is_prctl_shown(const struct syscalls_call *c, unsigned i)
{
	static const uint32_t of_one[] = { PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_SET_DUMPABLE,
					   PR_SET_KEEPCAPS,  PR_SET_NAME,      PR_GET_NAME,
					   PR_CAPBSET_READ,  PR_CAPBSET_DROP,  PR_SET_SECUREBITS,
					   PR_SET_TIMERSLACK, PR_SET_CHILD_SUBREAPER,
					   PR_GET_CHILD_SUBREAPER };
	static const uint32_t of_none[] = { PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_SECCOMP,
					    PR_GET_SECUREBITS, PR_GET_TIMERSLACK };

	return !i || (IS_IN(of_one, c->args[0]) ? i < 2 : !IS_IN(of_none, c->args[0]));
}

/* mknod(2): the device's number is read for special files of a device only. */
static bool is_device(uint64_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

static bool is_mknod_shown(const struct syscalls_call *c, unsigned i)
{
	return i != 2 || is_device(c->args[1]);
}

static bool is_mknodat_shown(const struct syscalls_call *c, unsigned i)
{
	return i != 3 || is_device(c->args[2]);
}

/* clone(2): flags and stack always, then parent_tid, child_tid and tls where a flag asks for them.
 * This is the order of x86-64; CLONE_BACKWARDS machines have tls before child_tid. */
static bool is_clone_shown(const struct syscalls_call *c, unsigned i)
{
	const uint64_t flags = c->args[0];

	return i < 2 || (i == 2 && flags & CLONE_PARENT_SETTID) ||
	       (i == 3 && flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) ||
	       (i == 4 && flags & CLONE_SETTLS);
}

static const struct {
	const char *call;
	bool (*shown)(const struct syscalls_call *c, unsigned i);
} left_out[] = {
	{ "open", is_open_shown },       { "openat", is_openat_shown },
	{ "fcntl", is_fcntl_shown },     { "ioctl", is_ioctl_shown },
	{ "mremap", is_mremap_shown },   { "futex", is_futex_shown },
	{ "prctl", is_prctl_shown },     { "clone", is_clone_shown },
	{ "mknod", is_mknod_shown },     { "mknodat", is_mknodat_shown },
	{ "preadv", is_vector_shown },   { "pwritev", is_vector_shown },
	{ "preadv2", is_vector_shown },  { "pwritev2", is_vector_shown },
};

/* Registers that the call does not read hold what the program left in them: shown, they would look
 * like arguments. All of a call that has no row are shown. */
bool syscalls_is_shown(const struct syscalls_call *c, const char *call, unsigned i)
{
	for (size_t k = 0; k < sizeof(left_out) / sizeof(*left_out); k++)
		if (strcmp(left_out[k].call, call) == 0)
			return left_out[k].shown(c, i);
	return true;
}

/* --- numbers ----------------------------------------------------------------------------- */

void syscalls_print_open_flags(uint64_t flags, FILE *f)
{
	syscall_named_text(syscall_named("open", "flags"), "int", flags, f);
}

/* The third argument of fcntl is flags, a number, or an address, by the command. False: an address,
 * or a number without a meaning here. */
static bool print_fcntl(const struct syscalls_call *c, FILE *f)
{
	static const uint32_t decimal[] = { F_DUPFD,  F_DUPFD_CLOEXEC, F_SETOWN,
					    F_SETSIG, F_SETLEASE,      F_SETPIPE_SZ };

	if (c->args[1] == F_SETFL)
		syscalls_print_open_flags(c->args[2], f);
	else if (c->args[1] == F_SETFD)
		fputs(c->args[2] == FD_CLOEXEC ? "FD_CLOEXEC" : c->args[2] ? "" : "0", f);
	else if (IS_IN(decimal, c->args[1]))
		fprintf(f, "%" PRId64, (int64_t)c->args[2]);
	else
		return false;
	return c->args[1] != F_SETFD || c->args[2] <= FD_CLOEXEC;
}

/* Values of PR_SET_DUMPABLE (SUID_DUMP_...), for which the kernel's header for programs has no
 * names. */
static const struct syscall_name dumpable[] = { { 0, "SUID_DUMP_DISABLE" },
						{ 1, "SUID_DUMP_USER" },
						{ 2, "SUID_DUMP_ROOT" }, NAMED_END };

static const struct syscall_name capabilities[] = {
	NAMED(CAP_CHOWN), NAMED(CAP_DAC_OVERRIDE), NAMED(CAP_DAC_READ_SEARCH), NAMED(CAP_FOWNER),
	NAMED(CAP_FSETID), NAMED(CAP_KILL), NAMED(CAP_SETGID), NAMED(CAP_SETUID),
	NAMED(CAP_SETPCAP), NAMED(CAP_LINUX_IMMUTABLE), NAMED(CAP_NET_BIND_SERVICE),
	NAMED(CAP_NET_BROADCAST), NAMED(CAP_NET_ADMIN), NAMED(CAP_NET_RAW), NAMED(CAP_IPC_LOCK),
	NAMED(CAP_IPC_OWNER), NAMED(CAP_SYS_MODULE), NAMED(CAP_SYS_RAWIO), NAMED(CAP_SYS_CHROOT),
	NAMED(CAP_SYS_PTRACE), NAMED(CAP_SYS_PACCT), NAMED(CAP_SYS_ADMIN), NAMED(CAP_SYS_BOOT),
	NAMED(CAP_SYS_NICE), NAMED(CAP_SYS_RESOURCE), NAMED(CAP_SYS_TIME),
	NAMED(CAP_SYS_TTY_CONFIG), NAMED(CAP_MKNOD), NAMED(CAP_LEASE), NAMED(CAP_AUDIT_WRITE),
	NAMED(CAP_AUDIT_CONTROL), NAMED(CAP_SETFCAP), NAMED(CAP_MAC_OVERRIDE),
	NAMED(CAP_MAC_ADMIN), NAMED(CAP_SYSLOG), NAMED(CAP_WAKE_ALARM), NAMED(CAP_BLOCK_SUSPEND),
	NAMED(CAP_AUDIT_READ), NAMED(CAP_PERFMON), NAMED(CAP_BPF), NAMED(CAP_CHECKPOINT_RESTORE),
	NAMED_END };

/* The second argument, by the option. */
static bool print_prctl(const struct syscalls_call *c, FILE *f)
{
	switch ((uint32_t)c->args[0]) {
	case PR_SET_PDEATHSIG:
		syscalls_print_signal((int)c->args[1], f);
		return true;
	case PR_SET_DUMPABLE:
		syscalls_print_name(dumpable, (uint32_t)c->args[1], f);
		return true;
	case PR_CAPBSET_READ: case PR_CAPBSET_DROP:
		syscalls_print_name(capabilities, (uint32_t)c->args[1], f);
		return true;
	case PR_SET_KEEPCAPS: case PR_SET_TIMERSLACK: case PR_SET_CHILD_SUBREAPER:
	case PR_SET_NO_NEW_PRIVS: case PR_SET_THP_DISABLE:
		fprintf(f, "%" PRIu64, c->args[1]);
		return true;
	default: return false;
	}
}

/* The third argument of socket(2) is a number of another list for each family; other families have
 * no names here. */
static bool print_protocol(const struct syscalls_call *c, FILE *f)
{
	static const struct syscall_name protocols[] = {
		NAMED(IPPROTO_IP), NAMED(IPPROTO_ICMP), NAMED(IPPROTO_IGMP), NAMED(IPPROTO_TCP),
		NAMED(IPPROTO_UDP), NAMED(IPPROTO_IPV6), NAMED(IPPROTO_ICMPV6), NAMED(IPPROTO_SCTP),
		NAMED(IPPROTO_UDPLITE), NAMED(IPPROTO_MPTCP), NAMED(IPPROTO_RAW), NAMED_END };
	static const struct syscall_name families[] = {
		NAMED(NETLINK_ROUTE), NAMED(NETLINK_SOCK_DIAG), NAMED(NETLINK_XFRM),
		NAMED(NETLINK_SELINUX), NAMED(NETLINK_AUDIT), NAMED(NETLINK_FIB_LOOKUP),
		NAMED(NETLINK_CONNECTOR), NAMED(NETLINK_NETFILTER), NAMED(NETLINK_KOBJECT_UEVENT),
		NAMED(NETLINK_GENERIC), NAMED(NETLINK_CRYPTO), NAMED_END };

	if (c->args[0] != AF_INET && c->args[0] != AF_INET6 && c->args[0] != AF_NETLINK)
		return false;
	syscalls_print_name(c->args[0] == AF_NETLINK ? families : protocols, (uint32_t)c->args[2],
			    f);
	return true;
}

static bool print_level(const struct syscalls_call *c, FILE *f)
{
	syscalls_print_level((uint32_t)c->args[1], f);
	return true;
}

static bool print_option(const struct syscalls_call *c, FILE *f)
{
	syscalls_print_option((uint32_t)c->args[1], (uint32_t)c->args[2], f);
	return true;
}

static bool print_statx_mask(const struct syscalls_call *c, FILE *f)
{
	syscalls_print_statx_mask((uint32_t)c->args[3], f);
	return true;
}

static bool print_statx_flags(const struct syscalls_call *c, FILE *f)
{
	const struct syscall_named *named = syscall_named("statx", "flags");

	/* The way to synchronise is told, also where it is 0. */
	if (!(c->args[2] & AT_STATX_SYNC_TYPE))
		fputs(c->args[2] ? "AT_STATX_SYNC_AS_STAT|" : "AT_STATX_SYNC_AS_STAT", f);
	if (c->args[2])
		syscall_named_text(named, "int", c->args[2], f);
	return true;
}

/* The mode 0 has no name: it allocates, and lets the file grow. */
static bool print_fallocate(const struct syscalls_call *c, FILE *f)
{
	static const struct syscall_name modes[] = { NAMED(FALLOC_FL_KEEP_SIZE),
						     NAMED(FALLOC_FL_PUNCH_HOLE),
						     NAMED(FALLOC_FL_COLLAPSE_RANGE),
						     NAMED(FALLOC_FL_ZERO_RANGE),
						     NAMED(FALLOC_FL_INSERT_RANGE),
						     NAMED(FALLOC_FL_UNSHARE_RANGE),
						     NAMED_END };

	syscalls_print_flags(modes, (uint32_t)c->args[1], f);
	return true;
}

/* The threads that a futex means: all, where it is one of FUTEX_WAIT_BITSET and its like. */
static bool print_futex_bits(const struct syscalls_call *c, FILE *f)
{
	if ((uint32_t)c->args[5] == FUTEX_BITSET_MATCH_ANY)
		fputs("FUTEX_BITSET_MATCH_ANY", f);
	else
		fprintf(f, "%#" PRIx32, (uint32_t)c->args[5]);
	return true;
}

/* An offset, which is signed. */
static bool print_position(const struct syscalls_call *c, FILE *f)
{
	fprintf(f, "%" PRId64, (int64_t)c->args[3]);
	return true;
}

/* An address that is 0 where the kernel's type is a number. The kernel's prototypes say `unsigned
 * long` for these addresses, so that their record has no pointer: 0 would be printed as a
 * number. */
static bool print_null(const struct syscalls_call *c, FILE *f)
{
	if (!c->args[0])
		fputs("NULL", f);
	return !c->args[0];
}

static bool print_null_asked(const struct syscalls_call *c, FILE *f)
{
	if (!c->args[3])
		fputs("NULL", f);
	return !c->args[3];
}

static bool print_null_stack(const struct syscalls_call *c, FILE *f)
{
	if (!c->args[1])
		fputs("NULL", f);
	return !c->args[1];
}

static bool print_size(const struct syscalls_call *c, FILE *f)
{
	fprintf(f, "%" PRIu64, c->args[1]);
	return true;
}

static bool print_second_size(const struct syscalls_call *c, FILE *f)
{
	fprintf(f, "%" PRIu64, c->args[2]);
	return true;
}

/* The type of mknod's mode may be missing, which means a regular file. A mode without one is shown
 * as all of its bits. */
static void print_type_and_mode(uint64_t mode, FILE *f)
{
	if (mode & S_IFMT)
		syscalls_print_mode((uint32_t)mode, f);
	else
		fprintf(f, "0%03o", (unsigned)mode & 0xffff);
}

static bool print_second_mode(const struct syscalls_call *c, FILE *f)
{
	print_type_and_mode(c->args[1], f);
	return true;
}

static bool print_third_mode(const struct syscalls_call *c, FILE *f)
{
	print_type_and_mode(c->args[2], f);
	return true;
}

/* By the kernel's encoding, which is the C library's for small numbers. The kernel's number of a
 * device, for programs, has 12 bits of major and 20 of minor (new_encode_dev() of
 * linux/kdev_t.h). */
static void print_device(uint64_t device, FILE *f)
{
	fprintf(f, "makedev(%#x, %#x)", major((uint32_t)device), minor((uint32_t)device));
}

static bool print_third_device(const struct syscalls_call *c, FILE *f)
{
	print_device(c->args[2], f);
	return true;
}

static bool print_fourth_device(const struct syscalls_call *c, FILE *f)
{
	print_device(c->args[3], f);
	return true;
}

#define PERMISSIONS 0777u

/* Flags with which IPC's objects are made, and permissions as those of files. The lowest nine bits
 * are permissions (shmget(2)), which strace writes in octal behind the names. */
static bool print_got(const struct syscalls_call *c, const char *call, const char *argument,
		      unsigned i, FILE *f)
{
	const uint32_t flags = (uint32_t)c->args[i] & ~PERMISSIONS;

	if (flags)
		syscall_named_text(syscall_named(call, argument), "int", flags, f);
	fprintf(f, "%s0%02o", flags ? "|" : "", (unsigned)c->args[i] & PERMISSIONS);
	return true;
}

static bool print_shared_get(const struct syscalls_call *c, FILE *f)
{
	return print_got(c, "shmget", "shmflg", 2, f);
}

static bool print_semaphore_get(const struct syscalls_call *c, FILE *f)
{
	return print_got(c, "semget", "semflg", 2, f);
}

static bool print_queue_get(const struct syscalls_call *c, FILE *f)
{
	return print_got(c, "msgget", "msgflg", 1, f);
}

/* IOPRIO_CLASS_SHIFT of the kernel's linux/ioprio.h, which older headers lack. */
#define IO_CLASS_SHIFT 13

/* A class and a priority in it. ioprio_set(2): IOPRIO_PRIO_VALUE() puts the class above the 13 bits
 * of the priority. */
static bool print_io_priority(const struct syscalls_call *c, FILE *f)
{
	static const struct syscall_name classes[] = {
		{ 0, "IOPRIO_CLASS_NONE" }, { 1, "IOPRIO_CLASS_RT" }, { 2, "IOPRIO_CLASS_BE" },
		{ 3, "IOPRIO_CLASS_IDLE" }, NAMED_END };

	fputs("IOPRIO_PRIO_VALUE(", f);
	syscalls_print_name(classes, (uint32_t)c->args[2] >> IO_CLASS_SHIFT, f);
	fprintf(f, ", %u)", (unsigned)c->args[2] & ((1u << IO_CLASS_SHIFT) - 1));
	return true;
}

/* Real-time signals, which the tables of names lack. 32 is the kernel's first one. False leaves the
 * number to those tables. */
static bool print_real_time(uint64_t signal, FILE *f)
{
	if (signal < 32 || signal > 64)
		return false;
	syscalls_print_signal((int)signal, f);
	return true;
}

static bool print_first_signal(const struct syscalls_call *c, FILE *f)
{
	return print_real_time(c->args[0], f);
}

static bool print_second_signal(const struct syscalls_call *c, FILE *f)
{
	return print_real_time(c->args[1], f);
}

static bool print_third_signal(const struct syscalls_call *c, FILE *f)
{
	return print_real_time(c->args[2], f);
}

static const struct {
	const char *call;
	unsigned argument;
	bool (*print)(const struct syscalls_call *c, FILE *f);
} numbers[] = {
	{ "fcntl", 2, print_fcntl },        { "prctl", 1, print_prctl },
	{ "socket", 2, print_protocol },    { "setsockopt", 1, print_level },
	{ "setsockopt", 2, print_option },  { "getsockopt", 1, print_level },
	{ "getsockopt", 2, print_option },  { "statx", 3, print_statx_mask },
	{ "statx", 2, print_statx_flags },  { "fallocate", 1, print_fallocate },
	{ "futex", 5, print_futex_bits },   { "preadv", 3, print_position },
	{ "pwritev", 3, print_position },   { "preadv2", 3, print_position },
	{ "pwritev2", 3, print_position },  { "mmap", 0, print_null },
	{ "brk", 0, print_null },           { "clone", 1, print_null_stack },
	{ "mmap", 1, print_size },          { "munmap", 1, print_size },
	{ "mprotect", 1, print_size },      { "madvise", 1, print_size },
	{ "mremap", 1, print_size },        { "mremap", 2, print_second_size },
	{ "kill", 1, print_second_signal }, { "rt_sigaction", 0, print_first_signal },
	{ "tkill", 1, print_second_signal }, { "tgkill", 2, print_third_signal },
	{ "mknod", 1, print_second_mode },   { "mknodat", 2, print_third_mode },
	{ "mknod", 2, print_third_device },  { "mknodat", 3, print_fourth_device },
	{ "shmget", 2, print_shared_get },   { "semget", 2, print_semaphore_get },
	{ "get_mempolicy", 3, print_null_asked },
	{ "msgget", 1, print_queue_get },    { "ioprio_set", 2, print_io_priority },
};

/* The tables of names (event/syscall_names.h) are asked only where no row here has printed: rows
 * are for what a table of numbers cannot tell. */
bool syscalls_print_number_of(const struct syscalls_call *c, const char *call, unsigned i, FILE *f)
{
	for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
		if (numbers[k].argument == i && strcmp(numbers[k].call, call) == 0)
			return numbers[k].print(c, f);
	return false;
}

/* --- results ----------------------------------------------------------------------------- */

/* Prints the meaning of an ended wait, a flag word or a caught signal behind the result. */
bool syscalls_print_meaning(const struct syscalls_call *c, const char *call, int64_t result,
			    FILE *f)
{
	static const char *const waits[] = { "poll", "ppoll", "select", "pselect6" };

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits) && !result; i++)
		if (strcmp(waits[i], call) == 0)
			return fputs("Timeout", f) >= 0;
	if (strcmp(call, "rt_sigtimedwait") == 0 && result > 0) {
		syscalls_print_signal((int)result, f);
		return true;
	}
	if (strcmp(call, "fcntl") != 0 ||
	    (c->args[1] != F_GETFL && (c->args[1] != F_GETFD || !result)))
		return false;
	fputs("flags ", f);
	if (c->args[1] == F_GETFL)
		syscalls_print_open_flags((uint64_t)result, f);
	else
		fputs("FD_CLOEXEC", f);
	return true;
}

/* Addresses and words of flags are hexadecimal, and a mode is octal, as in strace. Errors do not
 * come here: they are a name. */
enum syscalls_base syscalls_result_base(const struct syscalls_call *c, const char *call)
{
	if (strcmp(call, "fcntl") == 0 && (c->args[1] == F_GETFL || c->args[1] == F_GETFD))
		return SYSCALLS_HEXADECIMAL;
	if (strcmp(call, "brk") == 0 || strcmp(call, "mmap") == 0 || strcmp(call, "mremap") == 0)
		return SYSCALLS_HEXADECIMAL;
	return strcmp(call, "umask") == 0 ? SYSCALLS_OCTAL : SYSCALLS_DECIMAL;
}
