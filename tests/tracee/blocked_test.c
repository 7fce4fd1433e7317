/* A thread in each system call that sleeps: held hundreds of times it must not see EINTR, and
 * when what it waits for comes, it must get it. */
#include "child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tracee/proc_status.h"

#define CYCLES 200
#define LONG_MS 100000
static const struct timespec long_time = { 100, 0 };
static const struct timeval long_timeval = { 100, 0 };

/* The object a case waits on; made before its thread starts. */
struct place {
	int fds[2];
	int epoll;
	uint32_t word;
	int ipc;
	aio_context_t aio;
	pid_t pid;
	pthread_t thread;
};

/* --- things to wait on ---------------------------------------------------------------------- */

static void make_pipe(struct place *p)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (pipe(p->fds) < 0)
		abort();
	p->epoll = epoll_create1(0);
	epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->fds[0], &event);
}

static void wake_pipe(struct place *p)
{
	if (write(p->fds[1], "x", 1) != 1)
		abort();
}

static void make_sockets(struct place *p)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p->fds) < 0)
		abort();
	setsockopt(p->fds[0], SOL_SOCKET, SO_RCVTIMEO, &long_timeval, sizeof(long_timeval));
	setsockopt(p->fds[0], SOL_SOCKET, SO_SNDTIMEO, &long_timeval, sizeof(long_timeval));
}

