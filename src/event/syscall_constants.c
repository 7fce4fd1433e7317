/* SPDX-License-Identifier: MIT */
/* The second part of syscall_names.c's tables: constants of the calls that are about priorities,
 * System V's IPC, memory policies, watches, mounts, modules, keys, tracing and rights, with the
 * values of the system's own headers. syscall_names.c alone looks into it, on any thread. Nothing
 * changes, and nothing fails. */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/close_range.h>
#include <linux/fanotify.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/swap.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>

#include "arch/open_flags.h"
#include "event/syscall_names.h"

/* 32 bits, since the headers have top bits as negative numbers of type int, too: widened with their
 * sign they would equal no argument. */
#define N(constant) { (uint32_t)(constant), #constant }
#define END { 0, NULL }

static const struct syscall_name policies[] = {
	N(SCHED_OTHER), N(SCHED_FIFO), N(SCHED_RR), N(SCHED_BATCH), N(SCHED_IDLE),
	{ 6, "SCHED_DEADLINE" }, END };
static const struct syscall_name priorities[] = {
	N(PRIO_PROCESS), N(PRIO_PGRP), N(PRIO_USER), END };
static const struct syscall_name io_priorities[] = {
	N(IOPRIO_WHO_PROCESS), N(IOPRIO_WHO_PGRP), N(IOPRIO_WHO_USER), END };
/* Clocks of a process or of a descriptor are computed numbers below 0, and stay numbers. */
static const struct syscall_name clocks[] = {
	N(CLOCK_REALTIME), N(CLOCK_MONOTONIC), N(CLOCK_PROCESS_CPUTIME_ID),
	N(CLOCK_THREAD_CPUTIME_ID), N(CLOCK_BOOTTIME), N(CLOCK_TAI), END };
static const struct syscall_name timer_sets[] = { N(TIMER_ABSTIME), END };

/* Any other key is the program's own, mostly ftok(3)'s. */
static const struct syscall_name keys[] = { N(IPC_PRIVATE), END };
static const struct syscall_name gets[] = { N(IPC_CREAT), N(IPC_EXCL), END };
/* The permissions in the lower nine bits have no names: they are shown as the rest of the
 * number. */
static const struct syscall_name shared_gets[] = {
	N(IPC_CREAT), N(IPC_EXCL), N(SHM_HUGETLB), N(SHM_NORESERVE), END };
static const struct syscall_name attaches[] = {
	N(SHM_RDONLY), N(SHM_RND), N(SHM_REMAP), N(SHM_EXEC), END };
static const struct syscall_name shared_controls[] = {
	N(IPC_RMID), N(IPC_SET), N(IPC_STAT), N(IPC_INFO), N(SHM_LOCK), N(SHM_UNLOCK), N(SHM_STAT),
	N(SHM_INFO), N(SHM_STAT_ANY), END };
static const struct syscall_name semaphore_controls[] = {
	N(IPC_RMID), N(IPC_SET), N(IPC_STAT), N(IPC_INFO), N(GETPID), N(GETVAL), N(GETALL),
	N(GETNCNT), N(GETZCNT), N(SETVAL), N(SETALL), N(SEM_STAT), N(SEM_INFO), N(SEM_STAT_ANY),
	END };
static const struct syscall_name queue_controls[] = {
	N(IPC_RMID), N(IPC_SET), N(IPC_STAT), N(IPC_INFO), N(MSG_STAT), N(MSG_INFO),
	N(MSG_STAT_ANY), END };
static const struct syscall_name queue_flags[] = {
	N(IPC_NOWAIT), N(MSG_NOERROR), N(MSG_EXCEPT), N(MSG_COPY), END };
/* POSIX's queues are opened as files are. */
static const struct syscall_name queue_modes[] = {
	N(O_RDONLY), N(O_WRONLY), N(O_RDWR), N(O_ACCMODE), END };
static const struct syscall_name queue_opens[] = {
	N(O_CREAT), N(O_EXCL), N(O_NONBLOCK), N(O_CLOEXEC), END };

static const struct syscall_name memory_policies[] = {
	N(MPOL_DEFAULT), N(MPOL_PREFERRED), N(MPOL_BIND), N(MPOL_INTERLEAVE), N(MPOL_LOCAL),
	N(MPOL_PREFERRED_MANY), END };
