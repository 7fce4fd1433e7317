/* SPDX-License-Identifier: MIT */
/* Owns the session memories. Planners, and the thread that attaches, make them as processes come,
 * with `lock` held; the session's thread reads at[0..memories_n()) without it. A memory that cannot
 * be made costs that process its recording, and the caller says so. */
#include "collect/memories.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/processes.h"
#include "tracee/proc_status.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define WAITED_MAX 128   /* futexes in one wait, as the kernel has it */
/* period of looking at the memories beyond those that one wait can cover */
#define BLIND_MS 2

/* --- making them ----------------------------------------------------------------------------- */

uint32_t memories_n(const struct memories *m)
{
	/* Pairs with the release in make_memory(). */
	return __atomic_load_n(&m->n, __ATOMIC_ACQUIRE);
}

/* A ring of another user's programs has a name of its own: FILE.UID. */
static int make_named(const struct memories *m, uid_t user, struct shared_memory *out,
		      struct err *err)
{
	struct shared_memory_shape shape = m->shape;
	char *name = shape.ring && m->n ? mem_printf("%s.%u", shape.ring, user) : NULL;
	int r;

	if (name)
		shape.ring = name;
	r = shared_memory_create(&shape, out, err);
	free(name);
	return r;
}

/* Lock held, or before any other thread. *err: too many users, or no memory. */
static int make_memory(struct memories *m, uid_t user, struct err *err)
{
	uint32_t n = m->n;
	int r;

	if (n == MEMORIES_MAX)
		return err_set(err, EUSERS, "programs of more than %u users in one session",
			       MEMORIES_MAX);
	r = make_named(m, user, &m->at[n], err);
	if (r < 0)
		return r;
	m->at[n].first_slot = n << SLOT_BITS;
	m->users[n] = user;
	m->wakeups[n] = 0;
	/* Pairs with the acquire in memories_n(). */
	__atomic_store_n(&m->n, n + 1, __ATOMIC_RELEASE);
	if (n)
		/* Memories_wait() does not know of this one yet: let it begin again. */
		memories_wake(m);
	return 0;
}

int memories_begin(struct memories *m, const struct shared_memory_shape *shape, struct err *err)
{
	m->shape = *shape;
	pthread_mutex_init(&m->lock, NULL);
	return make_memory(m, geteuid(), err);
}

void memories_end(struct memories *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		shared_memory_destroy(&m->at[i]);
	if (m->n)
		pthread_mutex_destroy(&m->lock);
	m->n = 0;
}

int memories_of(struct memories *m, uid_t user, struct shared_memory **out, struct err *err)
{
	uint32_t i = 0;
	int r = 0;

	pthread_mutex_lock(&m->lock);
	while (i < m->n && m->users[i] != user)
		i++;
	if (i == m->n)
		r = make_memory(m, user, err);
	pthread_mutex_unlock(&m->lock);
	*out = r == 0 ? &m->at[i] : NULL;
	return r;
}

/* --- which user's a process is --------------------------------------------------------------- */

static int read_status(pid_t pid, struct proc_status *s, struct err *err)
{
	return proc_status_read(pid, s) < 0 ? err_set(err, ESRCH, "process %d has ended", (int)pid)
					    : 0;
}

static uid_t user_of(const struct proc_status *s)
{
	return s->uid[0] && s->uid[1] && s->uid[2] ? s->uid[2] : 0;
}

int memories_of_process(struct memories *m, pid_t pid, struct shared_memory **out, struct err *err)
{
	struct proc_status s;
	int r = read_status(pid, &s, err);

	return r < 0 ? r : memories_of(m, user_of(&s), out, err);
}

/* SO_PEERCRED tells the pid at the time of connect(). The kernel gives the number to another
 * process when that one has ended, while a child may still hold its socket. */
int memories_of_peer(struct memories *m, int socket, struct shared_memory **out, struct err *err)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	struct proc_status s;
	int r;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		return err_set(err, errno, "the kernel does not say who called: %s",
			       strerror(errno));
	r = read_status(who.pid, &s, err);
	if (r == 0 && s.uid[1] != who.uid)
		r = err_set(err, EAGAIN, "process %d became another user's while it was looked at",
			    (int)who.pid);
	return r < 0 ? r : memories_of(m, user_of(&s), out, err);
}

bool memories_allow(struct memories *m, pid_t pid, const struct shared_memory *memory)
{
	struct shared_memory *own;
	struct err ignored;
	struct stat st;

	if (memories_of_process(m, pid, &own, &ignored) == 0 && own == memory)
		return true;
	return fstat(memory->fd, &st) == 0 && processes_maps(pid, &st);
}

/* --- threads --------------------------------------------------------------------------------- */

struct memory_thread *memories_thread(const struct memories *m, uint32_t slot)
{
	return &m->at[slot_memory(slot)].threads[slot_within(slot)];
}

