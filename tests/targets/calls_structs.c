/* SPDX-License-Identifier: MIT */
/* System calls that take or give structures, each with values that two runs have alike: what
 * tests/run/syscalls-structs.sh compares with strace. From mkdir("begin") to rmdir("begin"). */
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static char one[8], two[16], three[100];
static struct iovec parts[3] = { { one, 3 }, { two, sizeof(two) }, { three, sizeof(three) } };

/* Bad arguments, hidden from the compiler, which would warn of them. */
static struct iovec *volatile no_vector;

static void vectors(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);

	memcpy(one, "abc", 3);
	memcpy(two, "0123456789abcdef", 16);
	memset(three, 'x', sizeof(three));
	writev(fd, parts, 3);
	pwritev(fd, parts, 2, 5);
	lseek(fd, 0, SEEK_SET);
	readv(fd, parts, 3);
	readv(fd, parts, 3);
	preadv(fd, parts, 2, 2);
	ftruncate(fd, 7);
	preadv(fd, parts, 3, 0);
	lseek(fd, 2, SEEK_SET);
	sendfile(1, fd, &(off_t){ 1 }, 0);
	close(fd);
	readv(-1, parts, 2);
	readv(-1, no_vector, 2);
}

/* Several at once: sent, received as they come, and into too little room. */
static void many_messages(const int ends[2])
{
	char room[3][8] = { "" };
	struct iovec to[3] = { { room[0], 8 }, { room[1], 8 }, { room[2], 8 } };
	struct mmsghdr out[2] = { { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 2 } },
				  { .msg_hdr = { .msg_iov = parts + 1, .msg_iovlen = 1 } } },
		       in[3] = { { .msg_hdr = { .msg_iov = to, .msg_iovlen = 1 } },
				 { .msg_hdr = { .msg_iov = to + 1, .msg_iovlen = 2 } },
				 { .msg_hdr = { .msg_iov = to, .msg_iovlen = 1 } } };

	sendmmsg(ends[0], out, 2, MSG_NOSIGNAL);
	recvmmsg(ends[1], in, 2, MSG_DONTWAIT, NULL);
	recvmmsg(ends[1], in, 3, MSG_DONTWAIT, &(struct timespec){ 1, 5 });
	recvmmsg(ends[1], in, 3, MSG_DONTWAIT, NULL);
	sendmmsg(-1, out, 2, 0);
}