static const struct syscall_name memory_policy_flags[] = {
	N(MPOL_F_STATIC_NODES), N(MPOL_F_RELATIVE_NODES), N(MPOL_F_NUMA_BALANCING), END };
static const struct syscall_name policy_gets[] = {
	N(MPOL_F_NODE), N(MPOL_F_ADDR), N(MPOL_F_MEMS_ALLOWED), END };
static const struct syscall_name policy_moves[] = {
	N(MPOL_MF_STRICT), N(MPOL_MF_MOVE), N(MPOL_MF_MOVE_ALL), END };
static const struct syscall_name locks_later[] = { N(MLOCK_ONFAULT), END };
static const struct syscall_name key_rights[] = {
	N(PKEY_DISABLE_ACCESS), N(PKEY_DISABLE_WRITE), END };
/* membarrier(2): an argument is one of these commands, never a sum. Only the answer to
 * MEMBARRIER_CMD_QUERY has them as bits. */
static const struct syscall_name barriers[] = {
	N(MEMBARRIER_CMD_QUERY), N(MEMBARRIER_CMD_GLOBAL), N(MEMBARRIER_CMD_GLOBAL_EXPEDITED),
	N(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED), N(MEMBARRIER_CMD_PRIVATE_EXPEDITED),
	N(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED),
	N(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE),
	N(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE),
	N(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ),
	N(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ), END };
static const struct syscall_name barrier_flags[] = { N(MEMBARRIER_CMD_FLAG_CPU), END };

static const struct syscall_name watch_opens[] = { N(IN_NONBLOCK), N(IN_CLOEXEC), END };
static const struct syscall_name watched[] = {
	N(IN_ACCESS), N(IN_MODIFY), N(IN_ATTRIB), N(IN_CLOSE_WRITE), N(IN_CLOSE_NOWRITE),
	N(IN_OPEN), N(IN_MOVED_FROM), N(IN_MOVED_TO), N(IN_CREATE), N(IN_DELETE),
	N(IN_DELETE_SELF), N(IN_MOVE_SELF), N(IN_UNMOUNT), N(IN_Q_OVERFLOW), N(IN_IGNORED),
	N(IN_ONLYDIR), N(IN_DONT_FOLLOW), N(IN_EXCL_UNLINK), N(IN_MASK_CREATE), N(IN_MASK_ADD),
	N(IN_ISDIR), N(IN_ONESHOT), END };
static const struct syscall_name notify_classes[] = {
	N(FAN_CLASS_NOTIF), N(FAN_CLASS_CONTENT), N(FAN_CLASS_PRE_CONTENT), END };
static const struct syscall_name notify_opens[] = {
	N(FAN_CLOEXEC), N(FAN_NONBLOCK), N(FAN_UNLIMITED_QUEUE), N(FAN_UNLIMITED_MARKS),
	N(FAN_ENABLE_AUDIT), N(FAN_REPORT_PIDFD), N(FAN_REPORT_TID), N(FAN_REPORT_FID),
	N(FAN_REPORT_DIR_FID), N(FAN_REPORT_NAME), N(FAN_REPORT_TARGET_FID), END };
/* The C library's own O_LARGEFILE is 0 on machines of 64 bits: its row would be of no bit. */
static const struct syscall_name notify_files[] = {
	N(O_APPEND), N(O_NONBLOCK), N(O_SYNC), N(O_DSYNC), { OPEN_LARGE_FILE, "O_LARGEFILE" },
	N(O_NOATIME), N(O_CLOEXEC), END };
static const struct syscall_name notify_marks[] = {
	N(FAN_MARK_ADD), N(FAN_MARK_REMOVE), N(FAN_MARK_DONT_FOLLOW), N(FAN_MARK_ONLYDIR),
	N(FAN_MARK_MOUNT), N(FAN_MARK_IGNORED_MASK), N(FAN_MARK_IGNORED_SURV_MODIFY),
	N(FAN_MARK_FLUSH), N(FAN_MARK_FILESYSTEM), N(FAN_MARK_EVICTABLE), N(FAN_MARK_IGNORE), END };
