/* SPDX-License-Identifier: MIT */
/* One reader for all of brace: a copy of it (base/aside.h) that stays, because a copy for each
 * string that an event leads to would cost a millisecond. It is asked over a socket, with
 * descriptors that brace opened: opening waits for nobody, and the kernel's rules (Yama) allow
 * brace what they do not allow its copies. First it reads pages that are in memory; others only if
 * no process serves them, by one look at the mappings (served.h). A reader that does not answer in
 * time is left behind, and the next question has a new one. Called by the pump
 * (instance/eprobes.c), the main thread (ui/locks_now.c) and the tree's threads
 * (tree/user_events.c, user_word.c); `lock` is held over each question. Memory that is not there,
 * or does not come, makes the copy shorter. */
#include "tracee/running_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/page.h"
#include "base/aside.h"
#include "base/monotonic.h"
#include "tracee/served.h"

#define NO_FD (-1)
#define IN_MEMORY (UINT64_C(3) << 62) /* pagemap's bits: present, or swapped */

enum { MEMORY, PAGES, FDS };       /* /proc/PID/mem and pagemap */
struct memory_question { uint64_t address; uint32_t n; bool only_present; };
struct memory_answer { uint32_t n; uint8_t bytes[RUNNING_MEMORY_MOST]; };
union fds { struct cmsghdr h; char bytes[CMSG_SPACE(FDS * sizeof(int))]; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct aside_copy reader;
static int ours = NO_FD;           /* to the reader; NO_FD: there is none */
static unsigned in_vain;           /* waits that are not forgiven yet */
static uint64_t forgiven_ms;       /* when the last one was, or came first */

/* --- in the reader ---------------------------------------------------------------------------
 * Raw system calls only (base/aside.h). */

/* Keeps no descriptor but its socket: who waits for the end of a pipe of brace's waits for no
 * reader. */
static void close_others(int socket)
{
	if (socket > 0)
		syscall(SYS_close_range, 0, socket - 1, 0);
	syscall(SYS_close_range, socket + 1, UINT_MAX, 0);
}

/* False: brace is gone, or asks no more. */
static bool hear_question(int socket, struct memory_question *q, int fds[FDS])
{
	union fds control;
	struct iovec iov = { q, sizeof(*q) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	if (syscall(SYS_recvmsg, socket, &m, MSG_CMSG_CLOEXEC) != sizeof(*q) ||
	    m.msg_controllen < CMSG_LEN(FDS * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(&control.h), FDS * sizeof(int));
	return true;
}

static bool is_present(int pages, uint64_t at)
{
	uint64_t entry;

	return syscall(SYS_pread64, pages, &entry, sizeof(entry), at / ARCH_PAGE * sizeof(entry)) ==
		       sizeof(entry) &&
	       entry & IN_MEMORY;
}

/* Page by page. */
static void read_pages(const struct memory_question *q, const int fds[FDS], struct memory_answer *a)
{
	a->n = 0;
	while (a->n < q->n) {
		const uint64_t at = q->address + a->n;
		uint64_t left = q->n - a->n;
		long got;

		if (left > ARCH_PAGE - at % ARCH_PAGE)
			left = ARCH_PAGE - at % ARCH_PAGE;
		if (q->only_present && !is_present(fds[PAGES], at))
			return;
		got = syscall(SYS_pread64, fds[MEMORY], a->bytes + a->n, left, at);
		if (got <= 0)
			return;
		a->n += (uint32_t)got;
	}
}

static void answer_all(void *work)
{
	const int socket = *(const int *)work;
	struct memory_question q;
	struct memory_answer a;
	int fds[FDS];

	close_others(socket);
	while (hear_question(socket, &q, fds)) {
		read_pages(&q, fds, &a);
		for (int i = 0; i < FDS; i++)
			syscall(SYS_close, fds[i]);
		if (syscall(SYS_sendto, socket, &a, offsetof(struct memory_answer, bytes) + a.n,
			    MSG_NOSIGNAL, NULL, 0) <= 0)
			return;
	}
}

/* --- in brace -------------------------------------------------------------------------------- */

static void leave_reader(void)
{
	close(ours);
	ours = NO_FD;
	aside_end(&reader);
}

static bool begin_reader(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	if (aside_begin(answer_all, &pair[1], &reader) == 0)
		ours = pair[0];
	else
		close(pair[0]);
	close(pair[1]);
	return ours != NO_FD;
}

static bool ask(const int fds[FDS], const struct memory_question *q)
{
	const size_t bytes = CMSG_LEN(FDS * sizeof(int));
	union fds control = { .h = { bytes, SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { (void *)q, sizeof(*q) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.h), fds, FDS * sizeof(int));
	return sendmsg(ours, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*q);
}

/* Whether there may be another wait in vain. */
static bool is_patient(void)
{
	const uint64_t now = monotonic_ms();

	for (; in_vain && now - forgiven_ms >= RUNNING_MEMORY_AGAIN_MS; in_vain--)
		forgiven_ms += RUNNING_MEMORY_AGAIN_MS;
	if (!in_vain)
		forgiven_ms = now;
	return in_vain < RUNNING_MEMORY_IN_VAIN;
}

/* Whether something can be heard in time: an answer, or that the reader is gone. */
static bool hears(void)
{
	const long long until = (long long)monotonic_ms() + RUNNING_MEMORY_MS;
	struct pollfd readable = { .fd = ours, .events = POLLIN };
	long long left = RUNNING_MEMORY_MS;
	int r = 0;

	while (left > 0 && (r = poll(&readable, 1, (int)left)) < 0 && errno == EINTR)
		left = until - (long long)monotonic_ms();
	return r > 0;
}

/* False: the reader is gone (it ends with the thread that began it), and another may be asked. */
static bool ask_reader(const int fds[FDS], const struct memory_question *q, void *to, size_t *got)
{
	struct memory_answer a;

	*got = 0;
	if (!ask(fds, q))
		return false;
	if (!hears()) {
		in_vain++;
		leave_reader();
		return true;
	}
	if (recv(ours, &a, sizeof(a), MSG_DONTWAIT) <
	    (ssize_t)offsetof(struct memory_answer, bytes))
		return false;
	*got = a.n < q->n ? a.n : q->n;
	memcpy(to, a.bytes, *got);
	return true;
}

static size_t read_by_reader(const int fds[FDS], const struct memory_question *q, void *to)
{
	size_t got;

	for (int i = 0; i < 2 && is_patient(); i++) {
		if (ours == NO_FD && !begin_reader())
			return 0;
		if (ask_reader(fds, q, to, &got))
			return got;
		leave_reader();
	}
	return 0;
}

/* Whether a process serves some of these pages. */
static bool is_served(pid_t pid, uint64_t address, size_t n)
{
	struct served s = { 0 };
	bool is;

	served_look(&s, pid);
	is = served_has(&s, address, n);
	served_free(&s);
	return is;
}

static size_t read_memory(pid_t pid, const int fds[FDS], struct memory_question q, uint8_t *to)
{
	size_t got = read_by_reader(fds, &q, to);

	/* Where nothing is mapped there is nothing to look for: a pointer that leads nowhere. */
	if (got == q.n || q.address + got < ARCH_PAGE || is_served(pid, q.address + got, q.n - got))
		return got;
	q = (struct memory_question){ q.address + got, q.n - (uint32_t)got, false };
	return got + read_by_reader(fds, &q, to + got);
}

size_t running_memory_read(pid_t pid, uint64_t address, void *to, size_t n)
{
	static const char *const files[FDS] = { [MEMORY] = "mem", [PAGES] = "pagemap" };
	const uint32_t most = n < RUNNING_MEMORY_MOST ? (uint32_t)n : RUNNING_MEMORY_MOST;
	int fds[FDS] = { NO_FD, NO_FD };
	char name[48];
	size_t got = 0;

	for (int i = 0; i < FDS; i++) {
		snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, files[i]);
		fds[i] = open(name, O_RDONLY | O_CLOEXEC);
	}
	pthread_mutex_lock(&lock);
	if (fds[MEMORY] >= 0 && fds[PAGES] >= 0)
		got = read_memory(pid, fds, (struct memory_question){ address, most, true }, to);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return got;
}
