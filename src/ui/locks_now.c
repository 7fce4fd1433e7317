/* SPDX-License-Identifier: MIT */
/* Called by brace locks -p, on its only thread. A thread that waits is in the system call futex, as
 * /proc/PID/task/TID/syscall tells; a glibc mutex begins with the futex, and has its owner's number
 * in the third word. All of it is the process's to write: an owner counts only if it is one of its
 * threads, and what the words say decides no more than what is printed. The process runs on
 * meanwhile: both looks have to agree, since a deadlock lasts. */
#include "ui/locks_now.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json.h"
#include "base/vec.h"
#include "tracee/running_memory.h"

#define NO_THREAD_NOW SIZE_MAX
/* More than TASK_COMM_LEN, 16, and the line's end. */
#define COMM_MOST 32
/* Long enough for a mutex that changes hands to change them between the looks, and too short for a
 * person to notice. */
#define MOMENT_US 20000

struct waiting_thread {
	pid_t tid;
	char comm[COMM_MOST];
	bool waits;
	uint64_t lock;            /* its address; 0: none */
	uint32_t owner;           /* 0: not told */
	size_t by;                /* index of the owner; NO_THREAD_NOW: it is none of these */
	unsigned circle;          /* 1 + the number of the circle it is in; 0: none */
};

/* The result of one look at a process; circles: the number of circles of waiting threads. */
struct locks_now {
	pid_t pid;
	VEC(struct waiting_thread) threads;
	unsigned circles;
};

/* The file's first line; false: it cannot be read. */
static bool read_line(pid_t pid, pid_t tid, const char *file, char *line, int n)
{
	char path[64];
	FILE *f;
	bool read;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	read = fgets(line, n, f) != NULL;
	fclose(f);
	if (read)
		line[strcspn(line, "\n")] = '\0';
	return read;
}

/* n words of the process's memory, all or none. */
static bool read_words(pid_t pid, uint64_t address, uint32_t *words, size_t n)
{
	const size_t bytes = n * sizeof(*words);

	return running_memory_read(pid, address, words, bytes) == bytes;
}

/* The call's number and arguments; false: the thread runs, or is in no call.
 * /proc/PID/task/TID/syscall has "running", "-1 SP PC" of a thread that is blocked outside of a
 * call, or the number in decimal and six arguments in hexadecimal (proc(5)): the digit tells them
 * apart. It needs the right to attach by ptrace. */
static bool read_call(pid_t pid, pid_t tid, uint64_t call[4])
{
	char line[256];

	return read_line(pid, tid, "syscall", line, sizeof(line)) && isdigit((unsigned char)*line) &&
	       sscanf(line, "%" SCNu64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64, &call[0], &call[1],
		      &call[2], &call[3]) == 4;
}

/* A mutex's waiter expects 2 in the futex; one with priority inheritance has the owner in it. Other
 * futexes are those of condition variables, semaphores, and of programs. */
static void look_at_thread(pid_t pid, struct waiting_thread *t)
{
	uint64_t call[4];
	uint32_t words[3];

	if (!read_call(pid, t->tid, call) || call[0] != SYS_futex)
		return;
	/* The mask takes FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME off. */
	switch (call[2] & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		t->waits = read_words(pid, call[1], words, 1);
		/* The kernel's own format (futex(2)): the owner's TID with two bits of state above
		 * it. */
		t->owner = t->waits ? words[0] & FUTEX_TID_MASK : 0;
		break;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		/* glibc's lll_lock: 2 means locked with waiters, and struct __pthread_mutex_s has
		 * __lock, __count, __owner. A futex of another meaning may have a 2, too: its third
		 * word is then a thread's number by chance only, which agree() has to see twice. */
		t->waits = (uint32_t)call[3] == 2 && read_words(pid, call[1], words, 3) &&
			   words[0] == 2;
		t->owner = t->waits ? words[2] : 0;
		break;
	}
	t->lock = t->waits ? call[1] : 0;
}

/* NO_THREAD_NOW: no thread of the process has this number. 0 is nobody's. */
static size_t find_thread(const struct locks_now *n, uint32_t tid)
{
	for (size_t i = 0; tid && i < n->threads.n; i++)
		if ((uint32_t)n->threads.at[i].tid == tid)
			return i;
	return NO_THREAD_NOW;
}

/* -errno and *err: the process is not there, or nobody else's business. Threads that end between
 * readdir() and the reads are left out: without a comm there is no thread. */
static int look_once(struct locks_now *n, struct err *err)
{
	char path[64];
	struct dirent *e;
	uint64_t call[4];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)n->pid);
	d = opendir(path);
	if (!d)
		return err_set(err, errno, "process %d: %s", (int)n->pid, strerror(errno));
	while ((e = readdir(d))) {
		struct waiting_thread t = { .tid = atoi(e->d_name), .by = NO_THREAD_NOW };

		if (t.tid <= 0 || !read_line(n->pid, t.tid, "comm", t.comm, sizeof(t.comm)))
			continue;
		look_at_thread(n->pid, &t);
		*vec_add(&n->threads) = t;
	}
	closedir(d);
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)n->pid);
	/* The directory can be read by all; only `syscall` shows whether the user may look. Without
	 * this test a process of another user would seem to have no waiting thread. */
	errno = 0;
	if (!read_call(n->pid, n->pid, call) && (errno == EPERM || errno == EACCES))
		return err_set(err, errno, "process %d may not be looked at: %s", (int)n->pid,
			       strerror(errno));
	return 0;
}

