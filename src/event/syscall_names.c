/* SPDX-License-Identifier: MIT */
/* Constant tables of names, with the values of the system's own headers, and the expressions that
 * print formats make of them. syscall_constants.c has the second part of the tables. syscalls.c
 * asks for each argument, on any thread. An argument that is not in the tables is a number. */
#include "event/syscall_names.h"

#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/if_tun.h>
#include <linux/io_uring.h>
#include <linux/kd.h>
#include <linux/loop.h>
#include <linux/nsfs.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <linux/sockios.h>
#include <linux/vt.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/open_flags.h"
#include "event/syscall_copies.h"

/* 32 bits, with AT_FDCWD (-100) in mind: an argument of type int has its value in the lower half of
 * the register, and is compared by it. */
#define N(constant) { (uint32_t)(constant), #constant }
#define END { 0, NULL }

static const struct syscall_name directories[] = { N(AT_FDCWD), END };
/* The two lowest bits of open's flags are a number, not bits: O_ACCMODE is the fourth of its
 * values. */
static const struct syscall_name access_modes[] = {
	N(O_RDONLY), N(O_WRONLY), N(O_RDWR), N(O_ACCMODE), END };
/* Names of several bits come before those of their parts. */
static const struct syscall_name opened[] = {
	N(O_CREAT), N(O_EXCL), N(O_NOCTTY), N(O_TRUNC), N(O_APPEND), N(O_NONBLOCK), N(O_SYNC),
	N(O_DSYNC), N(O_ASYNC), N(O_DIRECT), { OPEN_LARGE_FILE, "O_LARGEFILE" },
	N(O_NOFOLLOW), N(O_NOATIME), N(O_CLOEXEC), N(O_PATH), N(O_TMPFILE), N(O_DIRECTORY), END };
static const struct syscall_name descriptors[] = { N(O_CLOEXEC), N(O_NONBLOCK), N(O_DIRECT), END };
static const struct syscall_name permissions[] = { N(F_OK), N(R_OK), N(W_OK), N(X_OK), END };
static const struct syscall_name at_flags[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_SYMLINK_FOLLOW), N(AT_NO_AUTOMOUNT), N(AT_EMPTY_PATH), END };
static const struct syscall_name statx_flags[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_NO_AUTOMOUNT), N(AT_EMPTY_PATH),
	N(AT_STATX_FORCE_SYNC), N(AT_STATX_DONT_SYNC), END };
static const struct syscall_name access_flags[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_EACCESS), N(AT_EMPTY_PATH), END };
static const struct syscall_name unlinked[] = { N(AT_REMOVEDIR), END };
static const struct syscall_name whence[] = {
	N(SEEK_SET), N(SEEK_CUR), N(SEEK_END), N(SEEK_DATA), N(SEEK_HOLE), END };
static const struct syscall_name renamed[] = {
	N(RENAME_NOREPLACE), N(RENAME_EXCHANGE), N(RENAME_WHITEOUT), END };
static const struct syscall_name file_commands[] = {
	N(F_DUPFD), N(F_GETFD), N(F_SETFD), N(F_GETFL), N(F_SETFL), N(F_GETLK), N(F_SETLK),
	N(F_SETLKW), N(F_SETOWN), N(F_GETOWN), N(F_SETSIG), N(F_GETSIG), N(F_SETOWN_EX),
	N(F_GETOWN_EX), N(F_OFD_GETLK), N(F_OFD_SETLK), N(F_OFD_SETLKW), N(F_SETLEASE),
	N(F_GETLEASE), N(F_NOTIFY), N(F_DUPFD_CLOEXEC), N(F_SETPIPE_SZ), N(F_GETPIPE_SZ),
	N(F_ADD_SEALS), N(F_GET_SEALS), END };
static const struct syscall_name advised[] = { N(POSIX_FADV_NORMAL),
					       N(POSIX_FADV_RANDOM),
					       N(POSIX_FADV_SEQUENTIAL),
					       N(POSIX_FADV_WILLNEED),
					       N(POSIX_FADV_DONTNEED),
					       N(POSIX_FADV_NOREUSE),
					       END };
static const struct syscall_name locks[] = { N(LOCK_SH), N(LOCK_EX), N(LOCK_NB), N(LOCK_UN), END };
/* Requests of many drivers share this table, since the number alone tells what ioctl is asked
 * for. */
