/* SPDX-License-Identifier: MIT */
/* From a system call's arguments to the objects that it waits for and wakes by. Called by wakeup.c
 * alone, on its thread. The numbers are a trace's to choose; none is an index here without a check.
 * The table of roles, which the first call makes without a lock, is the only state. */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>

#include "report/wakeup_internal.h"

static const struct { const char *name; enum wakeup_role role; } roles[] = {
	{ "futex", ROLE_FUTEX },
	{ "read", ROLE_READ },           { "readv", ROLE_READ },
	{ "recvfrom", ROLE_READ },       { "recvmsg", ROLE_READ },
	{ "write", ROLE_WRITE },         { "writev", ROLE_WRITE },
	{ "sendto", ROLE_WRITE },        { "sendmsg", ROLE_WRITE },
	{ "epoll_wait", ROLE_EPOLL },    { "epoll_pwait", ROLE_EPOLL },
	{ "epoll_pwait2", ROLE_EPOLL },  { "poll", ROLE_POLL },
	{ "ppoll", ROLE_POLL },          { "nanosleep", ROLE_TIMER },
	{ "clock_nanosleep", ROLE_TIMER }, { "kill", ROLE_KILL },
	{ "rt_sigqueueinfo", ROLE_KILL }, { "tkill", ROLE_TKILL },
	{ "tgkill", ROLE_TGKILL },       { "rt_tgsigqueueinfo", ROLE_TGKILL },
	{ "exit", ROLE_EXIT },           { "exit_group", ROLE_EXIT_GROUP },
	{ "wait4", ROLE_WAIT_CHILD },    { "waitid", ROLE_WAIT_CHILD },
	{ "close", ROLE_CLOSE },
};

/* By name, because numbers differ between machines; looked up once. */
enum wakeup_role wakeup_role_of(uint32_t nr)
{
	static uint8_t known[SYSCALL_NUMBERS];
	static bool made;

	for (uint32_t n = 0; !made && n < SYSCALL_NUMBERS; n++) {
		const struct syscall_info *s = syscall_by_number(n);

		for (size_t i = 0; s && i < sizeof(roles) / sizeof(*roles); i++)
			if (!strcmp(s->name, roles[i].name))
				known[n] = (uint8_t)roles[i].role;
	}
	made = true;
	return nr < SYSCALL_NUMBERS ? known[nr] : ROLE_OTHER;
}

/* Private futexes and descriptors belong to a process. */
static uint32_t pid_of(const struct wakeup *w, uint32_t thread)
{
	return w->info->threads.at[thread].pid;
}

/* --- futexes -------------------------------------------------------------------------------- */

#define OBJECT_BYTES 48u /* a condition variable's; barriers are smaller */

/* The kind of object that a futex belongs to, by the function that the thread has called last. */
static enum wakeup_way way_of_futex(const struct wakeup *w, const struct wakeup_call *c)
{
	const struct wakeup_thread *t = &w->threads.at[c->thread];

	return t->object && c->args[0] - t->object < OBJECT_BYTES ? t->object_way : WAY_FUTEX;
}

/* A thread that is joined clears its number, and wakes whoever waits for that: the address belongs
 * to no call, so the number stands for it. pthread_join() waits until the kernel sets that number
 * to 0 (CLONE_CHILD_CLEARTID, set_tid_address(2)); the value that it expects until then, the call's
 * third argument, is the number. The kernel's wake is not private. */
static void wait_futex(struct wakeup *w, uint32_t thread, struct wakeup_call *c, bool private)
{
	uint32_t pid = pid_of(w, thread);

	wakeup_wait_for(w, c,
			(struct wakeup_key){ KEY_FUTEX, private ? pid : 0, c->args[0] },
			way_of_futex(w, c));
	if (!private)
		wakeup_wait_for(w, c,
				(struct wakeup_key){ KEY_THREAD_END, 0, (uint32_t)c->args[2] },
				WAY_JOIN);
}

/* Operations that wait, that wake, and one that does both. Others (FUTEX_FD) do neither.
 * FUTEX_WAIT_REQUEUE_PI sleeps at the first address and may be moved to the second; FUTEX_WAKE_OP
 * wakes at both (futex(2)). A futex that is not private is known by its address alone: one that
 * another process has mapped elsewhere is not found. */
static void begin_futex(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	bool private = c->args[1] & FUTEX_PRIVATE_FLAG;
	uint32_t space = private ? pid_of(w, thread) : 0;
	struct wakeup_key first = { KEY_FUTEX, space, c->args[0] },
			  second = { KEY_FUTEX, space, c->args[4] };

	switch (c->args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT_REQUEUE_PI:
		wakeup_wait_for(w, c, second, WAY_FUTEX);
		wait_futex(w, thread, c, private);
		break;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		wait_futex(w, thread, c, private);
		break;
	case FUTEX_WAKE_OP:
		wakeup_wake_by(w, c, second);
		wakeup_wake_by(w, c, first);
		break;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_UNLOCK_PI:
		wakeup_wake_by(w, c, first);
		break;
	}
}

/* --- descriptors ---------------------------------------------------------------------------- */

/* The threads that wait for the object, or for a set that it is in. Room for writing concerns no
 * set here: sets are followed for data alone. */