bool memories_take_end(struct memories *m, uint32_t tid)
{
	bool told = false;

	for (uint32_t i = 0, n = memories_n(m); i < n; i++)
		told |= shared_memory_take_end(&m->at[i], tid);
	return told;
}

/* Whether memory i's list of processes counts for this pid. Programs of root may have become any
 * user's; programs of another user vouch only for processes of that user. */
static bool may_vouch(const struct memories *m, uint32_t i, uint32_t pid)
{
	struct proc_status s;

	return m->users[i] == 0 ||
	       (proc_status_read((pid_t)pid, &s) == 0 && user_of(&s) == m->users[i]);
}

static bool has_pid(const struct shared_memory *memory, uint32_t pid)
{
	for (uint32_t k = 0, used = shared_memory_threads(memory); k < used; k++)
		if (memory->threads[k].pid == pid)
			return true;
	return false;
}

bool memories_know(const struct memories *m, uint32_t pid)
{
	for (uint32_t i = 0, n = memories_n(m); pid && i < n; i++)
		if (has_pid(&m->at[i], pid) && may_vouch(m, i, pid))
			return true;
	return false;
}

/* --- settings -------------------------------------------------------------------------------- */

void memories_reshape(struct memories *m, const struct memory_settings *settings)
{
	pthread_mutex_lock(&m->lock);
	m->shape.settings = *settings;
	for (uint32_t i = 0; i < m->n; i++)
		shared_memory_reshape(&m->at[i], settings);
	pthread_mutex_unlock(&m->lock);
}

uint64_t memories_thresh_ticks(struct memories *m)
{
	uint64_t ticks;

	pthread_mutex_lock(&m->lock);
	ticks = m->shape.settings.thresh_ticks;
	pthread_mutex_unlock(&m->lock);
	return ticks;
}

/* --- all of them ----------------------------------------------------------------------------- */

void memories_heartbeat(struct memories *m)
{
	for (uint32_t i = 0, n = memories_n(m); i < n; i++)
		shared_memory_heartbeat(&m->at[i]);
}

void memories_stop(struct memories *m)
{
	/* Memories that are made from now on are stopped, too. */
	pthread_mutex_lock(&m->lock);
	m->shape.stopped = true;
	pthread_mutex_unlock(&m->lock);
	for (uint32_t i = 0, n = memories_n(m); i < n; i++)
		shared_memory_stop(&m->at[i]);
}

/* Every memories_wait() waits for the first memory, whichever else. */
void memories_wake(struct memories *m)
{
	shared_memory_wake(&m->at[0]);
}

void memories_read_wakeups(struct memories *m)
{
	for (uint32_t i = 0, n = memories_n(m); i < n; i++)
		/* Pairs with tell_tracer() of agent/sub_buffer.c and shared_memory_wake(). */
		m->wakeups[i] = __atomic_load_n(&m->at[i].header->full_futex, __ATOMIC_SEQ_CST);
}

static void say_waiting(struct memories *m, uint32_t n, uint32_t waits)
{
	for (uint32_t i = 0; i < n; i++)
		/* Pairs with tell_tracer() of agent/sub_buffer.c: either it sees tracer_waits and
		 * wakes, or the futex has changed since memories_read_wakeups() and the wait
		 * ends at once. */
		__atomic_store_n(&m->at[i].header->tracer_waits, waits, __ATOMIC_SEQ_CST);
}

static void wait_for_first(struct memories *m, int ms)
{
	const struct timespec timeout = { ms / 1000, ms % 1000 * 1000000L };

	syscall(SYS_futex, &m->at[0].header->full_futex, FUTEX_WAIT, m->wakeups[0], &timeout, NULL,
		0);
}

/* futex_waitv takes an absolute time. False: the kernel has no such call (before 5.16), or a
 * seccomp filter forbids it. */
static bool wait_for_all(struct memories *m, uint32_t n, int ms)
{
	struct futex_waitv waits[WAITED_MAX];
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms % 1000 * 1000000L;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	for (uint32_t i = 0; i < n; i++)
		waits[i] = (struct futex_waitv){ .val = m->wakeups[i], .flags = FUTEX_32,
						 .uaddr = (uintptr_t)&m->at[i].header->full_futex };
	return syscall(SYS_futex_waitv, waits, n, 0, &until, CLOCK_MONOTONIC) >= 0 ||
	       (errno != ENOSYS && errno != EPERM);
}

void memories_wait(struct memories *m, int ms)
{
	uint32_t n = memories_n(m);

	say_waiting(m, n, 1);
	if (n == 1)
		wait_for_first(m, ms);
	else if (n > WAITED_MAX || !wait_for_all(m, n, ms))
		wait_for_first(m, ms < BLIND_MS ? ms : BLIND_MS);
	say_waiting(m, n, 0);
}