static const struct syscall_name terminal_requests[] = {
	N(TCGETS), N(TCSETS), N(TCSETSW), N(TCSETSF), N(TCSBRK), N(TCXONC), N(TCFLSH), N(TIOCEXCL),
	N(TIOCSCTTY), N(TIOCGPGRP), N(TIOCSPGRP), N(TIOCGWINSZ), N(TIOCSWINSZ), N(TIOCNOTTY),
	N(TIOCGSID), N(TIOCGPTN), N(TIOCSPTLCK), N(TIOCGPTPEER), N(TIOCOUTQ), N(TIOCSTI),
	N(TIOCMGET), N(TIOCMSET), N(TIOCGSERIAL), N(TIOCPKT), N(TIOCGDEV), N(TIOCNXCL), N(TIOCCONS),
	N(TIOCVHANGUP), N(FIONREAD), N(FIONBIO), N(FIOASYNC), N(FIOCLEX), N(FIONCLEX), N(FIOQSIZE),
	N(FICLONE), N(FICLONERANGE), N(FIDEDUPERANGE), N(FITRIM), N(FIFREEZE), N(FITHAW), N(FIBMAP),
	N(FIGETBSZ), N(FS_IOC_GETFLAGS), N(FS_IOC_SETFLAGS), N(FS_IOC_GETVERSION),
	N(FS_IOC_FSGETXATTR), N(FS_IOC_FSSETXATTR), N(FS_IOC_FIEMAP), N(BLKGETSIZE64),
	N(BLKGETSIZE), N(BLKSSZGET), N(BLKPBSZGET), N(BLKIOMIN), N(BLKIOOPT), N(BLKROGET),
	N(BLKDISCARD), N(BLKFLSBUF), N(BLKRRPART), N(BLKALIGNOFF), N(BLKROTATIONAL),
	N(LOOP_CTL_GET_FREE), N(LOOP_SET_FD), N(LOOP_CLR_FD), N(LOOP_GET_STATUS64),
	N(LOOP_SET_STATUS64), N(LOOP_CONFIGURE), N(SIOCGIFCONF), N(SIOCGIFNAME), N(SIOCGIFFLAGS),
	N(SIOCSIFFLAGS), N(SIOCGIFADDR), N(SIOCSIFADDR), N(SIOCGIFNETMASK), N(SIOCGIFBRDADDR),
	N(SIOCGIFMTU), N(SIOCGIFHWADDR), N(SIOCGIFINDEX), N(SIOCGIFTXQLEN), N(SIOCETHTOOL),
	N(SIOCOUTQ), N(SIOCATMARK), N(TUNSETIFF), N(TUNGETIFF), N(PERF_EVENT_IOC_ENABLE),
	N(PERF_EVENT_IOC_DISABLE), N(PERF_EVENT_IOC_REFRESH), N(PERF_EVENT_IOC_RESET),
	N(PERF_EVENT_IOC_PERIOD), N(PERF_EVENT_IOC_SET_OUTPUT), N(PERF_EVENT_IOC_SET_FILTER),
	N(PERF_EVENT_IOC_ID), N(PERF_EVENT_IOC_SET_BPF), N(NS_GET_USERNS), N(NS_GET_PARENT),
	N(NS_GET_NSTYPE), N(RNDGETENTCNT), N(RTC_RD_TIME), N(KDGKBTYPE), N(KDGETMODE),
	N(KDGKBMODE), N(VT_GETSTATE), END };

static const struct syscall_name protections[] = {
	N(PROT_NONE), N(PROT_READ), N(PROT_WRITE), N(PROT_EXEC), N(PROT_GROWSDOWN), END };
/* MAP_SHARED_VALIDATE is 3: the three are one number, not bits, as MAP_TYPE_BITS says below. */
static const struct syscall_name map_types[] = {
	N(MAP_SHARED), N(MAP_PRIVATE), N(MAP_SHARED_VALIDATE), END };
static const struct syscall_name map_flags[] = {
	N(MAP_FIXED), N(MAP_ANONYMOUS),
#ifdef MAP_32BIT /* some machines have none */
	N(MAP_32BIT),
#endif
	N(MAP_GROWSDOWN), N(MAP_DENYWRITE), N(MAP_EXECUTABLE), N(MAP_LOCKED), N(MAP_NORESERVE),
	N(MAP_POPULATE), N(MAP_NONBLOCK), N(MAP_STACK), N(MAP_HUGETLB), N(MAP_SYNC),
	N(MAP_FIXED_NOREPLACE), END };