/* A descriptor and text, with and without a name. */
static void messages(void)
{
	union { struct cmsghdr header; char bytes[CMSG_SPACE(2 * sizeof(int))]; } control = { 0 };
	struct sockaddr_un to = { AF_UNIX, "socket of messages" }, from;
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	int ends[2], s = socket(AF_UNIX, SOCK_DGRAM, 0), fds[2] = { 0, 1 };

	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	sendmsg(ends[0], &m, 0);
	recvmsg(ends[1], &m, 0);
	recvmsg(ends[1], &m, MSG_DONTWAIT);
	m.msg_control = &control;
	m.msg_controllen = sizeof(control);
	control.header = (struct cmsghdr){ CMSG_LEN(sizeof(fds)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	sendmsg(ends[0], &m, MSG_NOSIGNAL);
	recvmsg(ends[1], &m, MSG_CMSG_CLOEXEC);
	bind(s, (struct sockaddr *)&to, sizeof(to));
	m = (struct msghdr){ &to, sizeof(to), parts, 1, NULL, 0, 0 };
	sendmsg(s, &m, 0);
	m.msg_name = &from;
	m.msg_namelen = sizeof(from);
	recvmsg(s, &m, 0);
	sendmsg(-1, &m, 0);
	sendmsg(ends[0], NULL, 0);
	many_messages(ends);
	unlink(to.sun_path);
	close(s);
	close(ends[0]);
	recvmsg(ends[1], &m, 0);
	close(ends[1]);
}

static void waits_for_descriptors(void)
{
	/* The compiler knows that there are no such objects. */
	volatile size_t all = SIZE_MAX;
	void *volatile nothing = NULL;
	int p[2], e = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[4] = { { EPOLLIN | EPOLLET, { .u64 = 77 } } };
	struct timespec t = { 0, 1000 };
	sigset_t set;
	fd_set in, out;

	pipe(p);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	struct pollfd fds[3] = { { p[0], POLLIN | POLLPRI, 0 }, { p[1], POLLOUT, 0 }, { -1, 0, 0 } };
	poll(fds, 1, 0);
	poll(fds, 3, 1000);
	ppoll(fds, 2, &t, NULL);
	ppoll(fds, 1, &t, &set);
	poll(NULL, 0, 1);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(p[0], &in);
	FD_SET(p[1], &out);
	FD_SET(1, &out);
	pselect(p[1] + 1, &in, &out, NULL, NULL, NULL);
	FD_SET(p[0], &in);
	pselect(p[0] + 1, &in, NULL, NULL, &t, &set);
	FD_SET(p[0], &in);
	select(p[1] + 1, &in, &out, NULL, &(struct timeval){ 5, 0 });
	epoll_ctl(e, EPOLL_CTL_ADD, p[0], events);
	epoll_ctl(e, EPOLL_CTL_ADD, p[0], events);
	epoll_wait(e, events, 4, 0);
	write(p[1], "x", 1);
	write(p[1], "", 0);
	write(p[1], nothing, 0);
	write(p[1], (char *)nothing + 8, all);
	read(-1, (char *)nothing + 8, all);
	epoll_wait(e, events, 4, -1);
	epoll_pwait(e, events, 4, 0, &set);
	epoll_ctl(e, EPOLL_CTL_DEL, p[0], NULL);
	ioctl(p[0], FIONREAD, &(int){ 0 });
	close(p[0]), close(p[1]), close(e);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
}

static void signals(void)
{
	struct sigaction a = { .sa_flags = SA_RESTART | SA_NODEFER }, old;
	struct timespec t = { 0, 1000 };
	siginfo_t info;
	sigset_t set, before, *volatile same_set = &set;

	sigemptyset(&a.sa_mask);
	sigaddset(&a.sa_mask, SIGINT);
	sigaddset(&a.sa_mask, SIGCHLD);
	a.sa_handler = SIG_IGN;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR1, NULL, &old);
	a.sa_handler = SIG_DFL;
	sigaction(SIGUSR1, &a, &old);
	a.sa_sigaction = on_signal;
	a.sa_flags |= SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGKILL, &a, NULL);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigdelset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigprocmask(SIG_UNBLOCK, &set, same_set);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMAX);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigtimedwait(&set, &info, &t);
	kill(getpid(), SIGHUP);
	sigpending(&before);
	sigtimedwait(&set, &info, &t);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigaltstack(&(stack_t){ three, SS_DISABLE, 0 }, &(stack_t){ 0 });
}

static void limits_and_names(void)
{
	struct rlimit l = { 64, 4096 * 1024 };
	struct utsname u;
	struct rusage r;
	struct statfs f;
	gid_t groups[3] = { 4, 5, 6 };
	uid_t ids[3];
	cpu_set_t cpus;
	int n = 0;

	getrlimit(RLIMIT_STACK, &l);
	l.rlim_cur = 1000;
	l.rlim_max = RLIM_INFINITY;
	setrlimit(RLIMIT_CORE, &l);
	prlimit(0, RLIMIT_NOFILE, NULL, &l);
	uname(&u);
	getrusage(RUSAGE_CHILDREN, &r);
	statfs("/proc", &f);
	statfs(".", &f);
	getgroups(0, NULL);
	setgroups(3, groups);
	getgroups(3, groups);
	getresuid(&ids[0], &ids[1], &ids[2]);
	getresgid(&ids[0], &ids[1], &ids[2]);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	sched_getparam(0, &(struct sched_param){ 0 });
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	prctl(PR_SET_NAME, "a new name");
	prctl(PR_GET_NAME, three);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_GET_PDEATHSIG, &n);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_KEEPCAPS, 1);
	prctl(PR_SET_KEEPCAPS, 0);
	prctl(PR_SET_TIMERSLACK, 50000);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_CAPBSET_READ, 5);
	prctl(PR_CAPBSET_READ, 40);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	ioctl(1, TCGETS, &(struct termios){ 0 });
	ioctl(1, TIOCGWINSZ, &(struct winsize){ 0 });
}