static void make_full_sockets(struct place *p)
{
	char bytes[4096] = { 0 };

	make_sockets(p);
	while (send(p->fds[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void drain(struct place *p)
{
	char bytes[65536];

	while (recv(p->fds[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void make_listener(struct place *p)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	p->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	p->fds[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	setsockopt(p->fds[0], SOL_SOCKET, SO_RCVTIMEO, &long_timeval, sizeof(long_timeval));
	if (bind(p->fds[0], (struct sockaddr *)&name, sizeof(sa_family_t)) < 0 || listen(p->fds[0], 1) < 0)
		abort();
}

static void wake_listener(struct place *p)
{
	struct sockaddr_un name;
	socklen_t n = sizeof(name);

	if (getsockname(p->fds[0], (struct sockaddr *)&name, &n) < 0 || connect(p->fds[1], (struct sockaddr *)&name, n) < 0)
		abort();
}

static void make_semaphore(struct place *p)
{
	p->ipc = semget(IPC_PRIVATE, 1, 0600);
}

static void wake_semaphore(struct place *p)
{
	struct sembuf up = { 0, 1, 0 };

	semop(p->ipc, &up, 1);
	sched_yield();
}

static void make_queue(struct place *p)
{
	p->ipc = msgget(IPC_PRIVATE, 0600);
}

static void wake_queue(struct place *p)
{
	struct { long type; char text[8]; } message = { 1, "x" };

	msgsnd(p->ipc, &message, 8, 0);
}

static void make_full_queue(struct place *p)
{
	struct { long type; char text[1024]; } message = { 1, "x" };

	make_queue(p);
	while (msgsnd(p->ipc, &message, 1024, IPC_NOWAIT) == 0)
		;
}

static void wake_full_queue(struct place *p)
{
	struct { long type; char text[1024]; } message;

	msgrcv(p->ipc, &message, 1024, 0, IPC_NOWAIT);
}

static void make_word(struct place *p)
{
	p->word = 0;
}

static void wake_word(struct place *p)
{
	__atomic_store_n(&p->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &p->word, FUTEX_WAKE, 1);
}

static void make_process(struct place *p)
{
	if (pipe2(p->fds, O_CLOEXEC) < 0)
		abort();
	p->pid = fork();
	if (p->pid == 0) {
		char c;

		close(p->fds[1]);
		_exit(read(p->fds[0], &c, 1) == 1 ? 0 : 1);
	}
}

static int temporary(void)
{
	char name[] = "/tmp/blocked_test.XXXXXX";
	int fd = mkstemp(name), again = open(name, O_RDWR);

	unlink(name);
	if (flock(fd, LOCK_EX) < 0)
		abort();
	dup2(again, fd + 200);
	close(again);
	return fd;
}

static void make_lock(struct place *p)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	p->fds[0] = temporary();
	p->fds[1] = p->fds[0] + 200;
	fcntl(p->fds[0], F_OFD_SETLK, &lock);
}

static void wake_lock(struct place *p)
{
	struct flock unlock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	flock(p->fds[0], LOCK_UN);
	fcntl(p->fds[0], F_OFD_SETLK, &unlock);
}

static void make_aio(struct place *p)
{
	syscall(SYS_io_setup, 8, &p->aio);
	make_pipe(p);
}

static void wake_aio(struct place *p)
{
	struct iocb poll = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = (uint32_t)p->fds[0], .aio_buf = POLLIN };
	struct iocb *list[1] = { &poll };

	wake_pipe(p);
	if (syscall(SYS_io_submit, p->aio, 1, list) != 1)
		abort();
}

static void make_timer(struct place *p)
{
	p->fds[0] = timerfd_create(CLOCK_MONOTONIC, 0);
}

static void wake_timer(struct place *p)
{
	const struct itimerspec soon = { .it_value = { 0, 1 } };

	timerfd_settime(p->fds[0], 0, &soon, NULL);
}

static void make_mqueue(struct place *p)
{
	char name[40];
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };

	snprintf(name, sizeof(name), "/blocked_test.%d", (int)getpid());
	p->fds[0] = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	mq_unlink(name);
}

static void wake_mqueue(struct place *p)
{
	mq_send(p->fds[0], "x", 1, 0);
}

static void make_signals(struct place *p)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	p->fds[0] = signalfd(-1, &set, 0);
}

static void wake_by_signal(struct place *p)
{
	pthread_kill(p->thread, SIGUSR1);
}

/* A handled signal: the call that only a signal ends. */
static void wake_by_handler(struct place *p)
{
	pthread_kill(p->thread, SIGUSR2);
}

static void make_nothing(struct place *p)
{
}

/* --- the calls ------------------------------------------------------------------------------ */

static long in_epoll_wait(struct place *p)
{
	struct epoll_event e;
	return syscall(SYS_epoll_wait, p->epoll, &e, 1, LONG_MS);
}
static long in_epoll_wait_ever(struct place *p)
{
	struct epoll_event e;
	return syscall(SYS_epoll_wait, p->epoll, &e, 1, -1);
}
static long in_epoll_pwait(struct place *p)
{
	struct epoll_event e;
	sigset_t none;
	sigfillset(&none);
	return syscall(SYS_epoll_pwait, p->epoll, &e, 1, LONG_MS, &none, 8);
}
static long in_epoll_pwait2(struct place *p)
{
	struct epoll_event e;
	return syscall(SYS_epoll_pwait2, p->epoll, &e, 1, &long_time, NULL, 8);
}
static long in_sigtimedwait(struct place *p)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return syscall(SYS_rt_sigtimedwait, &set, NULL, &long_time, 8);
}
static long in_semop(struct place *p)
{
	struct sembuf down = { 0, -1, 0 };
	return syscall(SYS_semop, p->ipc, &down, 1);
}
static long in_semtimedop(struct place *p)
{
	struct sembuf down = { 0, -1, 0 };
	return syscall(SYS_semtimedop, p->ipc, &down, 1, &long_time);
}
static long in_msgrcv(struct place *p)
{
	struct { long type; char text[8]; } message;
	return syscall(SYS_msgrcv, p->ipc, &message, 8, 0, 0);
}
static long in_msgsnd(struct place *p)
{
	struct { long type; char text[1024]; } message = { 1, "" };
	return syscall(SYS_msgsnd, p->ipc, &message, 1024, 0);
}
static long in_io_getevents(struct place *p)
{
	struct io_event e;
	return syscall(SYS_io_getevents, p->aio, 1, 1, &e, &long_time);
}
static long in_recv(struct place *p)
{
	char c;
	return syscall(SYS_recvfrom, p->fds[0], &c, 1, 0, NULL, NULL);
}
static long in_recvmsg(struct place *p)
{
	char c;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	return syscall(SYS_recvmsg, p->fds[0], &m, 0);
}
static long in_socket_read(struct place *p)
{
	char c;
	return syscall(SYS_read, p->fds[0], &c, 1);
}
static long in_send(struct place *p)
{
	return syscall(SYS_sendto, p->fds[0], "x", 1, 0, NULL, 0);
}
static long in_sendmsg(struct place *p)
{
	char c = 'x';
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	return syscall(SYS_sendmsg, p->fds[0], &m, 0);
}
static long in_socket_write(struct place *p)
{
	return syscall(SYS_write, p->fds[0], "x", 1);
}
static long in_accept(struct place *p)
{
	return syscall(SYS_accept, p->fds[0], NULL, NULL);
}
static long in_accept4(struct place *p)
{
	return syscall(SYS_accept4, p->fds[0], NULL, NULL, 0);
}
static long in_read(struct place *p)
{
	char c[8];
	return syscall(SYS_read, p->fds[0], c, 8);
}
static long in_signalfd(struct place *p)
{
	struct signalfd_siginfo info;
	return syscall(SYS_read, p->fds[0], &info, sizeof(info));
}
static long in_poll(struct place *p)
{
	struct pollfd f = { p->fds[0], POLLIN, 0 };
	return syscall(SYS_poll, &f, 1, LONG_MS);
}
static long in_ppoll(struct place *p)
{
	struct pollfd f = { p->fds[0], POLLIN, 0 };
	struct timespec time = long_time;
	return syscall(SYS_ppoll, &f, 1, &time, NULL, 8);
}
static long in_select(struct place *p)
{
	struct timeval time = long_timeval;
	fd_set set;
	FD_ZERO(&set);
	FD_SET(p->fds[0], &set);
	return syscall(SYS_select, p->fds[0] + 1, &set, NULL, NULL, &time);
}
static long in_pselect(struct place *p)
{
	struct timespec time = long_time;
	fd_set set;
	FD_ZERO(&set);
	FD_SET(p->fds[0], &set);
	return syscall(SYS_pselect6, p->fds[0] + 1, &set, NULL, NULL, &time, NULL);
}
static long in_futex(struct place *p)
{
	return syscall(SYS_futex, &p->word, FUTEX_WAIT, 0, NULL);
}
static long in_futex_timed(struct place *p)
{
	return syscall(SYS_futex, &p->word, FUTEX_WAIT, 0, &long_time);
}
static long in_wait4(struct place *p)
{
	return syscall(SYS_wait4, p->pid, NULL, 0, NULL);
}
static long in_waitid(struct place *p)
{
	return syscall(SYS_waitid, P_PID, p->pid, NULL, WEXITED, NULL);
}
static long in_flock(struct place *p)
{
	return syscall(SYS_flock, p->fds[1], LOCK_EX);
}
static long in_fcntl(struct place *p)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	return syscall(SYS_fcntl, p->fds[1], F_OFD_SETLKW, &lock);
}
static long in_mq_receive(struct place *p)
{
	char text[8];
	return syscall(SYS_mq_timedreceive, p->fds[0], text, 8, NULL, NULL);
}
/* These end with EINTR, but for a handled signal only. */
static long in_pause(struct place *p)
{
	syscall(SYS_pause);
	return p->word ? 0 : -1;
}
static long in_sigsuspend(struct place *p)
{
	sigset_t none;
	sigemptyset(&none);
	sigaddset(&none, SIGUSR1);
	syscall(SYS_rt_sigsuspend, &none, 8);
	return p->word ? 0 : -1;
}

static const struct {
	const char *name;
	void (*make)(struct place *);
	long (*block)(struct place *);
	void (*wake)(struct place *);
} cases[] = {
	{ "epoll_wait", make_pipe, in_epoll_wait, wake_pipe },
	{ "epoll_wait, no limit", make_pipe, in_epoll_wait_ever, wake_pipe },
	{ "epoll_pwait", make_pipe, in_epoll_pwait, wake_pipe },
	{ "epoll_pwait2", make_pipe, in_epoll_pwait2, wake_pipe },
	{ "rt_sigtimedwait", make_nothing, in_sigtimedwait, wake_by_signal },
	{ "semop", make_semaphore, in_semop, wake_semaphore },
	{ "semtimedop", make_semaphore, in_semtimedop, wake_semaphore },
	{ "msgrcv", make_queue, in_msgrcv, wake_queue },
	{ "msgsnd", make_full_queue, in_msgsnd, wake_full_queue },
	{ "io_getevents", make_aio, in_io_getevents, wake_aio },
	{ "recvfrom", make_sockets, in_recv, wake_pipe },
	{ "recvmsg", make_sockets, in_recvmsg, wake_pipe },
	{ "read of a socket", make_sockets, in_socket_read, wake_pipe },
	{ "sendto", make_full_sockets, in_send, drain },
	{ "sendmsg", make_full_sockets, in_sendmsg, drain },
	{ "write to a socket", make_full_sockets, in_socket_write, drain },
	{ "accept", make_listener, in_accept, wake_listener },
	{ "accept4", make_listener, in_accept4, wake_listener },
	{ "read of a pipe", make_pipe, in_read, wake_pipe },
	{ "read of a signalfd", make_signals, in_signalfd, wake_by_signal },
	{ "read of a timerfd", make_timer, in_read, wake_timer },
	{ "poll", make_pipe, in_poll, wake_pipe },
	{ "ppoll", make_pipe, in_ppoll, wake_pipe },
	{ "select", make_pipe, in_select, wake_pipe },
	{ "pselect6", make_pipe, in_pselect, wake_pipe },
	{ "futex", make_word, in_futex, wake_word },
	{ "futex with a limit", make_word, in_futex_timed, wake_word },
	{ "wait4", make_process, in_wait4, wake_pipe },
	{ "waitid", make_process, in_waitid, wake_pipe },
	{ "flock", make_lock, in_flock, wake_lock },
	{ "fcntl", make_lock, in_fcntl, wake_lock },
	{ "mq_timedreceive", make_mqueue, in_mq_receive, wake_mqueue },
	{ "pause", make_nothing, in_pause, wake_by_handler },
	{ "rt_sigsuspend", make_nothing, in_sigsuspend, wake_by_handler },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* --- the process ---------------------------------------------------------------------------- */

static struct report *report;
static struct place places[CASES];

static void handler(int signal)
{
	for (size_t i = 0; i < CASES; i++)
		if (pthread_equal(places[i].thread, pthread_self()))
			places[i].word = 1;
}

static void *sleeper(void *arg)
{
	size_t i = (size_t)((struct place *)arg - places);
	sigset_t set;
	long r;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (cases[i].block == in_pause)
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	report->ready++;
	r = cases[i].block(arg);
	report->counts[i] = r < 0 ? (uint64_t)errno : 1000;
	return NULL;
}

static void sleeping(struct report *rep)
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t set;

	report = rep;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (size_t i = 0; i < CASES; i++) {
		cases[i].make(&places[i]);
		pthread_create(&places[i].thread, NULL, sleeper, &places[i]);
	}
	while (!rep->stop)
		usleep(1000);
	for (size_t i = 0; i < CASES; i++) {
		if (rep->counts[i] == 0)
			cases[i].wake(&places[i]);
		pthread_join(places[i].thread, NULL);
		if (cases[i].make == make_semaphore)
			semctl(places[i].ipc, 0, IPC_RMID);
		if (cases[i].make == make_queue || cases[i].make == make_full_queue)
			msgctl(places[i].ipc, IPC_RMID, NULL);
	}
}

static bool all_sleep(pid_t pid)
{
	char name[32];
	struct dirent *e;
	struct proc_stat stat;
	bool all = true;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	d = opendir(name);
	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && tid != pid && proc_stat_read(pid, tid, &stat) == 0 && stat.state != 'S')
			all = false;
	}
	closedir(d);
	return all;
}