static const struct syscall_name remaps[] = { N(MREMAP_MAYMOVE), N(MREMAP_FIXED), END };
static const struct syscall_name syncs[] = { N(MS_ASYNC), N(MS_INVALIDATE), N(MS_SYNC), END };
static const struct syscall_name advices[] = {
	N(MADV_NORMAL), N(MADV_RANDOM), N(MADV_SEQUENTIAL), N(MADV_WILLNEED), N(MADV_DONTNEED),
	N(MADV_FREE), N(MADV_REMOVE), N(MADV_DONTFORK), N(MADV_DOFORK), N(MADV_MERGEABLE),
	N(MADV_UNMERGEABLE), N(MADV_HUGEPAGE), N(MADV_NOHUGEPAGE), N(MADV_DONTDUMP),
	N(MADV_DODUMP), N(MADV_WIPEONFORK), N(MADV_KEEPONFORK), END };
static const struct syscall_name mlocks[] = { N(MCL_CURRENT), N(MCL_FUTURE), N(MCL_ONFAULT), END };
static const struct syscall_name memfds[] = {
	N(MFD_CLOEXEC), N(MFD_ALLOW_SEALING), N(MFD_HUGETLB), END };

static const struct syscall_name families[] = {
	N(AF_UNSPEC), N(AF_UNIX), N(AF_INET), N(AF_INET6), N(AF_NETLINK), N(AF_PACKET), N(AF_ALG),
	N(AF_VSOCK), END };
static const struct syscall_name socket_types[] = {
	N(SOCK_STREAM), N(SOCK_DGRAM), N(SOCK_RAW), N(SOCK_RDM), N(SOCK_SEQPACKET), END };
static const struct syscall_name socket_flags[] = { N(SOCK_CLOEXEC), N(SOCK_NONBLOCK), END };
static const struct syscall_name ends[] = { N(SHUT_RD), N(SHUT_WR), N(SHUT_RDWR), END };
static const struct syscall_name message_flags[] = {
	N(MSG_OOB), N(MSG_PEEK), N(MSG_DONTROUTE), N(MSG_CTRUNC), N(MSG_TRUNC), N(MSG_DONTWAIT),
	N(MSG_EOR), N(MSG_WAITALL), N(MSG_ERRQUEUE), N(MSG_NOSIGNAL), N(MSG_MORE),
	N(MSG_WAITFORONE), N(MSG_FASTOPEN), N(MSG_CMSG_CLOEXEC), END };

static const struct syscall_name ring_enters[] = {
	N(IORING_ENTER_GETEVENTS), N(IORING_ENTER_SQ_WAKEUP), N(IORING_ENTER_SQ_WAIT),
	N(IORING_ENTER_EXT_ARG), N(IORING_ENTER_REGISTERED_RING), END };
static const struct syscall_name ring_registers[] = {
	N(IORING_REGISTER_BUFFERS), N(IORING_UNREGISTER_BUFFERS), N(IORING_REGISTER_FILES),
	N(IORING_UNREGISTER_FILES), N(IORING_REGISTER_EVENTFD), N(IORING_UNREGISTER_EVENTFD),
	N(IORING_REGISTER_FILES_UPDATE), N(IORING_REGISTER_EVENTFD_ASYNC),
	N(IORING_REGISTER_PROBE), N(IORING_REGISTER_PERSONALITY),
	N(IORING_UNREGISTER_PERSONALITY), N(IORING_REGISTER_RESTRICTIONS),
	N(IORING_REGISTER_ENABLE_RINGS), N(IORING_REGISTER_FILES2),
	N(IORING_REGISTER_FILES_UPDATE2), N(IORING_REGISTER_BUFFERS2),
	N(IORING_REGISTER_BUFFERS_UPDATE), N(IORING_REGISTER_IOWQ_AFF),
	N(IORING_UNREGISTER_IOWQ_AFF), N(IORING_REGISTER_IOWQ_MAX_WORKERS),
	N(IORING_REGISTER_RING_FDS), N(IORING_UNREGISTER_RING_FDS),
	N(IORING_REGISTER_PBUF_RING), N(IORING_UNREGISTER_PBUF_RING),
	N(IORING_REGISTER_SYNC_CANCEL), N(IORING_REGISTER_FILE_ALLOC_RANGE), END };