static void times_and_timers(void)
{
	struct timespec at[2] = { { 1, 2 }, { 3, UTIME_OMIT } }, left;
	struct itimerval every = { { 1, 2 }, { 1000, 0 } }, old;
	struct itimerspec spec = { { 0, 5 }, { 2000, 0 } };
	struct timeval ago[2] = { { 10, 11 }, { 12, 13 } };
	int t = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timer_t id;

	utimensat(AT_FDCWD, "file", at, 0);
	utimes("file", ago);
	utimensat(AT_FDCWD, "file", NULL, AT_SYMLINK_NOFOLLOW);
	setitimer(ITIMER_REAL, &every, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, &old);
	getitimer(ITIMER_PROF, &old);
	timerfd_settime(t, 0, &spec, NULL);
	timerfd_settime(t, TFD_TIMER_ABSTIME, &(struct itimerspec){ 0 }, NULL);
	timerfd_gettime(t, &spec);
	clock_getres(CLOCK_MONOTONIC, &left);
	nanosleep(&(struct timespec){ 0, 7 }, &left);
	timer_create(CLOCK_MONOTONIC,
		     &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 }, &id);
	timer_settime(id, 0, &(struct itimerspec){ 0 }, &spec);
	timer_gettime(id, &spec);
	timer_delete(id);
	close(t);
}

static void files(void)
{
	struct flock lock = { F_WRLCK, SEEK_SET, 0, 10, 0 };
	struct linger l = { 1, 5 };
	struct statx x;
	int fd = open("file", O_RDWR | O_APPEND), s = socket(AF_INET, SOCK_STREAM, 0), v = 1;
	socklen_t n = sizeof(v);

	fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_GETFD);
	fcntl(fd, F_SETLK, &lock);
	fcntl(fd, F_GETLK, &lock);
	close(fcntl(fd, F_DUPFD, 20));
	close(fcntl(fd, F_DUPFD_CLOEXEC, 30));
	fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100);
	statx(AT_FDCWD, "/proc/version", AT_STATX_SYNC_AS_STAT, STATX_MODE | STATX_SIZE, &x);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &v, sizeof(v));
	getsockopt(s, SOL_SOCKET, SO_TYPE, &v, &n);
	setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	n = sizeof(l);
	getsockopt(s, SOL_SOCKET, SO_LINGER, &l, &n);
	n = 1;
	getsockopt(s, SOL_SOCKET, SO_ERROR, &v, &n);
	setsockopt(s, IPPROTO_TCP, 1, &v, sizeof(v));
	close(fd), close(s);
}

static void children(void)
{
	char *argv[] = { "one", "two words", NULL }, *envp[] = { "A=1", "B=2", "C=3", NULL };
	siginfo_t info;
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(5);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	wait4(pid, &status, 0, NULL);
	wait4(-1, NULL, WNOHANG, NULL);
	execve("/nonexistent", argv, envp);
	execve("/nonexistent", argv, NULL);
	times(&(struct tms){ 0 });
}

int main(void)
{
	if (mkdir("begin", 0700))
		return 1;
	vectors();
	messages();
	waits_for_descriptors();
	signals();
	limits_and_names();
	times_and_timers();
	files();
	children();
	unlink("file");
	rmdir("begin");
	return 0;
}