typedef void cycle(pid_t pid);

static void check_cycles(cycle *do_it)
{
	struct report *rep;
	struct child c = child_start(sleeping, CASES);
	uint64_t counts[CASES];
	int status, bad = 0;

	wait_until(all_sleep(c.pid));
	for (int i = 0; i < CYCLES; i++) {
		do_it(c.pid);
		wait_until(all_sleep(c.pid));
	}
	for (size_t i = 0; i < CASES; i++)
		if (c.report->counts[i]) {
			print_message("%s was ended by being held: %s\n", cases[i].name, strerror((int)c.report->counts[i]));
			bad++;
		}
	rep = c.report;
	rep->stop = 1;
	assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
	memcpy(counts, (const void *)rep->counts, sizeof(counts));
	munmap(rep, sizeof(*rep));
	assert_int_equal(status, 0);
	for (size_t i = 0; i < CASES; i++)
		if (counts[i] != 1000) {
			print_message("%s did not get what it waited for: %d\n", cases[i].name, (int)counts[i]);
			bad++;
		}
	assert_int_equal(bad, 0);
}

static void hold_it(pid_t pid)
{
	hold_once(pid);
}

/* Each thread in turn is borrowed, by itself: the others stay out by being held back. */
static void borrow_it(pid_t pid)
{
	const uint64_t none[6] = { 0 };
	struct tracee *t;
	struct err err;
	int64_t result;

	assert_int_equal(tracee_stop(pid, &t, &err), 0);
	assert_int_equal(tracee_syscall(t, SYS_getpid, none, &result, &err), 0);
	assert_int_equal(result, pid);
	tracee_release(t);
}