static const struct syscall_name epoll_operations[] = {
	N(EPOLL_CTL_ADD), N(EPOLL_CTL_DEL), N(EPOLL_CTL_MOD), END };
static const struct syscall_name epolls[] = { N(EPOLL_CLOEXEC), END };
static const struct syscall_name eventfds[] = {
	N(EFD_CLOEXEC), N(EFD_NONBLOCK), N(EFD_SEMAPHORE), END };
static const struct syscall_name timerfds[] = { N(TFD_CLOEXEC), N(TFD_NONBLOCK), END };
static const struct syscall_name timer_sets[] = {
	N(TFD_TIMER_ABSTIME), N(TFD_TIMER_CANCEL_ON_SET), END };
static const struct syscall_name sleeps[] = { N(TIMER_ABSTIME), END };
static const struct syscall_name clocks[] = {
	N(CLOCK_REALTIME), N(CLOCK_MONOTONIC), N(CLOCK_PROCESS_CPUTIME_ID),
	N(CLOCK_THREAD_CPUTIME_ID), N(CLOCK_MONOTONIC_RAW), N(CLOCK_REALTIME_COARSE),
	N(CLOCK_MONOTONIC_COARSE), N(CLOCK_BOOTTIME), N(CLOCK_REALTIME_ALARM),
	N(CLOCK_BOOTTIME_ALARM), N(CLOCK_TAI), END };
static const struct syscall_name timers[] = {
	N(ITIMER_REAL), N(ITIMER_VIRTUAL), N(ITIMER_PROF), END };

static const struct syscall_name futexes[] = {
	N(FUTEX_WAIT), N(FUTEX_WAKE), N(FUTEX_FD), N(FUTEX_REQUEUE), N(FUTEX_CMP_REQUEUE),
	N(FUTEX_WAKE_OP), N(FUTEX_LOCK_PI), N(FUTEX_UNLOCK_PI), N(FUTEX_TRYLOCK_PI),
	N(FUTEX_WAIT_BITSET), N(FUTEX_WAKE_BITSET), N(FUTEX_WAIT_REQUEUE_PI),
	N(FUTEX_CMP_REQUEUE_PI), N(FUTEX_WAIT_PRIVATE), N(FUTEX_WAKE_PRIVATE),
	N(FUTEX_REQUEUE_PRIVATE), N(FUTEX_CMP_REQUEUE_PRIVATE), N(FUTEX_WAKE_OP_PRIVATE),
	N(FUTEX_LOCK_PI_PRIVATE), N(FUTEX_UNLOCK_PI_PRIVATE), N(FUTEX_TRYLOCK_PI_PRIVATE),
	N(FUTEX_WAIT_BITSET_PRIVATE), N(FUTEX_WAKE_BITSET_PRIVATE),
	N(FUTEX_WAIT_REQUEUE_PI_PRIVATE), N(FUTEX_CMP_REQUEUE_PI_PRIVATE), END };
static const struct syscall_name futex_clock[] = { N(FUTEX_CLOCK_REALTIME), END };
static const struct syscall_name signals[] = {
	N(SIGHUP), N(SIGINT), N(SIGQUIT), N(SIGILL), N(SIGTRAP), N(SIGABRT), N(SIGBUS), N(SIGFPE),
	N(SIGKILL), N(SIGUSR1), N(SIGSEGV), N(SIGUSR2), N(SIGPIPE), N(SIGALRM), N(SIGTERM),
	N(SIGSTKFLT), N(SIGCHLD), N(SIGCONT), N(SIGSTOP), N(SIGTSTP), N(SIGTTIN), N(SIGTTOU),
	N(SIGURG), N(SIGXCPU), N(SIGXFSZ), N(SIGVTALRM), N(SIGPROF), N(SIGWINCH), N(SIGIO),
	N(SIGPWR), N(SIGSYS), END };
static const struct syscall_name masks[] = { N(SIG_BLOCK), N(SIG_UNBLOCK), N(SIG_SETMASK), END };
/* Without CLONE_NEWTIME, one of the bits of CSIGNAL: in clone's flags the signal to the parent
 * stands there. */