/* The kernel's mask has 64 bits; all its names lie in the lower 32. */
static const struct syscall_name notified[] = {
	N(FAN_ACCESS), N(FAN_MODIFY), N(FAN_ATTRIB), N(FAN_CLOSE_WRITE), N(FAN_CLOSE_NOWRITE),
	N(FAN_OPEN), N(FAN_MOVED_FROM), N(FAN_MOVED_TO), N(FAN_CREATE), N(FAN_DELETE),
	N(FAN_DELETE_SELF), N(FAN_MOVE_SELF), N(FAN_OPEN_EXEC), N(FAN_Q_OVERFLOW), N(FAN_FS_ERROR),
	N(FAN_OPEN_PERM), N(FAN_ACCESS_PERM), N(FAN_OPEN_EXEC_PERM), N(FAN_EVENT_ON_CHILD),
	N(FAN_RENAME), N(FAN_ONDIR), END };

static const struct syscall_name attribute_sets[] = { N(XATTR_CREATE), N(XATTR_REPLACE), END };
static const struct syscall_name vector_writes[] = {
	N(RWF_HIPRI), N(RWF_DSYNC), N(RWF_SYNC), N(RWF_NOWAIT), N(RWF_APPEND), END };
static const struct syscall_name splices[] = {
	N(SPLICE_F_MOVE), N(SPLICE_F_NONBLOCK), N(SPLICE_F_MORE), N(SPLICE_F_GIFT), END };
static const struct syscall_name range_syncs[] = {
	N(SYNC_FILE_RANGE_WAIT_BEFORE), N(SYNC_FILE_RANGE_WRITE), N(SYNC_FILE_RANGE_WAIT_AFTER),
	END };
static const struct syscall_name closes[] = {
	N(CLOSE_RANGE_UNSHARE), N(CLOSE_RANGE_CLOEXEC), END };
static const struct syscall_name handle_flags[] = {
	N(AT_SYMLINK_FOLLOW), N(AT_EMPTY_PATH), END };
static const struct syscall_name signal_files[] = { N(SFD_CLOEXEC), N(SFD_NONBLOCK), END };
static const struct syscall_name nonblocking[] = { N(O_NONBLOCK), N(O_CLOEXEC), END };
/* linux/pidfd.h has the name, but it includes linux/fcntl.h, which defines struct flock and more a
 * second time. */
static const struct syscall_name pid_files[] = { { O_NONBLOCK, "PIDFD_NONBLOCK" }, END };

static const struct syscall_name configures[] = {
	N(FSCONFIG_SET_FLAG), N(FSCONFIG_SET_STRING), N(FSCONFIG_SET_BINARY), N(FSCONFIG_SET_PATH),
	N(FSCONFIG_SET_PATH_EMPTY), N(FSCONFIG_SET_FD), N(FSCONFIG_CMD_CREATE),
	N(FSCONFIG_CMD_RECONFIGURE), END };
static const struct syscall_name fs_opens[] = { N(FSOPEN_CLOEXEC), END };
static const struct syscall_name fs_mounts[] = { N(FSMOUNT_CLOEXEC), END };
static const struct syscall_name mount_attributes[] = {
	N(MOUNT_ATTR_RDONLY), N(MOUNT_ATTR_NOSUID), N(MOUNT_ATTR_NODEV), N(MOUNT_ATTR_NOEXEC),
	N(MOUNT_ATTR_NOATIME), N(MOUNT_ATTR_STRICTATIME), N(MOUNT_ATTR_NODIRATIME),
	N(MOUNT_ATTR_IDMAP), N(MOUNT_ATTR_NOSYMFOLLOW), END };
static const struct syscall_name fs_picks[] = {
	N(FSPICK_CLOEXEC), N(FSPICK_SYMLINK_NOFOLLOW), N(FSPICK_NO_AUTOMOUNT), N(FSPICK_EMPTY_PATH),
	END };
/* Old C libraries do not have AT_RECURSIVE, and linux/fcntl.h, which has, cannot be included beside
 * theirs. */
static const struct syscall_name tree_opens[] = {
	N(OPEN_TREE_CLONE), N(OPEN_TREE_CLOEXEC), N(AT_SYMLINK_NOFOLLOW), N(AT_NO_AUTOMOUNT),
	N(AT_EMPTY_PATH), { 0x8000, "AT_RECURSIVE" }, END };
static const struct syscall_name mount_changes[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_NO_AUTOMOUNT), N(AT_EMPTY_PATH), { 0x8000, "AT_RECURSIVE" },
	END };
