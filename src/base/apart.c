/* SPDX-License-Identifier: MIT */
/* A thread for each file or call: to make one takes as long as to wake one. Called for every plan,
 * on any thread; fails where no thread can be made. An errand belongs to both threads until the
 * caller leaves it behind: then it is the thread's. */
#include "base/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/mem.h"
#include "base/memory_file.h"

#define STEP_MS 50   /* how soon aside_until's word is heard */
#define LEFT_MOST 8  /* threads left behind; then nobody waits longer than LATER_MS */
#define LATER_MS 100

struct errand {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done, left;     /* left: the caller does not wait any more */
	pid_t pid;
	char name[64];
	int flags;
	bool copies;         /* the content is wanted, not the file */
	int (*call)(void *arg); /* in place of a file; NULL: none */
	void *arg;           /* the errand's own copy */
	int result;          /* a descriptor or -errno */
	struct errand *next; /* of those left behind */
};

/* `lock` protects the list of errands that were left behind and are not done. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct errand *left_behind;

/* The longest wait for this process; 0: another thread waits for it already. A process that does
 * not answer costs one wait, however many plans ask for it; and a program with many such processes
 * cannot hold brace for APART_MS each. */
static long patience_for(pid_t pid)
{
	long ms = APART_MS;
	unsigned n = 0;

	pthread_mutex_lock(&lock);
	for (const struct errand *e = left_behind; e; e = e->next) {
		n++;
		if (e->pid == pid)
			ms = 0;
	}
	pthread_mutex_unlock(&lock);
	return ms && n >= LEFT_MOST ? LATER_MS : ms;
}

/* Puts the errand into the list, so that later callers do not wait for the same process again. */
static void leave_errand(struct errand *e)
{
	pthread_mutex_lock(&lock);
	e->next = left_behind;
	left_behind = e;
	pthread_mutex_unlock(&lock);
}

/* The late thread comes back. */
static void take_back(struct errand *e)
{
	struct errand **at = &left_behind;

	pthread_mutex_lock(&lock);
	while (*at && *at != e)
		at = &(*at)->next;
	if (*at)
		*at = e->next;
	pthread_mutex_unlock(&lock);
}

static void free_errand(struct errand *e)
{
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->changed);
	free(e->arg);
	free(e);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* 0 or -errno. A memfd takes what it is given, or fails. */
static int copy_bytes(int from, int to)
{
	char bytes[4096]; /* the kernel gives a page at a time */
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return -(errno ? errno : EIO);
	return n < 0 || lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* The content goes into memory, because reading the file may hang as well as opening it. */
static int copy_file(int from)
{
	int to = memory_file_new("brace-proc"), r;

	if (to < 0)
		return to;
	r = copy_bytes(from, to);
	if (r == 0)
		r = memory_file_seal(to);
	if (r < 0)
		close(to);
	return r < 0 ? r : to;
}

/* On the errand's own thread, which may stand still in either call for ever. */
static int run_errand(const struct errand *e)
{
	int fd, copy;

	if (e->call)
		return e->call(e->arg);
	fd = open(e->name, e->flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!e->copies)
		return fd;
	copy = copy_file(fd);
	close(fd);
	return copy;
}

/* Whichever comes last frees *e: the caller, or this thread when the caller has given up waiting
 * for a file that does not answer. */
static void *errand_thread(void *arg)
{
	struct errand *e = arg;
	int result = run_errand(e);
	bool left;

	pthread_mutex_lock(&e->lock);
	e->result = result;
	e->done = true;
	left = e->left;
	pthread_cond_signal(&e->changed);
	pthread_mutex_unlock(&e->lock);
	if (!left)
		return NULL; /* *e is the caller's */
	take_back(e);
	/* Nobody waits for the file any more. */
	if (result >= 0 && !e->call)
		close(result);
	free_errand(e);
	return NULL;
}

/* 0 or an errno. Signals are for threads that wait for them. Detached: nobody could join a thread
 * that never comes back. */
static int start_thread(struct errand *e)
{
	pthread_attr_t about;
	sigset_t all, before;
	pthread_t thread;
	int r;

	pthread_attr_init(&about);
	pthread_attr_setdetachstate(&about, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &about, errand_thread, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&about);
	return r;
}

/* --- the caller ------------------------------------------------------------------------------- */

/* Waits are by CLOCK_MONOTONIC: setting the wall clock must not end or prolong them. */
static struct errand *new_errand(pid_t pid, const char *file, int flags, bool copies)
{
	struct errand *e = mem_zalloc(sizeof(*e));
	pthread_condattr_t monotonic;

	e->pid = pid;
	e->flags = flags;
	e->copies = copies;
	snprintf(e->name, sizeof(e->name), "/proc/%d/%s", (int)pid, file);
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&e->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return e;
}

/* Waits for the next step, or until the errand is done. Its lock is held. */
static void wait_step(struct errand *e, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&e->changed, &e->lock, &until);
}

/* True: it is done. False: it is left to its thread, and e is not to be used any more. Before the
 * thread can know that it is left, it is in the list. e->lock is taken before `lock` here.
 * take_back() takes `lock` alone, without e->lock: the other order would be a deadlock. */
static bool await_errand(struct errand *e, long ms)
{
	bool done;

	pthread_mutex_lock(&e->lock);
	for (; !e->done && ms > 0 && !aside_is_over(); ms -= STEP_MS)
		wait_step(e, ms < STEP_MS ? ms : STEP_MS);
	done = e->done;
	e->left = !done;
	if (!done)
		leave_errand(e);
	pthread_mutex_unlock(&e->lock);
	return done;
}

/* Our own process is looked at by the calling thread: a new one would change the mappings, and
 * where they are held brace itself stands still. *done: e is the caller's again. -ETIMEDOUT at
 * once: an earlier wait for the process lasts. */
static int run_patiently(struct errand *e, bool *done)
{
	const long ms = patience_for(e->pid);
	int r = 0;

	*done = true;
	if (!ms)
		return -ETIMEDOUT;
	if (e->pid == getpid())
		return run_errand(e);
	r = -start_thread(e);
	if (r < 0)
		return r;
	*done = await_errand(e, ms);
	if (*done)
		return e->result;
	return aside_is_over() ? -ECANCELED : -ETIMEDOUT;
}

static int run_apart(pid_t pid, const char *file, int flags, bool copies)
{
	struct errand *e = new_errand(pid, file, flags, copies);
	bool done;
	int r = run_patiently(e, &done);

	if (done)
		free_errand(e);
	return r;
}

/* The function has a copy of the argument, because the caller's may be on a stack that is gone when
 * a late function writes to it. */
int apart_call(pid_t pid, int (*f)(void *arg), void *arg, size_t n)
{
	struct errand *e = new_errand(pid, "", 0, false);
	bool done;
	int r;

	e->call = f;
	e->arg = mem_realloc(NULL, n, 1);
	memcpy(e->arg, arg, n);
	r = run_patiently(e, &done);
	if (!done)
		return r;
	memcpy(arg, e->arg, n);
	free_errand(e);
	return r;
}

int apart_open(pid_t pid, const char *file, int flags)
{
	return run_apart(pid, file, flags, false);
}

int apart_copy(pid_t pid, const char *file)
{
	return run_apart(pid, file, O_RDONLY, true);
}

FILE *apart_stream(pid_t pid, const char *file)
{
	int fd = apart_copy(pid, file);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		errno = fd < 0 ? -fd : ENOMEM;
		if (fd >= 0)
			close(fd);
	}
	return f;
}