static const struct syscall_name clones[] = {
	N(CLONE_VM), N(CLONE_FS), N(CLONE_FILES), N(CLONE_SIGHAND), N(CLONE_PIDFD),
	N(CLONE_PTRACE), N(CLONE_VFORK), N(CLONE_PARENT), N(CLONE_THREAD), N(CLONE_NEWNS),
	N(CLONE_SYSVSEM), N(CLONE_SETTLS), N(CLONE_PARENT_SETTID), N(CLONE_CHILD_CLEARTID),
	N(CLONE_DETACHED), N(CLONE_UNTRACED), N(CLONE_CHILD_SETTID), N(CLONE_NEWCGROUP),
	N(CLONE_NEWUTS), N(CLONE_NEWIPC), N(CLONE_NEWUSER), N(CLONE_NEWPID), N(CLONE_NEWNET),
	N(CLONE_IO), END };
/* WSTOPPED is WUNTRACED too, wait4's word for the bit. A bit has one name, or its second name would
 * never be met. */
static const struct syscall_name waits[] = {
	N(WNOHANG), N(WSTOPPED), N(WEXITED), N(WCONTINUED), N(WNOWAIT), N(__WNOTHREAD), N(__WALL),
	N(__WCLONE), END };
static const struct syscall_name waited[] = { N(P_ALL), N(P_PID), N(P_PGID), END };
static const struct syscall_name limits[] = {
	N(RLIMIT_CPU), N(RLIMIT_FSIZE), N(RLIMIT_DATA), N(RLIMIT_STACK), N(RLIMIT_CORE),
	N(RLIMIT_RSS), N(RLIMIT_NPROC), N(RLIMIT_NOFILE), N(RLIMIT_MEMLOCK), N(RLIMIT_AS),
	N(RLIMIT_LOCKS), N(RLIMIT_SIGPENDING), N(RLIMIT_MSGQUEUE), N(RLIMIT_NICE),
	N(RLIMIT_RTPRIO), N(RLIMIT_RTTIME), END };
static const struct syscall_name usages[] = {
	N(RUSAGE_SELF), N(RUSAGE_CHILDREN), N(RUSAGE_THREAD), END };
static const struct syscall_name process_options[] = {
	N(PR_SET_PDEATHSIG), N(PR_GET_PDEATHSIG), N(PR_GET_DUMPABLE), N(PR_SET_DUMPABLE),
	N(PR_GET_KEEPCAPS), N(PR_SET_KEEPCAPS), N(PR_SET_NAME), N(PR_GET_NAME), N(PR_GET_SECCOMP),
	N(PR_SET_SECCOMP), N(PR_CAPBSET_READ), N(PR_CAPBSET_DROP), N(PR_GET_SECUREBITS),
	N(PR_SET_SECUREBITS), N(PR_SET_TIMERSLACK), N(PR_GET_TIMERSLACK), N(PR_SET_MM),
	N(PR_SET_CHILD_SUBREAPER), N(PR_GET_CHILD_SUBREAPER), N(PR_SET_NO_NEW_PRIVS),
	N(PR_GET_NO_NEW_PRIVS), N(PR_SET_THP_DISABLE), N(PR_GET_THP_DISABLE), N(PR_CAP_AMBIENT),
	END };
static const struct syscall_name policies[] = {
	N(SCHED_OTHER), N(SCHED_FIFO), N(SCHED_RR), N(SCHED_BATCH), N(SCHED_IDLE), END };
static const struct syscall_name randoms[] = { N(GRND_NONBLOCK), N(GRND_RANDOM), END };
static const struct syscall_name mounts[] = {
	N(MS_RDONLY), N(MS_NOSUID), N(MS_NODEV), N(MS_NOEXEC), N(MS_SYNCHRONOUS), N(MS_REMOUNT),
	N(MS_NOATIME), N(MS_NODIRATIME), N(MS_BIND), N(MS_MOVE), N(MS_REC), N(MS_SILENT),
	N(MS_UNBINDABLE), N(MS_PRIVATE), N(MS_SLAVE), N(MS_SHARED), N(MS_RELATIME),
	N(MS_STRICTATIME), END };
static const struct syscall_name umounts[] = {
	N(MNT_FORCE), N(MNT_DETACH), N(MNT_EXPIRE), N(UMOUNT_NOFOLLOW), END };

