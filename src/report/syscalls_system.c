/* SPDX-License-Identifier: MIT */
/* Structures of files, processes, terminals and the system behind system calls' pointers, as strace
 * -v writes them, without its comments. syscalls_structs.c calls it. No state; nothing fails. Any
 * thread. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/times.h>
#include <sys/utsname.h>

#include "report/syscalls_structs.h"

/* --- files ------------------------------------------------------------------------------- */

/* A mode has at most one type (S_IFMT is a field, not bits), and any of the three bits above the
 * permissions. */
void syscalls_print_mode(uint32_t mode, FILE *f)
{
	static const struct { mode_t mode; const char *name; } types[] = {
		{ S_IFREG, "S_IFREG" }, { S_IFDIR, "S_IFDIR" }, { S_IFCHR, "S_IFCHR" },
		{ S_IFBLK, "S_IFBLK" }, { S_IFIFO, "S_IFIFO" }, { S_IFSOCK, "S_IFSOCK" },
		{ S_IFLNK, "S_IFLNK" },
	};
	static const struct { mode_t bit; const char *name; } bits[] = {
		{ S_ISUID, "S_ISUID" }, { S_ISGID, "S_ISGID" }, { S_ISVTX, "S_ISVTX" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if ((mode & S_IFMT) == types[i].mode)
			fprintf(f, "%s|", types[i].name);
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (mode & bits[i].bit)
			fprintf(f, "%s|", bits[i].name);
	fprintf(f, "0%03o", mode & 0777);
}

/* A device has no size, and other files no number of a device: st_rdev and st_size stand for each
 * other, as in strace. */
static void print_stat(const struct stat *s, FILE *f)
{
	fprintf(f, "{st_dev=makedev(%#x, %#x), st_ino=%" PRIu64 ", st_mode=", major(s->st_dev),
		minor(s->st_dev), (uint64_t)s->st_ino);
	syscalls_print_mode(s->st_mode, f);
	fprintf(f, ", st_nlink=%" PRIu64 ", st_uid=%u, st_gid=%u, st_blksize=%" PRId64
		", st_blocks=%" PRId64, (uint64_t)s->st_nlink, s->st_uid, s->st_gid,
		(int64_t)s->st_blksize, (int64_t)s->st_blocks);
	if (S_ISCHR(s->st_mode) || S_ISBLK(s->st_mode))
		fprintf(f, ", st_rdev=makedev(%#x, %#x)", major(s->st_rdev), minor(s->st_rdev));
	else
		fprintf(f, ", st_size=%" PRId64, (int64_t)s->st_size);
	fprintf(f, ", st_atime=%" PRId64 ", st_atime_nsec=%" PRId64 ", st_mtime=%" PRId64
		", st_mtime_nsec=%" PRId64 ", st_ctime=%" PRId64 ", st_ctime_nsec=%" PRId64 "}",
		(int64_t)s->st_atim.tv_sec, (int64_t)s->st_atim.tv_nsec,
		(int64_t)s->st_mtim.tv_sec, (int64_t)s->st_mtim.tv_nsec,
		(int64_t)s->st_ctim.tv_sec, (int64_t)s->st_ctim.tv_nsec);
}

/* The kernel's structure is the C library's on x86-64. */
bool syscalls_print_stat(const struct syscalls_memory *m, FILE *f)
{
	struct stat s;

	if (m->n < sizeof(s))
		return false;
	memcpy(&s, m->at, sizeof(s));
	print_stat(&s, f);
	return true;
}

#define MOUNT_ID 0x1000u /* STATX_MNT_ID, which older headers lack */

/* STATX_BASIC_STATS comes first: it is the union of rows below it, and names are taken in this
 * order. */
static const struct syscall_name statx_mask[] = {
	NAMED(STATX_BASIC_STATS), NAMED(STATX_TYPE), NAMED(STATX_MODE), NAMED(STATX_NLINK),
	NAMED(STATX_UID), NAMED(STATX_GID), NAMED(STATX_ATIME), NAMED(STATX_MTIME),
	NAMED(STATX_CTIME), NAMED(STATX_INO), NAMED(STATX_SIZE), NAMED(STATX_BLOCKS),
	NAMED(STATX_BTIME), { MOUNT_ID, "STATX_MNT_ID" }, NAMED_END };
static const struct syscall_name statx_attributes[] = {
	NAMED(STATX_ATTR_COMPRESSED), NAMED(STATX_ATTR_IMMUTABLE), NAMED(STATX_ATTR_APPEND),
	NAMED(STATX_ATTR_NODUMP), NAMED(STATX_ATTR_ENCRYPTED), NAMED(STATX_ATTR_AUTOMOUNT),
	{ 0x2000, "STATX_ATTR_MOUNT_ROOT" }, { 0x100000, "STATX_ATTR_VERITY" },
	{ 0x200000, "STATX_ATTR_DAX" }, NAMED_END };

void syscalls_print_statx_mask(uint32_t mask, FILE *f)
{
	syscalls_print_flags(statx_mask, mask, f);
}

/* struct statx_timestamp has its own widths: 64 bits of seconds, which are signed, and 32 of
 * nanoseconds. */
static void print_timestamp(const char *name, const struct statx_timestamp *t, FILE *f)
{
	fprintf(f, ", %s={tv_sec=%" PRId64 ", tv_nsec=%" PRIu32 "}", name, (int64_t)t->tv_sec,
		(uint32_t)t->tv_nsec);
}

/* Prints the times that the file system has given. */
static void print_timestamps(const struct statx *s, FILE *f)
{
	if (s->stx_mask & STATX_ATIME)
		print_timestamp("stx_atime", &s->stx_atime, f);
	if (s->stx_mask & STATX_BTIME)
		print_timestamp("stx_btime", &s->stx_btime, f);
	if (s->stx_mask & STATX_CTIME)
		print_timestamp("stx_ctime", &s->stx_ctime, f);
	if (s->stx_mask & STATX_MTIME)
		print_timestamp("stx_mtime", &s->stx_mtime, f);
}

/* The mount's number has no field in older headers. It is stx_mnt_id of linux/stat.h, within the
 * 256 bytes that struct statx has in any version: the check of its size covers it. */
#define MOUNT_ID_AT 144

bool syscalls_print_statx(const struct syscalls_memory *m, FILE *f)
{
	struct statx s;
	uint64_t mount;

	if (m->n < sizeof(s))
		return false;
	memcpy(&s, m->at, sizeof(s));
	memcpy(&mount, m->at + MOUNT_ID_AT, sizeof(mount));
	fputs("{stx_mask=", f);
	syscalls_print_flags(statx_mask, s.stx_mask, f);
	fprintf(f, ", stx_blksize=%u, stx_attributes=", s.stx_blksize);
	syscalls_print_flags(statx_attributes, s.stx_attributes, f);
	fprintf(f, ", stx_nlink=%u, stx_uid=%u, stx_gid=%u, stx_mode=", s.stx_nlink, s.stx_uid,
		s.stx_gid);
	syscalls_print_mode(s.stx_mode, f);
	fprintf(f, ", stx_ino=%" PRIu64 ", stx_size=%" PRIu64 ", stx_blocks=%" PRIu64
		", stx_attributes_mask=", (uint64_t)s.stx_ino, (uint64_t)s.stx_size,
		(uint64_t)s.stx_blocks);
	syscalls_print_flags(statx_attributes, s.stx_attributes_mask, f);
	print_timestamps(&s, f);
	fprintf(f, ", stx_rdev_major=%u, stx_rdev_minor=%u, stx_dev_major=%u, stx_dev_minor=%u",
		s.stx_rdev_major, s.stx_rdev_minor, s.stx_dev_major, s.stx_dev_minor);
	if (s.stx_mask & MOUNT_ID)
		fprintf(f, ", stx_mnt_id=%s%" PRIx64, mount ? "0x" : "", mount);
	fputc('}', f);
	return true;
}

/* f_type by linux/magic.h. A file system that is missing is shown as its number. */
static const struct syscall_name file_systems[] = {
	NAMED(EXT2_SUPER_MAGIC),      NAMED(PROC_SUPER_MAGIC),
	NAMED(TMPFS_MAGIC),	      NAMED(SYSFS_MAGIC),
	NAMED(OVERLAYFS_SUPER_MAGIC), NAMED(BTRFS_SUPER_MAGIC),
	NAMED(XFS_SUPER_MAGIC),	      NAMED(NFS_SUPER_MAGIC),
	NAMED(CGROUP_SUPER_MAGIC),    NAMED(CGROUP2_SUPER_MAGIC),
	NAMED(DEVPTS_SUPER_MAGIC),    NAMED(SQUASHFS_MAGIC),
	NAMED(RAMFS_MAGIC),	      NAMED(DEBUGFS_MAGIC),
	NAMED(TRACEFS_MAGIC),	      NAMED(SELINUX_MAGIC),
	NAMED(HUGETLBFS_MAGIC),	      NAMED(ISOFS_SUPER_MAGIC),
	NAMED(MSDOS_SUPER_MAGIC),     NAMED(F2FS_SUPER_MAGIC),
	NAMED(BPF_FS_MAGIC),	      NAMED(FUSE_SUPER_MAGIC),
	NAMED(SECURITYFS_MAGIC),      NAMED(EFIVARFS_MAGIC),
	NAMED(PSTOREFS_MAGIC),	      NAMED(NSFS_MAGIC),
	NAMED(SOCKFS_MAGIC),	      NAMED(PIPEFS_MAGIC),
	NAMED(BINFMTFS_MAGIC),	      NAMED_END
};

bool syscalls_print_statfs(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name flags[] = {
		{ 32, "ST_VALID" }, NAMED(ST_RDONLY), NAMED(ST_NOSUID), NAMED(ST_NODEV),
		NAMED(ST_NOEXEC), NAMED(ST_SYNCHRONOUS), NAMED(ST_MANDLOCK), NAMED(ST_NOATIME),
		NAMED(ST_NODIRATIME), NAMED(ST_RELATIME), { 0x2000, "ST_NOSYMFOLLOW" }, NAMED_END };
	struct statfs s;
	uint32_t id[2];

	if (m->n < sizeof(s))
		return false;
	memcpy(&s, m->at, sizeof(s));
	memcpy(id, &s.f_fsid, sizeof(id));
	fputs("{f_type=", f);
	syscalls_print_name(file_systems, (uint32_t)s.f_type, f);
	fprintf(f,
		", f_bsize=%" PRIu64 ", f_blocks=%" PRIu64 ", f_bfree=%" PRIu64
		", f_bavail=%" PRIu64 ", f_files=%" PRIu64 ", f_ffree=%" PRIu64
		", f_fsid={val=[%#" PRIx32 ", %#" PRIx32 "]}, f_namelen=%" PRIu64
		", f_frsize=%" PRIu64 ", f_flags=",
		(uint64_t)s.f_bsize, (uint64_t)s.f_blocks, (uint64_t)s.f_bfree,
		(uint64_t)s.f_bavail, (uint64_t)s.f_files, (uint64_t)s.f_ffree, id[0], id[1],
		(uint64_t)s.f_namelen, (uint64_t)s.f_frsize);
	syscalls_print_flags(flags, (uint64_t)s.f_flags, f);
	fputc('}', f);
	return true;
}

/* The kernel's struct linux_dirent64 without its name. */
struct entry { uint64_t ino; int64_t off; uint16_t reclen; uint8_t type; } __attribute__((packed));

/* The record may end within an entry, and the entry's length is the program's to spoil: both end
 * the list. It is whole if it has all bytes that the call returned. d_name ends by NUL within the
 * entry, whose length is aligned: strnlen() keeps it inside also where a file was damaged. An entry
 * shorter than its head would let the loop stand still. */
bool syscalls_print_entries(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name types[] = {
		NAMED(DT_UNKNOWN), NAMED(DT_FIFO), NAMED(DT_CHR), NAMED(DT_DIR), NAMED(DT_BLK),
		NAMED(DT_REG), NAMED(DT_LNK), NAMED(DT_SOCK), NAMED(DT_WHT), NAMED_END };
	uint32_t i = 0, n;
	struct entry e;

	fputc('[', f);
	for (; i + sizeof(e) <= m->n; i += e.reclen) {
		memcpy(&e, m->at + i, sizeof(e));
		if (e.reclen < sizeof(e) || e.reclen > m->n - i)
			break;
		fprintf(f, "%s{d_ino=%" PRIu64 ", d_off=%" PRId64 ", d_reclen=%u, d_type=",
			i ? ", " : "", e.ino, e.off, e.reclen);
		syscalls_print_name(types, e.type, f);
		fputs(", d_name=", f);
		n = e.reclen - (uint32_t)sizeof(e);
		syscalls_print_quoted(m->at + i + sizeof(e),
				      (uint32_t)strnlen((const char *)m->at + i + sizeof(e), n), f);
		fputc('}', f);
	}
	fputs(i >= m->result ? "]" : i ? ", ...]" : "...]", f);
	return true;
}

/* fcntl(2): these commands alone have a struct flock behind the third argument. */
static bool is_lock_command(uint64_t command)
{
	static const int commands[] = { F_GETLK,     F_SETLK,	  F_SETLKW,
					F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW };

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if ((uint32_t)command == (uint32_t)commands[i])
			return true;
	return false;
}

/* After the call: of those that ask alone. F_GETLK and F_OFD_GETLK alone write into the structure,
 * and they alone fill in l_pid. */
bool syscalls_print_lock(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name types[] = { NAMED(F_RDLCK), NAMED(F_WRLCK), NAMED(F_UNLCK),
						     NAMED_END };
	static const struct syscall_name whence[] = { NAMED(SEEK_SET), NAMED(SEEK_CUR),
						      NAMED(SEEK_END), NAMED_END };
	uint32_t command = (uint32_t)m->call->args[1];
	bool asks = command == F_GETLK || command == F_OFD_GETLK;
	struct flock l;

	if (m->n < sizeof(l) || !is_lock_command(command) || (m->after && !asks))
		return false;
	memcpy(&l, m->at, sizeof(l));
	fputs("{l_type=", f);
	syscalls_print_name(types, (uint32_t)l.l_type, f);
	fputs(", l_whence=", f);
	syscalls_print_name(whence, (uint32_t)l.l_whence, f);
	fprintf(f, ", l_start=%" PRId64 ", l_len=%" PRId64, (int64_t)l.l_start, (int64_t)l.l_len);
	if (asks)
		fprintf(f, ", l_pid=%d", l.l_pid);
	fputc('}', f);
	return true;
}

/* --- processes --------------------------------------------------------------------------- */

/* All members, also those that Linux leaves 0 (getrusage(2)): strace -v shows them. */
bool syscalls_print_usage(const struct syscalls_memory *m, FILE *f)
{
	struct rusage r;

	if (m->n < sizeof(r))
		return false;
	memcpy(&r, m->at, sizeof(r));
	fprintf(f, "{ru_utime={tv_sec=%ld, tv_usec=%ld}, ru_stime={tv_sec=%ld, tv_usec=%ld}, ",
		(long)r.ru_utime.tv_sec, (long)r.ru_utime.tv_usec, (long)r.ru_stime.tv_sec,
		(long)r.ru_stime.tv_usec);
	fprintf(f,
		"ru_maxrss=%ld, ru_ixrss=%ld, ru_idrss=%ld, ru_isrss=%ld, ru_minflt=%ld, "
		"ru_majflt=%ld, ru_nswap=%ld, ru_inblock=%ld, ru_oublock=%ld, ru_msgsnd=%ld, "
		"ru_msgrcv=%ld, ru_nsignals=%ld, ru_nvcsw=%ld, ru_nivcsw=%ld}",
		r.ru_maxrss, r.ru_ixrss, r.ru_idrss, r.ru_isrss, r.ru_minflt, r.ru_majflt,
		r.ru_nswap, r.ru_inblock, r.ru_oublock, r.ru_msgsnd, r.ru_msgrcv, r.ru_nsignals,
		r.ru_nvcsw, r.ru_nivcsw);
	return true;
}

/* strace's way: whole KiB as a product. */
static void print_limit(uint64_t v, const char *infinity, FILE *f)
{
	if (v == UINT64_MAX)
		fputs(infinity, f);
	else if (v > 1024 && v % 1024 == 0)
		fprintf(f, "%" PRIu64 "*1024", v / 1024);
	else
		fprintf(f, "%" PRIu64, v);
}

/* prlimit64's numbers have 64 bits everywhere, hence RLIM64_INFINITY and no other limit without
 * end. */
bool syscalls_print_limit(const struct syscalls_memory *m, FILE *f)
{
	uint64_t v[2];

	if (m->n < sizeof(v))
		return false;
	memcpy(v, m->at, sizeof(v));
	fputs("{rlim_cur=", f);
	print_limit(v[0], "RLIM64_INFINITY", f);
	fputs(", rlim_max=", f);
	print_limit(v[1], "RLIM64_INFINITY", f);
	fputc('}', f);
	return true;
}

/* clone3's arguments, by the kernel's structure. The first version (CLONE_ARGS_SIZE_VER0 of
 * linux/sched.h, 64 bytes) has these eight words; later ones add set_tid and cgroup behind them,
 * which are not shown. Members stand in the text where a flag gives them a meaning. */
bool syscalls_print_clone(const struct syscalls_memory *m, FILE *f)
{
	static const struct syscall_name flags[] = {
		NAMED(CLONE_VM), NAMED(CLONE_FS), NAMED(CLONE_FILES), NAMED(CLONE_SIGHAND),
		NAMED(CLONE_PIDFD), NAMED(CLONE_PTRACE), NAMED(CLONE_VFORK), NAMED(CLONE_PARENT),
		NAMED(CLONE_THREAD), NAMED(CLONE_NEWNS), NAMED(CLONE_SYSVSEM), NAMED(CLONE_SETTLS),
		NAMED(CLONE_PARENT_SETTID), NAMED(CLONE_CHILD_CLEARTID), NAMED(CLONE_DETACHED),
		NAMED(CLONE_UNTRACED), NAMED(CLONE_CHILD_SETTID), NAMED(CLONE_NEWCGROUP),
		NAMED(CLONE_NEWUTS), NAMED(CLONE_NEWIPC), NAMED(CLONE_NEWUSER), NAMED(CLONE_NEWPID),
		NAMED(CLONE_NEWNET), NAMED(CLONE_IO), NAMED_END };
	/* flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls */
	uint64_t v[8];

	if (m->n < sizeof(v))
		return false;
	memcpy(v, m->at, sizeof(v));
	fputs("{flags=", f);
	syscalls_print_flags(flags, v[0], f);
	if (v[0] & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		fprintf(f, ", child_tid=%#" PRIx64, v[2]);
	if (v[0] & CLONE_PARENT_SETTID)
		fprintf(f, ", parent_tid=%#" PRIx64, v[3]);
	fputs(", exit_signal=", f);
	syscalls_print_signal((int)v[4], f);
	if (v[5])
		fprintf(f, ", stack=%#" PRIx64 ", stack_size=%#" PRIx64, v[5], v[6]);
	else
		fprintf(f, ", stack=NULL, stack_size=%s%" PRIx64, v[6] ? "0x" : "", v[6]);
	if (v[0] & CLONE_SETTLS)
		fprintf(f, ", tls=%#" PRIx64, v[7]);
	fputc('}', f);
	return true;
}

/* --- the system -------------------------------------------------------------------------- */

static void print_utsname(const struct utsname *u, FILE *f)
{
	const struct { const char *name, *at;
	} parts[] = {
		{ "sysname", u->sysname }, { "nodename", u->nodename },
		{ "release", u->release }, { "version", u->version },
		{ "machine", u->machine }, { "domainname", u->domainname },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		fprintf(f, "%s%s=", i ? ", " : "{", parts[i].name);
		syscalls_print_quoted((const uint8_t *)parts[i].at,
				      (uint32_t)strnlen(parts[i].at, sizeof(u->sysname)), f);
	}
	fputc('}', f);
}

/* Structures of uname, sysinfo and times, told apart by their sizes. The copy is exactly as long as
 * the structure, which tells more than the call's name: three rows of the table need no functions
 * of their own. */
bool syscalls_print_system(const struct syscalls_memory *m, FILE *f)
{
	struct utsname u;
	struct sysinfo i;
	struct tms t;

	if (m->n == sizeof(u)) {
		memcpy(&u, m->at, sizeof(u));
		print_utsname(&u, f);
	} else if (m->n == sizeof(i)) {
		memcpy(&i, m->at, sizeof(i));
		fprintf(f,
			"{uptime=%ld, loads=[%lu, %lu, %lu], totalram=%lu, freeram=%lu, sharedram=%lu, "
			"bufferram=%lu, totalswap=%lu, freeswap=%lu, procs=%u, totalhigh=%lu, freehigh=%lu, "
			"mem_unit=%u}",
			i.uptime, i.loads[0], i.loads[1], i.loads[2], i.totalram, i.freeram,
			i.sharedram, i.bufferram, i.totalswap, i.freeswap, i.procs, i.totalhigh,
			i.freehigh, i.mem_unit);
	} else if (m->n == sizeof(t)) {
		memcpy(&t, m->at, sizeof(t));
		fprintf(f, "{tms_utime=%ld, tms_stime=%ld, tms_cutime=%ld, tms_cstime=%ld}",
			(long)t.tms_utime, (long)t.tms_stime, (long)t.tms_cutime,
			(long)t.tms_cstime);
	} else {
		return false;
	}
	return true;
}

/* Requests of ioctl that give, or take, a number or the size of a window. ioctl_tty(2). `after`
 * chooses: a request that gives has nothing to show before the call, and one that takes nothing
 * behind it. ioctl's row leads here for every request; one that is not known here has no text. */
bool syscalls_print_terminal(const struct syscalls_memory *m, FILE *f)
{
	const uint32_t request = (uint32_t)m->call->args[1];
	bool gives_number = request == FIONREAD || request == TIOCGPGRP || request == TIOCGSID ||
			    request == TIOCGPTN,
	     takes_number = request == FIONBIO || request == FIOASYNC || request == TIOCSPGRP ||
			    request == TIOCSPTLCK;
	struct winsize w;
	int32_t v;

	if (m->n >= sizeof(v) && (m->after ? gives_number : takes_number)) {
		memcpy(&v, m->at, sizeof(v));
		fprintf(f, "[%" PRId32 "]", v);
		return true;
	}
	if (m->n < sizeof(w) || request != (uint32_t)(m->after ? TIOCGWINSZ : TIOCSWINSZ))
		return false;
	memcpy(&w, m->at, sizeof(w));
	fprintf(f, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", w.ws_row, w.ws_col,
		w.ws_xpixel, w.ws_ypixel);
	return true;
}