static const struct syscall_name mount_moves[] = {
	N(MOVE_MOUNT_F_SYMLINKS), N(MOVE_MOUNT_F_AUTOMOUNTS), N(MOVE_MOUNT_F_EMPTY_PATH),
	N(MOVE_MOUNT_T_SYMLINKS), N(MOVE_MOUNT_T_AUTOMOUNTS), N(MOVE_MOUNT_T_EMPTY_PATH),
	N(MOVE_MOUNT_SET_GROUP), END };
/* The priority (SWAP_FLAG_PRIO_MASK, the lower 15 bits) is shown as the rest of the number. */
static const struct syscall_name swaps[] = { N(SWAP_FLAG_PREFER), N(SWAP_FLAG_DISCARD), END };
static const struct syscall_name reboots[] = {
	N(LINUX_REBOOT_CMD_RESTART), N(LINUX_REBOOT_CMD_HALT), N(LINUX_REBOOT_CMD_CAD_ON),
	N(LINUX_REBOOT_CMD_CAD_OFF), N(LINUX_REBOOT_CMD_POWER_OFF), N(LINUX_REBOOT_CMD_RESTART2),
	N(LINUX_REBOOT_CMD_SW_SUSPEND), N(LINUX_REBOOT_CMD_KEXEC), END };
static const struct syscall_name modules[] = {
	N(MODULE_INIT_IGNORE_MODVERSIONS), N(MODULE_INIT_IGNORE_VERMAGIC), END };

static const struct syscall_name key_operations[] = {
	N(KEYCTL_GET_KEYRING_ID), N(KEYCTL_JOIN_SESSION_KEYRING), N(KEYCTL_UPDATE),
	N(KEYCTL_REVOKE), N(KEYCTL_CHOWN), N(KEYCTL_SETPERM), N(KEYCTL_DESCRIBE), N(KEYCTL_CLEAR),
	N(KEYCTL_LINK), N(KEYCTL_UNLINK), N(KEYCTL_SEARCH), N(KEYCTL_READ), N(KEYCTL_INSTANTIATE),
	N(KEYCTL_NEGATE), N(KEYCTL_SET_REQKEY_KEYRING), N(KEYCTL_SET_TIMEOUT),
	N(KEYCTL_ASSUME_AUTHORITY), N(KEYCTL_GET_SECURITY), N(KEYCTL_SESSION_TO_PARENT),
	N(KEYCTL_REJECT), N(KEYCTL_INSTANTIATE_IOV), N(KEYCTL_INVALIDATE),
	N(KEYCTL_GET_PERSISTENT), N(KEYCTL_CAPABILITIES), END };
static const struct syscall_name compared[] = {
	N(KCMP_FILE), N(KCMP_VM), N(KCMP_FILES), N(KCMP_FS), N(KCMP_SIGHAND), N(KCMP_IO),
	N(KCMP_SYSVSEM), N(KCMP_EPOLL_TFD), END };
static const struct syscall_name rules[] = { N(LANDLOCK_RULE_PATH_BENEATH), END };
static const struct syscall_name rulesets[] = { N(LANDLOCK_CREATE_RULESET_VERSION), END };
static const struct syscall_name filter_operations[] = {
	N(SECCOMP_SET_MODE_STRICT), N(SECCOMP_SET_MODE_FILTER), N(SECCOMP_GET_ACTION_AVAIL),
	N(SECCOMP_GET_NOTIF_SIZES), END };
/* Flags of SECCOMP_SET_MODE_FILTER: the other operations take none. */
static const struct syscall_name filter_flags[] = {
	N(SECCOMP_FILTER_FLAG_TSYNC), N(SECCOMP_FILTER_FLAG_LOG), N(SECCOMP_FILTER_FLAG_SPEC_ALLOW),
	N(SECCOMP_FILTER_FLAG_NEW_LISTENER), N(SECCOMP_FILTER_FLAG_TSYNC_ESRCH),
	N(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV), END };
/* CLONE_NEWTIME lies among the bits of clone's signal (CSIGNAL), so that the list of clone in
 * syscall_names.c cannot have it. Here no signal is in the way. */
static const struct syscall_name spaces[] = {
	N(CLONE_NEWNS), N(CLONE_NEWCGROUP), N(CLONE_NEWUTS), N(CLONE_NEWIPC), N(CLONE_NEWUSER),
	N(CLONE_NEWPID), N(CLONE_NEWNET), N(CLONE_NEWTIME), END };