#define SYMBOL(call, argument, symbols) { call, argument, UINT32_MAX, symbols, NULL, false }
#define FLAGS(call, argument, flags) { call, argument, 0, NULL, flags, false }
/* SOCK_TYPE_MASK of the kernel's include/linux/net.h, which programs' headers do not have. */
#define SOCKET_TYPE_BITS 0xfu
#define MAP_TYPE_BITS (MAP_SHARED | MAP_PRIVATE | MAP_SHARED_VALIDATE)

/* One row an argument. */
static const struct syscall_named all[] = {
	SYMBOL(NULL, "dfd", directories),
	SYMBOL(NULL, "olddfd", directories),
	SYMBOL(NULL, "newdfd", directories),
	SYMBOL(NULL, "from_dfd", directories),
	SYMBOL(NULL, "to_dfd", directories),
	SYMBOL(NULL, "which_clock", clocks),
	SYMBOL("kill", "sig", signals),
	SYMBOL("tkill", "sig", signals),
	SYMBOL("tgkill", "sig", signals),
	SYMBOL("rt_sigaction", "sig", signals),
	SYMBOL("rt_sigqueueinfo", "sig", signals),
	SYMBOL("rt_tgsigqueueinfo", "sig", signals),
	SYMBOL("pidfd_send_signal", "sig", signals),
	{ "open", "flags", O_ACCMODE, access_modes, opened, false },
	FLAGS("access", "mode", permissions),
	FLAGS("faccessat", "mode", permissions),
	FLAGS("faccessat2", "mode", permissions),
	FLAGS("faccessat2", "flags", access_flags),
	FLAGS("newfstatat", "flag", at_flags),
	FLAGS("statx", "flags", statx_flags),
	FLAGS("fchownat", "flag", at_flags),
	FLAGS("fchmodat2", "flags", at_flags),
	FLAGS("utimensat", "flags", at_flags),
	FLAGS("linkat", "flags", at_flags),
	FLAGS("execveat", "flags", at_flags),
	FLAGS("unlinkat", "flag", unlinked),
	FLAGS("renameat2", "flags", renamed),
	FLAGS("pipe2", "flags", descriptors),
	FLAGS("dup3", "flags", descriptors),
	SYMBOL("lseek", "whence", whence),
	SYMBOL("fcntl", "cmd", file_commands),
	SYMBOL("fadvise64", "advice", advised),
	FLAGS("flock", "cmd", locks),
	SYMBOL("ioctl", "cmd", terminal_requests),
	FLAGS("mmap", "prot", protections),
	{ "mmap", "flags", MAP_TYPE_BITS, map_types, map_flags, false },
	FLAGS("mprotect", "prot", protections),
	FLAGS("pkey_mprotect", "prot", protections),
	FLAGS("mremap", "flags", remaps),
	FLAGS("msync", "flags", syncs),
	SYMBOL("madvise", "behavior", advices),
	SYMBOL("process_madvise", "behavior", advices),
	FLAGS("mlockall", "flags", mlocks),
	FLAGS("memfd_create", "flags", memfds),
	SYMBOL("socket", "family", families),
	{ "socket", "type", SOCKET_TYPE_BITS, socket_types, socket_flags, false },
	SYMBOL("socketpair", "family", families),
	{ "socketpair", "type", SOCKET_TYPE_BITS, socket_types, socket_flags, false },
	FLAGS("accept4", "flags", socket_flags),
	SYMBOL("shutdown", "how", ends),
	FLAGS("sendto", "flags", message_flags),
	FLAGS("recvfrom", "flags", message_flags),
	FLAGS("sendmsg", "flags", message_flags),
	FLAGS("recvmsg", "flags", message_flags),
	FLAGS("sendmmsg", "flags", message_flags),
	FLAGS("recvmmsg", "flags", message_flags),
	FLAGS("io_uring_enter", "flags", ring_enters),
	SYMBOL("io_uring_register", "opcode", ring_registers),
	SYMBOL("epoll_ctl", "op", epoll_operations),
	FLAGS("epoll_create1", "flags", epolls),
	FLAGS("eventfd2", "flags", eventfds),
	SYMBOL("timerfd_create", "clockid", clocks),
	FLAGS("timerfd_create", "flags", timerfds),
	FLAGS("timerfd_settime", "flags", timer_sets),
	FLAGS("clock_nanosleep", "flags", sleeps),
	SYMBOL("setitimer", "which", timers),
	SYMBOL("getitimer", "which", timers),
	/* FUTEX_PRIVATE_FLAG counts to the word: the header has a name for each operation with
	 * it. */
	{ "futex", "op", ~(uint32_t)FUTEX_CLOCK_REALTIME, futexes, futex_clock, false },
	SYMBOL("rt_sigprocmask", "how", masks),
	{ "clone", "clone_flags", CSIGNAL, signals, clones, true },
	FLAGS("unshare", "unshare_flags", clones),
	FLAGS("wait4", "options", waits),
	FLAGS("waitid", "options", waits),
	SYMBOL("waitid", "which", waited),
	SYMBOL("prlimit64", "resource", limits),
	SYMBOL("getrlimit", "resource", limits),
	SYMBOL("setrlimit", "resource", limits),
	SYMBOL("getrusage", "who", usages),
	SYMBOL("prctl", "option", process_options),
	SYMBOL("sched_setscheduler", "policy", policies),
	FLAGS("getrandom", "flags", randoms),
	FLAGS("mount", "flags", mounts),
	FLAGS("umount", "flags", umounts),
};

