/* SPDX-License-Identifier: MIT */
/* A process that gives up its user (sshd, nginx, postgres) must neither read nor spoil what is recorded of those who keep
 * theirs. It asks the tracer for the memories of its new user, and leaves the old ones at once: behind the system call by
 * which it changed, where libc makes that (libc_calls.c), else with its next sub-buffer.
 *
 * Where the old ones were, the process has pages of its own: a signal handler may have interrupted who is about to store
 * there, and other threads go on writing until their next slow path. Without a tracer that answers the process is let go: pages
 * of its own again, which say that nothing is to be recorded. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "agent/user.h"
#include "agent/agent.h"
#include "agent/needs.h"
#include "agent/note.h"
#include "agent/place.h"
#include "agent/sys.h"
#include "agent/untraced.h"

#define MSG_NOSIGNAL 0x4000
#define MOVES_MAX 8 /* more a process does not make with address space */

static struct { uint64_t at, bytes; } left[MOVES_MAX];
static uint32_t n_left;
static uint32_t user;    /* the process's, when the session memory was mapped */
static uint64_t world;   /* the namespace that number is of */
static uint32_t moving;  /* 1: some thread is in user_move */

/* Root, if it has root's rights or can take them on again; collect/memories.c says the same. */
static uint32_t user_now(void)
{
	uint32_t real = 0, effective = 0, saved = 0;

	sys3(__NR_getresuid, &real, &effective, &saved);
	return real && effective && saved ? saved : 0;
}

void user_begin(void)
{
	if (agent.forbidden & NEED_USER)
		return;
	user = user_now();
	world = namespace_number("/proc/self/ns/user");
}

/* In another user namespace the same user has another number. */
static bool is_renumbered(void)
{
	uint64_t now = namespace_number("/proc/self/ns/user");
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
	return !(agent.forbidden & (NEED_USER | NEED_THREADS)) && agent.memory && user_now() != user &&
	       (uint32_t)sys0(__NR_getpid) == agent.pid /* else a child of vfork, in whose memory others run */ &&
	       !is_renumbered();
}

bool user_left(uint64_t address)
{
	for (uint32_t i = 0; i < n_left; i++)
		if (address - left[i].at < left[i].bytes)
			return true;
	return false;
}

/* Pages of the process's own in place of a mapping. False: the kernel wants memory for all of them (overcommit_memory 2). */
static bool cover(void *at, uint64_t bytes)
{
	return sys6(__NR_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == (long)at;
}

static void leave(void *at, uint64_t bytes)
{
	if (!cover(at, bytes))
		sys2(__NR_munmap, at, bytes);
}

static void let_go(void)
{
	char name[NOTE_NAME] = { 0 };

	sys2(__NR_prctl, 16 /* PR_GET_NAME */, name);
	note_write(NOTE_USER, 0, name);
	agent.abandoned = true;
	agent.watch = false;
	if (cover(agent.image, sizeof(*agent.image)) && cover(agent.memory, agent.memory_size))
		agent.memory->stopped = 1;
}

static void copy_modules(struct image_memory *to, const struct image_memory *from)
{
	for (uint32_t i = 0; i < IMAGE_MODULES; i++)
		to->modules[i] = from->modules[i];
	__atomic_store_n(&to->n_modules, from->n_modules, __ATOMIC_RELEASE);
}

/* The new ones at places of their own: who stands in the old ones finds no place of his there. */
static bool go_over(const struct protocol_welcome *w, const int fds[TALK_FDS])
{
	struct image_memory *image = agent.image;
	struct memory_header *memory = agent.memory;
	uint64_t bytes = agent.memory_size;

	if (n_left == MOVES_MAX || !limits_leave_room(w->layout.size))
		return false;
	site_keep();
	if (!place_other_memories(w, fds))
		return false;
	copy_modules(agent.image, image);
	site_adopt();
	left[n_left].at = (uint64_t)memory;
	left[n_left].bytes = bytes;
	__atomic_store_n(&n_left, n_left + 1, __ATOMIC_RELEASE);
	leave(image, sizeof(*image));
	leave(memory, bytes);
	return true;
}

static bool ask(int fd)
{
	static struct protocol_welcome w; /* the stack may be small */
	const struct protocol_done done = { .request = PROTOCOL_DONE };
	int fds[TALK_FDS];
	bool gone;

	if (!talk_hello(fd, PROTOCOL_USER, 0) || !talk_welcome(fd, &w, fds))
		return false;
	gone = go_over(&w, fds);
	for (int i = 0; i < TALK_FDS; i++)
		sys1(__NR_close, fds[i]);
	sys6(__NR_sendto, fd, (long)&done, sizeof(done), MSG_NOSIGNAL, 0, 0);
	return gone;
}

static bool move(void)
{
	int fd = agent.abandoned || agent.forbidden & NEED_START ? -1 : talk_connect(agent.door[0] ? agent.door : agent.socket);
	bool gone;

	if (fd < 0)
		return false;
	gone = ask(fd);
	sys1(__NR_close, fd);
	return gone;
}

void user_move(void)
{
	uint32_t nobody = 0;

	if (__atomic_compare_exchange_n(&moving, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		if (user_has_changed() && !move())
			let_go();
		user = user_now();
		__atomic_store_n(&moving, 0, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&moving, __ATOMIC_ACQUIRE) && !(agent.forbidden & NEED_YIELD))
		sys0(__NR_sched_yield);
}