static void wake_object(struct wakeup *w, uint32_t thread, struct wakeup_call *c,
			enum wakeup_key_kind kind, uint32_t object)
{
	const uint32_t *sets;
	unsigned n = kind == KEY_DATA ? wakeup_files_sets(w->files, object, &sets) : 0;

	if (object)
		wakeup_wake_by(w, c, (struct wakeup_key){ kind, 0, object });
	for (unsigned i = 0; i < n; i++)
		wakeup_wake_by(w, c, (struct wakeup_key){ KEY_DATA, 0, sets[i] });
}

static void wait_object(struct wakeup *w, uint32_t thread, struct wakeup_call *c,
			enum wakeup_key_kind kind, uint32_t object, enum wakeup_way way)
{
	if (object)
		wakeup_wait_for(w, c, (struct wakeup_key){ kind, 0, object }, way);
}

/* A read makes room for whoever writes. */
static void begin_read(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	uint32_t object = wakeup_files_ends(w->files, pid_of(w, thread), c->args[0]).reads;

	wait_object(w, thread, c, KEY_DATA, object, wakeup_files_way(w->files, object));
	wake_object(w, thread, c, KEY_SPACE, object);
}

/* A write wakes whoever waits for data; room comes from readers. */
static void begin_write(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	uint32_t object = wakeup_files_ends(w->files, pid_of(w, thread), c->args[0]).writes;

	wait_object(w, thread, c, KEY_SPACE, object, wakeup_files_way(w->files, object));
	wake_object(w, thread, c, KEY_DATA, object);
}

/* The set is an object of its own, which those in it wake. */
static void begin_epoll(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wait_object(w, thread, c, KEY_DATA,
		    wakeup_files_ends(w->files, pid_of(w, thread), c->args[0]).reads, WAY_EPOLL);
}

/* The other end reads that there is nothing more. */
static void begin_close(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	const struct wakeup_ends ends = wakeup_files_ends(w->files, pid_of(w, thread), c->args[0]);

	wake_object(w, thread, c, KEY_DATA, ends.writes);
	wake_object(w, thread, c, KEY_SPACE, ends.reads);
}

/* struct pollfd: the descriptor, and two halves of a word. */
void wakeup_call_poll(struct wakeup *w, uint32_t thread, struct wakeup_call *c,
		      const uint32_t *words, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i += 2)
		wait_object(w, thread, c, KEY_DATA,
			    wakeup_files_ends(w->files, pid_of(w, thread), words[i]).reads,
			    WAY_POLL);
}

/* --- threads and processes ------------------------------------------------------------------- */

/* To a process: any of its threads may take it. 0 and what is below, a group or all processes
 * (kill(2)), is no process's number, and finds nobody. */
static void begin_kill(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wakeup_signal(w, c, 0, (uint32_t)c->args[0]);
}

static void begin_tkill(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wakeup_signal(w, c, (uint32_t)c->args[0], 0);
}

static void begin_tgkill(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wakeup_signal(w, c, (uint32_t)c->args[1], 0);
}

/* The end of one thread: whoever joins it is woken. */
static void begin_exit(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wakeup_wake_by(w, c, (struct wakeup_key){
		KEY_THREAD_END, 0, w->info->threads.at[thread].tid });
}

/* The trace does not tell the parent: the result of the wait names the child. */
static void begin_exit_group(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wakeup_wake_by(w, c, (struct wakeup_key){ KEY_CHILD_END, 0, 0 });
}

static void begin_wait_child(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	wakeup_wait_for(w, c, (struct wakeup_key){ KEY_CHILD_END, 0, 0 }, WAY_CHILD);
}

/* Roles without a function wake nobody, and wait for a time only. */
void wakeup_call_begin(struct wakeup *w, uint32_t thread, struct wakeup_call *c)
{
	static void (*const begins[ROLES_N])(struct wakeup *, uint32_t, struct wakeup_call *) = {
		[ROLE_FUTEX] = begin_futex, [ROLE_READ] = begin_read, [ROLE_WRITE] = begin_write,
		[ROLE_EPOLL] = begin_epoll, [ROLE_KILL] = begin_kill, [ROLE_TKILL] = begin_tkill,
		[ROLE_TGKILL] = begin_tgkill, [ROLE_EXIT] = begin_exit,
		[ROLE_EXIT_GROUP] = begin_exit_group, [ROLE_WAIT_CHILD] = begin_wait_child,
		[ROLE_CLOSE] = begin_close,
	};

	if (begins[c->role])
		begins[c->role](w, thread, c);
}

/* left: how many waits the wake can have ended: FUTEX_WAKE returns it, other calls do not tell.
 * UINT64_MAX: any number. A read or a write of 0 bytes has changed nothing, and an error has woken
 * nobody. FUTEX_UNLOCK_PI returns 0 whether or not somebody waited. */
void wakeup_call_end(struct wakeup_call *c, int64_t result, uint64_t tsc)
{
	struct wakeup_wake *k = c->wake;
	bool counts = c->role == ROLE_FUTEX && (c->args[1] & FUTEX_CMD_MASK) != FUTEX_UNLOCK_PI;
	bool moves = c->role == ROLE_READ || c->role == ROLE_WRITE;

	if (!k)
		return;
	k->closed = true;
	k->leave = tsc;
	k->left = result < 0 ? 0 : counts ? (uint64_t)result : moves && !result ? 0 : UINT64_MAX;
}
