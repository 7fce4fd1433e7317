/* SPDX-License-Identifier: MIT */
/* Declarations of the agent, the code inside the traced process. No libc, no lock, no vector
 * register. Nothing here may fail loudly: an ability that is missing is counted or left out, and
 * the program goes on. Unless a comment says otherwise, functions are called on the thread that
 * they concern. */
#pragma once
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/stamp.h"
#include "arch/page.h"
#include "shared/memory.h"
#include "shared/record.h"
#include "shared/tls.h"

/* The agent's knowledge of its process. init.c sets it before anything is hooked, or attach.c while
 * all other threads are stopped. Private memory: a forked child has its own copy. */
struct agent {
	/* NULL: not tracing. struct agent_state goes from here to forbidden. */
	struct memory_header *memory;
	uint64_t memory_size;
	int64_t tls_offset;
	/* Offset from the thread pointer to the word that agent_tls.key is compared with; 0 =
	 * none. */
	int64_t key;
	uint32_t flags;                  /* AGENT_* */
	uint32_t image_id;
	uint64_t n_regions;              /* of trampolines */
	uint32_t forbidden; /* system calls that a filter forbids us: enum need in needs.h */
	struct memory_layout layout;     /* of the session memory; the copy there is not believed */
	struct memory_settings settings;
	struct memory_thread *threads;
	struct memory_desc *descs;
	uint8_t *buffers;
	uint64_t *ends;                  /* MEMORY_TIDS bits */
	struct image_memory *image;
	uint8_t *arena;                  /* 64 KiB aligned, inside agent_arena */
	/* The tracer is gone. Stores release what goes with it, last_heartbeat or a new session's
	 * fields; loads acquire. */
	bool abandoned;
	uint64_t last_heartbeat; /* 1 + the last one, when given up for its sake; 0: for good */
	bool watch;                      /* modules that come later are to be hooked too */
	char socket[PROTOCOL_WAY]; /* where the tracer listens, and the token that is said there */
	/* where it listens for attached processes; empty: `socket` */
	char agent_socket[PROTOCOL_WAY];
	bool limit_shifted; /* our part was added to the limit of the address space (limits.c) */
	uint32_t session; /* number of tracers that have attached; 24 bits of it are told apart */
	uint32_t pid; /* of the process; after a fork the parent's, until buffer_after_fork() */
	/* The tracer's last reading of it: reading it here would take one of the program's
	 * descriptors. */
	int32_t oom_score_adj;
	const char *executed; /* the name execve was given for this program; NULL: not known */
};
_Static_assert(offsetof(struct agent, forbidden) == offsetof(struct agent_state, forbidden),
	       "a tracer reads it as struct agent_state");
_Static_assert(offsetof(struct agent, memory) == 0, "entry.S and syscall.S read it");
_Static_assert(offsetof(struct agent, key) == 24, "syscall.S reads it");
_Static_assert(offsetof(struct memory_header, lost_threadless) == HEADER_LOST_THREADLESS,
	       "entry.S counts there");
extern struct agent agent;

/* The needs that filters forbid, of enum need. Relaxed: another thread may install a filter at any
 * time; who must not be caught by that asks by signals_block() or unblocked_begin(). */
static inline uint32_t agent_forbidden(void)
{
	return __atomic_load_n(&agent.forbidden, __ATOMIC_RELAXED);
}

/* Whether a filter forbids any of these needs, a bit each (enum need); relaxed, as above. */
static inline bool agent_forbids(uint32_t needs)
{
	return agent_forbidden() & needs;
}
/* [0]: not 0, but after a fork; [1]: 1 when a thread has begun to mend that. */
extern uint32_t agent_fork_guard[1024];
/* Indices, for stubs: the bytes of an exit with its value; FORK_GUARD_EXIT: 1. Both are 0 after
 * a fork, and where no thread pointer is to be relied on, as the fork guards of the regions. */
#define FORK_GUARD_VALUED 2

/* The stubs by return address. A slot holds the distance from the table's begin to the place in the
 * arena where a return address stands; an empty slot leads to `nobody`. */
