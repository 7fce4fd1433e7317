/* SPDX-License-Identifier: MIT */
/* A process that gives up its user (sshd, nginx, postgres) must neither read nor spoil the records
 * of processes that keep theirs. It asks the tracer for the memories of its new user and leaves the
 * old ones at once: after the system call that changed the user, where libc made it (libc_calls.c),
 * else with its next sub-buffer. One thread does it, signals blocked; others wait.
 *
 * The old memories are replaced by private pages: a signal handler may have interrupted a context
 * that is about to store there, and other threads write there until their next slow path. If no
 * tracer answers, tracing ends in the same way, with pages that say that nothing is to be
 * recorded. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/mappings.h"
#include "agent/message.h"
#include "agent/needs.h"
#include "agent/site.h"
#include "agent/sys.h"
#include "agent/untraced.h"
#include "agent/user.h"

#define MSG_NOSIGNAL 0x4000
#define MOVES_MAX 8 /* moves; address space is kept for each */

static struct { uint64_t at, bytes; } left[MOVES_MAX];
static uint32_t n_left;
static uint32_t user;    /* the process's user when the session memory was mapped */
static uint64_t world;   /* user namespace of that number */
static uint32_t moving;  /* 1: a thread is in user_move() */

/* Returns root for a process that has root's rights or can take them again; collect/memories.c
 * decides in the same way. */
static uint32_t user_now(void)
{
	uint32_t real = 0, effective = 0, saved = 0;

	sys3(__NR_getresuid, &real, &effective, &saved);
	return real && effective && saved ? saved : 0;
}

void user_begin(void)
{
	if (agent_forbids(NEED_USER))
		return;
	user = user_now();
	world = untraced_namespace_number("/proc/self/ns/user");
}

/* In another user namespace the same user has another number, which is no change. */
static bool is_renumbered(void)
{
	uint64_t now = untraced_namespace_number("/proc/self/ns/user");
	bool other = now && now != world;

	if (other) {
		user = user_now();
		world = now;
	}
	return other;
}

void user_after_fork(void)
{
	moving = 0;
}

bool user_has_changed(void)
{
	return !agent_forbids(NEED_USER | NEED_THREADS) && agent.memory &&
	       user_now() != user &&
	       (uint32_t)sys0(__NR_getpid) ==
		       agent.pid /* else a child of vfork, in whose memory others run */
	       && !is_renumbered();
}

bool user_left(uint64_t address)
{
	for (uint32_t i = 0; i < n_left; i++)
		if (address - left[i].at < left[i].bytes)
			return true;
	return false;
}

/* Replaces a mapping by private pages. False: the kernel wants memory for all of them
 * (overcommit_memory 2). */
static bool cover_range(void *at, uint64_t bytes)
{
	return sys6(__NR_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == (long)at;
}

static void leave_range(void *at, uint64_t bytes)
{
	if (!cover_range(at, bytes))
		sys2(__NR_munmap, at, bytes);
}

static void leave_memory(void)
{
	char name[MESSAGE_NAME] = { 0 };

	sys2(__NR_prctl, 16 /* PR_GET_NAME */, name);
	message_write(MESSAGE_USER, 0, name);
	/* Pairs with is_abandoned(): 0 is no heartbeat that could come again. */
	__atomic_store_n(&agent.last_heartbeat, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.abandoned, true, __ATOMIC_RELEASE);
	agent.watch = false;
	/* Only if both are covered is it our own `stopped` that is set. Pairs with
	 * memory_is_stopped(). */
	if (cover_range(agent.image, sizeof(*agent.image)) &&
	    cover_range(agent.memory, agent.memory_size))
		__atomic_store_n(&agent.memory->stopped, 1, __ATOMIC_RELEASE);
}

static void copy_modules(struct image_memory *to, const struct image_memory *from)
{
	for (uint32_t i = 0; i < IMAGE_MODULES; i++)
		to->modules[i] = from->modules[i];
	/* Pairs with the reader of n_modules in a later tracer (session/recover.c), as
	 * note_module() of session/updates.c does. */
	__atomic_store_n(&to->n_modules, from->n_modules, __ATOMIC_RELEASE);
}

/* The new memories get places of their own: positions in the old ones must not be valid in them. */
static bool go_over(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	struct image_memory *image = agent.image;
	struct memory_header *memory = agent.memory;
	uint64_t bytes = agent.memory_size;

	if (n_left == MOVES_MAX || !limits_leave_room(w->layout.size))
		return false;
	site_keep();
	if (!mappings_replace_memories(w, fds))
		return false;
	copy_modules(agent.image, image);
	site_adopt();
	left[n_left].at = (uint64_t)memory;
	left[n_left].bytes = bytes;
	/* After the entry: pairs with user_left(), which reads without a lock and plainly. */
	__atomic_store_n(&n_left, n_left + 1, __ATOMIC_RELEASE);
	leave_range(image, sizeof(*image));
	leave_range(memory, bytes);
	return true;
}

static bool ask_tracer(int fd, const char *way)
{
	/* Static, since the stack may be small; user_move() lets one thread in. */
	static struct protocol_setup w;
	const struct protocol_done done = { .request = PROTOCOL_DONE };
	int fds[TALK_FDS];
	bool gone;

	if (!talk_hello(fd, way, PROTOCOL_USER, 0) || !talk_setup(fd, &w, fds))
		return false;
	gone = go_over(&w, fds);
	for (int i = 0; i < TALK_FDS; i++)
		sys1(__NR_close, fds[i]);
	sys6(__NR_sendto, fd, (long)&done, sizeof(done), MSG_NOSIGNAL, 0, 0);
	return gone;
}

static bool move_to_user(void)
{
	const char *way = agent.agent_socket[0] ? agent.agent_socket : agent.socket;
	/* Pairs with has_no_tracer() and leave_memory(). */
	bool alone = __atomic_load_n(&agent.abandoned, __ATOMIC_ACQUIRE);
	int fd = alone || agent_forbids(NEED_START) ? -1 : talk_connect(way);
	bool gone;

	if (fd < 0)
		return false;
	gone = ask_tracer(fd, way);
	sys1(__NR_close, fd);
	return gone;
}

void user_move(void)
{
	uint32_t nobody = 0;

	/* The exchange and the load below pair with the release: a thread that waited sees the new
	 * memories. */
	if (__atomic_compare_exchange_n(&moving, &nobody, 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		/* Asked again: another thread may have moved the process since. */
		if (user_has_changed() && !move_to_user())
			leave_memory();
		user = user_now();
		__atomic_store_n(&moving, 0, __ATOMIC_RELEASE);
	}
	/* Pairs with the release above: the process has moved, or the move was given up. */
	while (__atomic_load_n(&moving, __ATOMIC_ACQUIRE) && !agent_forbids(NEED_YIELD))
		sys0(__NR_sched_yield);
}