/* Without the requests that some machines alone have. */
static const struct syscall_name traces[] = {
	N(PTRACE_TRACEME), N(PTRACE_PEEKTEXT), N(PTRACE_PEEKDATA), N(PTRACE_PEEKUSER),
	N(PTRACE_POKETEXT), N(PTRACE_POKEDATA), N(PTRACE_POKEUSER), N(PTRACE_CONT), N(PTRACE_KILL),
	N(PTRACE_SINGLESTEP), N(PTRACE_ATTACH), N(PTRACE_DETACH), N(PTRACE_SYSCALL),
	N(PTRACE_SETOPTIONS), N(PTRACE_GETEVENTMSG), N(PTRACE_GETSIGINFO), N(PTRACE_SETSIGINFO),
	N(PTRACE_GETREGSET), N(PTRACE_SETREGSET), N(PTRACE_SEIZE), N(PTRACE_INTERRUPT),
	N(PTRACE_LISTEN), N(PTRACE_PEEKSIGINFO), N(PTRACE_GETSIGMASK), N(PTRACE_SETSIGMASK),
	N(PTRACE_SECCOMP_GET_FILTER), N(PTRACE_SECCOMP_GET_METADATA),
	N(PTRACE_GET_SYSCALL_INFO), END };
static const struct syscall_name bpf_commands[] = {
	N(BPF_MAP_CREATE), N(BPF_MAP_LOOKUP_ELEM), N(BPF_MAP_UPDATE_ELEM), N(BPF_MAP_DELETE_ELEM),
	N(BPF_MAP_GET_NEXT_KEY), N(BPF_PROG_LOAD), N(BPF_OBJ_PIN), N(BPF_OBJ_GET),
	N(BPF_PROG_ATTACH), N(BPF_PROG_DETACH), N(BPF_PROG_TEST_RUN), N(BPF_PROG_GET_NEXT_ID),
	N(BPF_MAP_GET_NEXT_ID), N(BPF_PROG_GET_FD_BY_ID), N(BPF_MAP_GET_FD_BY_ID),
	N(BPF_OBJ_GET_INFO_BY_FD), N(BPF_PROG_QUERY), N(BPF_RAW_TRACEPOINT_OPEN), N(BPF_BTF_LOAD),
	N(BPF_BTF_GET_FD_BY_ID), N(BPF_TASK_FD_QUERY), N(BPF_MAP_LOOKUP_AND_DELETE_ELEM),
	N(BPF_MAP_FREEZE), N(BPF_BTF_GET_NEXT_ID), N(BPF_MAP_LOOKUP_BATCH),
	N(BPF_MAP_LOOKUP_AND_DELETE_BATCH), N(BPF_MAP_UPDATE_BATCH), N(BPF_MAP_DELETE_BATCH),
	N(BPF_LINK_CREATE), N(BPF_LINK_UPDATE), N(BPF_LINK_GET_FD_BY_ID), N(BPF_LINK_GET_NEXT_ID),
	N(BPF_ENABLE_STATS), N(BPF_ITER_CREATE), N(BPF_LINK_DETACH), N(BPF_PROG_BIND_MAP), END };
static const struct syscall_name counter_opens[] = {
	N(PERF_FLAG_FD_NO_GROUP), N(PERF_FLAG_FD_OUTPUT), N(PERF_FLAG_PID_CGROUP),
	N(PERF_FLAG_FD_CLOEXEC), END };

#define SYMBOL(call, argument, symbols) { call, argument, UINT32_MAX, symbols, NULL, false }
#define FLAGS(call, argument, flags) { call, argument, 0, NULL, flags, false }
/* A class is one number in two bits, of which FAN_CLASS_NOTIF is 0. The flags of a memory policy
 * (MPOL_MODE_FLAGS of linux/mempolicy.h) begin at bit 13: below them stands its mode. */
#define NOTIFY_CLASS_BITS (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT)
#define POLICY_BITS 0xfffu