static void no_call_ends_for_being_held(void **state)
{
	check_cycles(hold_it);
}

static void no_call_ends_for_being_borrowed(void **state)
{
	check_cycles(borrow_it);
}

/* --- one thread, borrowed in its call ------------------------------------------------------- */

static size_t alone;

static void sleeping_alone(struct report *rep)
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t set;

	report = rep;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR2, &action, NULL);
	places[alone].thread = pthread_self();
	cases[alone].make(&places[alone]);
	sleeper(&places[alone]);
}

static void every_call_can_be_borrowed(void **state)
{
	for (alone = 0; alone < CASES; alone++) {
		struct child c = child_start(sleeping_alone, 1);
		struct proc_stat stat;

		for (int i = 0; i < 20; i++) {
			wait_until(proc_stat_read(c.pid, c.pid, &stat) == 0 && stat.state == 'S');
			borrow_it(c.pid);
		}
		wait_until(proc_stat_read(c.pid, c.pid, &stat) == 0 && stat.state == 'S');
		if (c.report->counts[alone])
			fail_msg("%s was ended: %s", cases[alone].name, strerror((int)c.report->counts[alone]));
		child_kill(&c);
	}
}

/* --- how long a sleep is -------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void napping(struct report *rep)
{
	const struct timespec nap = { 0, 400000000 };
	uint64_t start = now_ms();

	rep->ready = 1;
	if (nanosleep(&nap, NULL) < 0)
		rep->bad++;
	rep->counts[0] = now_ms() - start;
	start = now_ms();
	if (poll(NULL, 0, 400) != 0)
		rep->bad++;
	rep->counts[1] = now_ms() - start;
	start = now_ms();
	if (select(0, NULL, NULL, NULL, &(struct timeval){ 0, 400000 }) != 0)
		rep->bad++;
	rep->counts[2] = now_ms() - start;
	rep->ready = 2;
	while (!rep->stop)
		usleep(1000);
}

/* The longest of the three sleeps, in ms; none is shorter than it should be. */
static uint64_t longest_nap(void)
{
	struct child c = child_start(napping, 1);
	uint64_t longest = 0;

	while (c.report->ready < 2) {
		borrow_it(c.pid);
		usleep(5000);
	}
	assert_int_equal(c.report->bad, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(c.report->counts[i] >= 400);
		if (c.report->counts[i] > longest)
			longest = c.report->counts[i];
	}
	assert_int_equal(child_end(&c), 0);
	return longest;
}

/* A busy machine may wake the program late, not each time: a sleep that a hold lengthens is too
 * long in each of them. */
static void sleeps_keep_their_length(void **state)
{
	uint64_t longest = longest_nap();

	for (int again = 0; again < 9 && longest > 700; again++)
		longest = longest_nap();
	assert_in_range(longest, 400, 700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_call_ends_for_being_held),
		cmocka_unit_test(no_call_ends_for_being_borrowed),
		cmocka_unit_test(every_call_can_be_borrowed),
		cmocka_unit_test(sleeps_keep_their_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