/* Keeps what the second look has seen, too. Indices of `by` are those of the first look, whose
 * threads stay: one that came later cannot be part of a deadlock that was seen before. */
static void agree(struct locks_now *n, const struct locks_now *second)
{
	for (size_t i = 0; i < n->threads.n; i++) {
		struct waiting_thread *t = &n->threads.at[i];
		size_t k = find_thread(second, (uint32_t)t->tid);

		if (k == NO_THREAD_NOW || second->threads.at[k].lock != t->lock ||
		    second->threads.at[k].owner != t->owner)
			t->waits = false;
	}
	for (size_t i = 0; i < n->threads.n; i++)
		if (n->threads.at[i].waits)
			n->threads.at[i].by = find_thread(n, n->threads.at[i].owner);
}

/* The thread that the owner of this one's lock is, if it waits itself. */
static size_t next_of(const struct locks_now *n, size_t i)
{
	size_t by = n->threads.at[i].waits ? n->threads.at[i].by : NO_THREAD_NOW;

	return by != NO_THREAD_NOW && n->threads.at[by].waits ? by : NO_THREAD_NOW;
}

/* A thread waits for one lock: a circle is found by going on from each as often as there are
 * threads. */
static void find_circles(struct locks_now *n)
{
	for (size_t i = 0; i < n->threads.n; i++) {
		size_t at = i, steps = 0;

		/* The bound on steps: from a thread that waits for a circle without being in it,
		 * the walk would never come back to where it began. */
		while (at != NO_THREAD_NOW && (at != i || !steps) && steps++ <= n->threads.n)
			at = next_of(n, at);
		if (at != i || !steps || n->threads.at[i].circle)
			continue;
		n->circles++;
		do {
			n->threads.at[at].circle = n->circles;
			at = next_of(n, at);
		} while (at != i);
	}
}

/* Takes MOMENT_US: two looks. NULL and *err; else locks_now_free() frees it. */
struct locks_now *locks_now_look(pid_t pid, struct err *err)
{
	struct locks_now *n = mem_zalloc(sizeof(*n)), second = { .pid = pid };
	int e;

	n->pid = pid;
	e = look_once(n, err);
	if (!e) {
		usleep(MOMENT_US);
		e = look_once(&second, err);
	}
	if (!e) {
		agree(n, &second);
		find_circles(n);
	}
	vec_free(&second.threads);
	if (!e)
		return n;
	locks_now_free(n);
	return NULL;
}

/* NULL is nothing. */
void locks_now_free(struct locks_now *n)
{
	if (!n)
		return;
	vec_free(&n->threads);
	free(n);
}

/* A thread that waits for an owner outside of the process, or for one that runs, may still get its
 * lock. */
bool locks_now_is_deadlock(const struct locks_now *n)
{
	return n->circles > 0;
}

/* --- printing ------------------------------------------------------------------------------- */

static void print_thread(const struct waiting_thread *t, struct out *o)
{
	out_name(o, t->comm, sizeof(t->comm));
	out_printf(o, "-%d", (int)t->tid);
}

/* A line: who waits for what, and who has it. */
static void print_wait(const struct locks_now *n, const struct waiting_thread *t, struct out *o)
{
	print_thread(t, o);
	out_printf(o, " waits for 0x%" PRIx64, t->lock);
	if (t->by != NO_THREAD_NOW) {
		out_str(o, ", which ");
		print_thread(&n->threads.at[t->by], o);
		out_str(o, " has");
	} else if (t->owner) {
		out_printf(o, ", whose owner, %" PRIu32 ", is no thread of this process", t->owner);
	}
	out_char(o, '\n');
}

/* The threads of one circle, from `first` back to it. */
static void print_circle(const struct locks_now *n, size_t first, struct out *o)
{
	size_t at = first;

	out_str(o, "deadlock: ");
	do {
		print_thread(&n->threads.at[at], o);
		out_str(o, " -> ");
		at = next_of(n, at);
	} while (at != first);
	print_thread(&n->threads.at[first], o);
	out_char(o, '\n');
}

/* The address is a text: 64 bits would not be exact in every reader. */
static void print_json_wait(const struct locks_now *n, const struct waiting_thread *t,
			    struct out *o)
{
	out_printf(o, "{\"pid\":%d,\"tid\":%d,\"comm\":", (int)n->pid, (int)t->tid);
	json_string(o, t->comm);
	out_printf(o, ",\"waits_for\":\"0x%" PRIx64 "\",\"owner\":", t->lock);
	if (t->by != NO_THREAD_NOW)
		out_printf(o, "%" PRIu32, t->owner);
	else
		out_str(o, "null");
	if (t->circle)
		out_printf(o, ",\"deadlock\":%u}\n", t->circle);
	else
		out_str(o, ",\"deadlock\":null}\n");
}

/* Waits first, then each deadlock; as JSON the sums stand in the first object. */
void locks_now_print(const struct locks_now *n, bool json, struct out *o)
{
	unsigned printed = 0;

	if (json)
		out_printf(o, "{\"schema\":\"brace-locks-now\",\"version\":1,\"pid\":%d,\"threads\":%zu,"
			   "\"deadlocks\":%u}\n", (int)n->pid, n->threads.n, n->circles);
	for (size_t i = 0; i < n->threads.n; i++)
		if (n->threads.at[i].waits)
			(json ? print_json_wait : print_wait)(n, &n->threads.at[i], o);
	for (size_t i = 0; !json && i < n->threads.n; i++)
		if (n->threads.at[i].circle == printed + 1) {
			print_circle(n, i, o);
			printed++;
		}
}