/* One row an argument. */
static const struct syscall_named rows[] = {
	SYMBOL("getpriority", "which", priorities),
	SYMBOL("setpriority", "which", priorities),
	SYMBOL("ioprio_get", "which", io_priorities),
	SYMBOL("ioprio_set", "which", io_priorities),
	SYMBOL("sched_get_priority_max", "policy", policies),
	SYMBOL("sched_get_priority_min", "policy", policies),
	SYMBOL("futex_waitv", "clockid", clocks),
	FLAGS("timer_settime", "flags", timer_sets),
	SYMBOL("shmget", "key", keys),
	SYMBOL("semget", "key", keys),
	SYMBOL("msgget", "key", keys),
	FLAGS("shmget", "shmflg", shared_gets),
	FLAGS("semget", "semflg", gets),
	FLAGS("msgget", "msgflg", gets),
	FLAGS("shmat", "shmflg", attaches),
	SYMBOL("shmctl", "cmd", shared_controls),
	SYMBOL("semctl", "cmd", semaphore_controls),
	SYMBOL("msgctl", "cmd", queue_controls),
	FLAGS("msgsnd", "msgflg", queue_flags),
	FLAGS("msgrcv", "msgflg", queue_flags),
	{ "mq_open", "oflag", O_ACCMODE, queue_modes, queue_opens, false },
	{ "set_mempolicy", "mode", POLICY_BITS, memory_policies, memory_policy_flags, false },
	{ "mbind", "mode", POLICY_BITS, memory_policies, memory_policy_flags, false },
	FLAGS("mbind", "flags", policy_moves),
	FLAGS("move_pages", "flags", policy_moves),
	FLAGS("get_mempolicy", "flags", policy_gets),
	FLAGS("mlock2", "flags", locks_later),
	FLAGS("pkey_alloc", "init_val", key_rights),
	SYMBOL("membarrier", "cmd", barriers),
	FLAGS("membarrier", "flags", barrier_flags),
	FLAGS("inotify_init1", "flags", watch_opens),
	FLAGS("inotify_add_watch", "mask", watched),
	{ "fanotify_init", "flags", NOTIFY_CLASS_BITS, notify_classes, notify_opens, false },
	{ "fanotify_init", "event_f_flags", O_ACCMODE, queue_modes, notify_files, false },
	FLAGS("fanotify_mark", "flags", notify_marks),
	FLAGS("fanotify_mark", "mask", notified),
	FLAGS("setxattr", "flags", attribute_sets),
	FLAGS("lsetxattr", "flags", attribute_sets),
	FLAGS("fsetxattr", "flags", attribute_sets),
	FLAGS("preadv2", "flags", vector_writes),
	FLAGS("pwritev2", "flags", vector_writes),
	FLAGS("splice", "flags", splices),
	FLAGS("tee", "flags", splices),
	FLAGS("vmsplice", "flags", splices),
	FLAGS("sync_file_range", "flags", range_syncs),
	FLAGS("close_range", "flags", closes),
	FLAGS("name_to_handle_at", "flag", handle_flags),
	{ "open_by_handle_at", "flags", O_ACCMODE, queue_modes, notify_files, false },
	FLAGS("signalfd4", "flags", signal_files),
	FLAGS("userfaultfd", "flags", nonblocking),
	FLAGS("pidfd_open", "flags", pid_files),
	SYMBOL("fsconfig", "cmd", configures),
	FLAGS("fsopen", "flags", fs_opens),
	FLAGS("fsmount", "flags", fs_mounts),
	FLAGS("fsmount", "attr_flags", mount_attributes),
	FLAGS("fspick", "flags", fs_picks),
	FLAGS("open_tree", "flags", tree_opens),
	FLAGS("move_mount", "flags", mount_moves),
	FLAGS("mount_setattr", "flags", mount_changes),
	FLAGS("swapon", "swap_flags", swaps),
	SYMBOL("reboot", "cmd", reboots),
	FLAGS("finit_module", "flags", modules),
	SYMBOL("keyctl", "option", key_operations),
	SYMBOL("kcmp", "type", compared),
	SYMBOL("landlock_add_rule", "rule_type", rules),
	FLAGS("landlock_create_ruleset", "flags", rulesets),
	SYMBOL("seccomp", "op", filter_operations),
	FLAGS("seccomp", "flags", filter_flags),
	FLAGS("setns", "flags", spaces),
	SYMBOL("ptrace", "request", traces),
	SYMBOL("bpf", "cmd", bpf_commands),
	FLAGS("perf_event_open", "flags", counter_opens),
};

const struct syscall_named *syscall_constants(size_t *n)
{
	*n = sizeof(rows) / sizeof(*rows);
	return rows;
}