/* Whole pages: madvise() gives back all that the last one has, other variables too. */
struct site_table {
	uint64_t nobody;                 /* no return address */
	int32_t slots[1u << SITE_HASH_BITS];
} __attribute__((aligned(ARCH_PAGE)));
/* By enum memory_returned; private: a fork copies them. */
extern struct site_table agent_table[RETURNED_KINDS];
extern uint8_t agent_arena[];            /* SITE_ARENA_BYTES + SITE_BLOCK_BYTES */

void *memset(void *to, int byte, size_t n); /* mem.c */
/* mem.c. True if the word stands in s. */
bool agent_string_contains(const char *s, const char *word);
/* Returns the block of the calling thread, never NULL: the thread-local one, or, where that is not
 * the thread's own, another (lend.c, no_tls.c). Valid until the next lend_look(). */
struct agent_tls *agent_tls_block(void);

/* The agent's own account of this process's threads, by slot. The slots in the session memory are
 * not believed, since others can write to them. */
struct own_thread { uint64_t block; uint32_t pid, tid; }; /* block: 0 = the slot is nobody's here */
extern struct own_thread agent_own[MEMORY_THREADS_MAX];

/* Returns the slot of the thread whose block it is, or NULL. The check is needed because a block
 * that an ended thread left behind may be a new thread's by now, and name a slot in the memory of a
 * tracer that has gone. That memory stood elsewhere: where both overlap, the old slot begins in the
 * middle of a new one. */
static inline struct memory_thread *agent_thread_slot(const struct agent_tls *t)
{
	const uint64_t at = t->thread - (uint64_t)agent.threads;
	const uint64_t i = at / sizeof(struct memory_thread);

	return t->known & TLS_THREAD && i < agent.layout.threads_max &&
			       i * sizeof(struct memory_thread) == at
		       ? (struct memory_thread *)t->thread
		       : NULL;
}

/* Returns the own account of the thread in that slot; NULL only if it has no slot. */
static inline const struct own_thread *agent_own_thread(const struct agent_tls *t)
{
	const struct memory_thread *slot = agent_thread_slot(t);

	return slot ? &agent_own[slot - agent.threads] : NULL;
}

/* Returns the time of a record, in ticks of the TSC. With causal order it waits until the loads
 * before it are done. */
static inline uint64_t agent_tsc(void)
{
	if (__builtin_expect(agent.settings.causal, 0))
		stamp_wait();
	return stamp_read();
}

/* init.c. Asks the tracer what to hook, and hooks it. Signals blocked. Does nothing if the tracer
 * cannot be reached. */
void agent_ask_session(enum protocol_request request);

/* mappings.c. Makes the settings hold from now on; *s is copied. No other thread is in the
 * agent. */
void mappings_adopt_settings(const struct memory_settings *s);
/* Events' stamps are made in C: no-TLS mode, or causal order. */
extern uint32_t agent_stamps_in_c;

/* mappings.c. Makes all threads take the slow paths from now on, where nothing goes by the thread
 * pointer. */
void mappings_close_fork_guards(void);

/* mappings.c. Opens the fork guards that a fork closed. */
void mappings_rearm(void);

/* exec.c. Hides the agent from the program's environment, and arranges that execve puts it back. */
void exec_hide(char **envp);
/* exec_hide() for a process that the agent was put into by hand: programs that it executes get the
 * agent at `path`. False: they run untraced. */
bool exec_begin(const char *path);

/* limits.c. True if the limit of the address space leaves room for `bytes` of ours. */
bool limits_leave_room(uint64_t bytes);

/* link_map.c. Makes AddressSanitizer's library the first module, as that library demands. */
void link_map_asan_first(char **envp);

/* cfa.c. Patches each libgcc of the process, while no thread executes in one that is new. */
struct r_debug;
void cfa_align(const struct r_debug *debug);

/* dlopen.c. Makes ld.so call agent_modules_changed() when modules come and go. */
void dlopen_watch(char **envp);
void agent_modules_changed(void);