/* The kernel's own format of openat has to stay byte for byte. */
static bool is_row(const struct syscall_named *n, const char *call, const char *argument)
{
	return strcmp(n->argument, argument) == 0 &&
	       (n->call ? strcmp(n->call, call) == 0 : strcmp(call, "openat") != 0);
}

static const struct syscall_named *find_row(const struct syscall_named *rows, size_t n,
					    const char *call, const char *argument)
{
	for (size_t i = 0; i < n; i++)
		if (is_row(&rows[i], call, argument))
			return &rows[i];
	return NULL;
}

/* NULL: the argument is a number without names. The first row that fits counts; a row without a
 * call fits all. */
const struct syscall_named *syscall_named(const char *call, const char *argument)
{
	size_t n;
	const struct syscall_named *constants = syscall_constants(&n), *named;

	named = find_row(all, sizeof(all) / sizeof(*all), call, argument);
	return named ? named : find_row(constants, n, call, argument);
}

/* A number with a low part that is one of several words, and flags above it, as open()'s flags
 * have. */
static bool has_both(const struct syscall_named *n)
{
	return n->symbols && n->flags;
}

/* One %s for each expression that syscall_named_expressions() writes: the two belong together. */
void syscall_named_conversions(const struct syscall_named *n, FILE *f)
{
	fputs(!has_both(n) ? "%s" : n->low_last ? "%s%s%s%s" : "%s%s%s", f);
}

/* Writes ", { 0x1, "NAME" }" for each name. */
static void print_names(const struct syscall_name *names, FILE *f)
{
	for (; names->name; names++)
		fprintf(f, ", { 0x%x, \"%s\" }", names->value, names->name);
}

/* For a number that is one of several words. */
static void print_symbols(const struct syscall_named *n, const char *value, FILE *f)
{
	fprintf(f, "__print_symbolic(%s", value);
	print_names(n->symbols, f);
	fputc(')', f);
}

/* libtraceevent's __print_flags prints nothing for 0, whatever the list has. So 0 has a branch of
 * its own, with `zero`, or with the list's first name if that one is of 0 (F_OK of access). */
static void print_flags(const struct syscall_named *n, const char *value, const char *zero, FILE *f)
{
	const struct syscall_name *names = n->flags;

	if (!names->value) {
		zero = names->name;
		names++;
	}
	fprintf(f, "(%s) ? __print_flags(%s, \"|\"", value, value);
	print_names(names, f);
	fprintf(f, ") : \"%s\"", zero);
}

/* A value without masks takes half of it: "REC->", a name of at most 29 characters, and the mask of
 * an int. A cut expression would make the whole format unreadable. */
#define VALUE_BYTES 96 /* of "REC->NAME & MASK & MASK" */

/* Writes both parts, and a bar between them if both are there. A print format has one expression
 * for each %s: so the bar is an expression, too, which may be empty. */
static void print_both(const struct syscall_named *n, const char *value, FILE *f)
{
	char low[VALUE_BYTES], high[VALUE_BYTES];

	snprintf(low, sizeof(low), "%s & 0x%x", value, n->low);
	snprintf(high, sizeof(high), "%s & ~0x%x", value, n->low);
	if (n->low_last) {
		fputs(", ", f);
		print_flags(n, high, "", f);
		fprintf(f, ", (%s) && (%s) ? \"|\" : \"\", (%s) ? ", low, high, low);
		print_symbols(n, low, f);
		/* libtraceevent misreads a ?: behind another. */
		fprintf(f, " : \"\", (%s) ? \"\" : \"0\"", value);
		return;
	}
	fputs(", ", f);
	print_symbols(n, low, f);
	fprintf(f, ", (%s) ? \"|\" : \"\", ", high);
	print_flags(n, high, "", f);
}

/* For the print format of the event. Registers have 64 bits, of which an int's upper half is
 * nobody's: it is masked. */
void syscall_named_expressions(const struct syscall_named *n, const char *type, FILE *f)
{
	bool is_long = strstr(type, "long") != NULL;
	char value[VALUE_BYTES / 2];

	snprintf(value, sizeof(value), "REC->%s%s", n->argument, is_long ? "" : " & 0xffffffff");
	if (has_both(n)) {
		print_both(n, value, f);
		return;
	}
	fputs(", ", f);
	if (n->symbols)
		print_symbols(n, value, f);
	else
		print_flags(n, value, "0", f);
}

/* Writes the names of all bits, and the rest; `before`: something stands there already. A row of 0
 * is left out: each number has all its bits. */
static void write_flags(const struct syscall_name *names, uint64_t v, bool before, FILE *f)
{
	for (; names->name; names++) {
		if (!names->value || (v & names->value) != names->value)
			continue;
		fprintf(f, "%s%s", before ? "|" : "", names->name);
		before = true;
		v &= ~(uint64_t)names->value;
	}
	if (v)
		fprintf(f, "%s0x%llx", before ? "|" : "", (unsigned long long)v);
}

/* A number without a word is shown as such, in hexadecimal; 0 as it is. */
static void write_symbol(const struct syscall_name *names, uint64_t v, FILE *f)
{
	while (names->name && names->value != v)
		names++;
	if (names->name)
		fputs(names->name, f);
	else
		fprintf(f, v ? "0x%llx" : "%llu", (unsigned long long)v);
}

/* The print format's words, made here for lines that no format prints. `low` has 32 bits, and says
 * nothing where there are no flags: as a mask it would take the upper half off a long, and a wrong
 * number would be shown as a right word. */
void syscall_named_text(const struct syscall_named *n, const char *type, uint64_t value, FILE *f)
{
	uint64_t v = strstr(type, "long") ? value : (uint32_t)value;
	uint64_t low = n->flags ? v & n->low : v, high = v & ~low;

	if (!n->symbols && !v) {
		fputs(n->flags->name && !n->flags->value ? n->flags->name : "0", f);
		return;
	}
	if (n->low_last && high)
		write_flags(n->flags, high, false, f);
	if (n->symbols && (!n->low_last || low)) {
		fputs(n->low_last && high ? "|" : "", f);
		write_symbol(n->symbols, low, f);
	}
	if (n->flags && !n->low_last)
		write_flags(n->flags, high, n->symbols != NULL, f);
	if (n->low_last && !v)
		fputc('0', f);
}

/* Whether the call has an argument of that name. */
static bool has_argument(const struct syscall_info *s, const char *argument)
{
	char name[VALUE_BYTES];

	for (unsigned i = 0; i < syscall_arguments(s); i++) {
		syscall_argument(s, i, NULL, name, sizeof(name));
		if (strcmp(name, argument) == 0)
			return true;
	}
	return false;
}

/* Whether some call has the argument of the row. */
static bool is_right(const struct syscall_named *row)
{
	size_t n;
	const struct syscall_info *calls = syscalls_all(&n);

	for (size_t i = 0; i < n; i++)
		if ((!row->call || strcmp(row->call, calls[i].name) == 0) &&
		    has_argument(&calls[i], row->argument))
			return true;
	return false;
}

/* For the test: each row names an argument that some call has. A misspelt one would never be
 * met. */
bool syscall_names_are_right(size_t *rows)
{
	size_t n, n_all = sizeof(all) / sizeof(*all);
	const struct syscall_named *constants = syscall_constants(&n);

	*rows = n_all + n;
	for (size_t i = 0; i < *rows; i++)
		if (!is_right(i < n_all ? &all[i] : &constants[i - n_all]))
			return false;
	return true;
}
