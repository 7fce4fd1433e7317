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
	bool abandoned;                  /* the tracer is gone */
	uint64_t last_beat; /* 1 + the last heartbeat, when given up for its sake; else 0 */
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
} __attribute__((aligned(4096)));
extern struct site_table agent_table;    /* private: a fork copies it */
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

/* signals.c. Every slow path runs with all signals blocked, so that a handler on this thread finds
 * it either not begun or done. */
/* Not a mask of the kernel's: a filter forbids the call, so nothing is recorded any more
 * (filter.c). */
#define SIGNALS_UNTOUCHED (~UINT64_C(0))
/* Returns the mask to restore, or SIGNALS_UNTOUCHED. Calls may be nested. */
uint64_t signals_block(void);
/* old: from signals_block(); SIGNALS_UNTOUCHED: does nothing. */
void signals_restore(uint64_t old);
uint32_t signals_inside(void);     /* number of threads between the two; filter.c waits for them */
void signals_after_fork(void);     /* in a child's first slow path: no other thread is in one */

/* ldso.c. Returns the address of a symbol that ld.so exports, or NULL. envp: the one that the
 * kernel put on the first stack, after which the auxiliary vector stands. */
const void *ldso_symbol(char **envp, const char *name);
/* ldso_symbol() for the module at `base`, whose dynamic section is d. */
const void *ldso_find(uint64_t base, const Elf64_Dyn *d, const char *name);
/* Returns the offset, in bytes, from the thread pointer to rseq's cpu_id; 0 = there is none. */
int64_t ldso_rseq_cpu_offset(char **envp);
/* AT_EXECFN: the name by which this program was executed; NULL: none. */
const char *ldso_executed(char **envp);

/* init.c. Asks the tracer what to hook, and hooks it. Signals blocked. Does nothing if the tracer
 * cannot be reached. */
void agent_ask_session(enum protocol_request request);

/* mappings.c. Makes the settings hold from now on; *s is copied. No other thread is in the
 * agent. */
void mappings_adopt_settings(const struct memory_settings *s);
/* Events' stamps are made in C: no-TLS mode, or causal order. */
extern uint32_t agent_stamps_in_c;

/* no_tls.c. Blocks by thread id: for AGENT_NO_TLS, which the tracer may ask for, and from the
 * moment that a thread is made which no C library sets up. no_tls_begin() does nothing without
 * AGENT_NO_TLS. It returns false if there is no memory. */
extern uint32_t agent_no_tls;           /* they are in use */
extern uint64_t agent_pointer_guard; /* glibc's, kept for threads without a thread pointer */
bool no_tls_begin(const struct protocol_setup *w);
/* Unmaps the blocks at a detach: no thread is in the agent. */
void no_tls_end(void);
/* Call when a function with this nonlocal_about is entered. sp: address of its return address;
 * below it lies what agent_slow_nonlocal kept. */
void no_tls_starts(const struct nonlocal_about *about, const uint64_t *sp);

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

/* event.c. True if a record passes its event's filter. Its first 8 bytes are filled in here, if the
 * filter reads them. */
struct filter_program;
bool event_passes(const struct filter_program *f, uint32_t filter_bytes, uint32_t event,
		  void *record, uint32_t bytes);

/* probe.c. stack_copy_write() for a thread that stands at a probe, at ip. */
struct probe_regs;
void probe_stack(const struct probe_regs *regs, uint64_t ip, uint32_t event);
/* Copies as many of the n bytes as are there, and returns how many. The kernel does it, so the
 * address may be any. */
uint32_t probe_read_anywhere(uint64_t address, void *to, uint32_t n);

/* stack_copy.c. Writes the stack of a thread that stands at *regs (or `returns` there) for its next
 * record of the event. From `known` to the end of its page memory is certain to be there. */
struct stack_regs;
void stack_copy_write(uint32_t event, const struct stack_regs *regs, uint64_t known, bool returns);

/* buffer.c */
/* Writes one record, in the next sub-buffer if need be; signals blocked. */
void buffer_put(struct agent_tls *t, const uint64_t *payload, unsigned n, uint64_t header);
/* Call before buffer_put(): makes the thread known, notices a fork, notes the CPU. Returns true if
 * the thread's first record is coming. Signals blocked. */
bool buffer_prepare(struct agent_tls *t);
/* Makes a forked child a process of its own; signals blocked. */
void buffer_after_fork(struct agent_tls *t);
/* Counts one lost record; for use when signals_block() returned SIGNALS_UNTOUCHED. */
void buffer_lose(void);
/* Counts n lost records of the calling thread, which gets its slot for that if it has none yet.
 * For a caller that has blocked no signals. */
void buffer_lose_records(struct agent_tls *t, unsigned n);
/* buffer_after_fork(), with the signals blocked for it, if this is a child that has not noticed. */
void buffer_forked(void);
static inline void buffer_check_fork(void)
{
	if (!agent_fork_guard[0])
		buffer_forked();
}
/* Call after a system call that may have changed the process's user. */
void buffer_check_user(void);
#define UNRESERVED (~UINT64_C(0)) /* `at` of a record without a slot */
/* The slow path of one record: it found no room, or its thread runs on another CPU than before. at:
 * its slot, which is past the end, or UNRESERVED. sp: the stack pointer of the trampoline or stub,
 * 0 = C code. The record is written, or counted as lost. */
void agent_record(uint64_t word, uint64_t at, uint64_t sp);
/* agent_record() for a record with one word of payload, of a trampoline, which has `at` in
 * -40(sp). */
void agent_record2(uint64_t word, uint64_t payload, uint64_t sp);
/* agent_record() for a stub's exit with a value, which the stub keeps in -16(sp). */
void agent_record_valued(uint64_t word, uint64_t at, uint64_t sp);
/* The fast path of a one-word record in C: one unlocked xadd. */
void buffer_write(struct agent_tls *t, uint64_t word);
/* buffer_write() for n words: whole records that must stand together. sp as above. */
void buffer_write_words(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t sp);
/* buffer_write_words() for an event's record, whose fields were stored right before. */
void buffer_write_event(struct agent_tls *t, const uint64_t *words, unsigned n);
/* The slow path for n words that did not fit where `at` was reserved for them. */
void buffer_place_words(const uint64_t *words, unsigned n, uint64_t at);
void buffer_unwound(void);                     /* records that an unwinder leaves one more call */

/* nonlocal.c */
static inline uint64_t nonlocal_function(const struct nonlocal_about *about)
{
	return (uint64_t)(about + 1) + (uint64_t)(int64_t)about->from;
}
/* Entry of a function that may leave its stack. Returns its stub, or 0: its return is not
 * followed. sp: stack address of the return address. */
uint64_t agent_nonlocal(const uint64_t *sp, const struct nonlocal_about *about);
/* Records what such a call is about to do. followed: its return has a stub. */
void nonlocal_tell(struct agent_tls *t, const struct nonlocal_about *about, const uint64_t *sp,
		   bool followed);
/* Takes the position back into reach; true: the next record has to tell where it was made. */
bool nonlocal_disarm(struct agent_tls *t);
/* Call before a record of the slow path is written, in a thread that was armed or has just begun.
 * Returns true if it is to be armed again afterwards. Signals blocked, as for nonlocal_rearm(). */
bool nonlocal_before(struct agent_tls *t, bool armed, uint64_t word, uint64_t sp);
/* Puts the thread's position out of reach, so that its next record takes the slow path. */
void nonlocal_rearm(struct agent_tls *t);

/* site.c. Returns the stub of a return address, made on first use; NULL: there is no room, or the
 * caller is code of no file. */
uint8_t *site_stub(uint64_t ret);
/* Reads the code at a return address: true if it is a sigreturn. */
bool site_is_sigreturn(uint64_t ret);
/* site_is_sigreturn() for a call whose signal frame was seen: a call with this return address is a
 * handler's. The answer is remembered, since such an address is never in the site table. */
bool site_of_handler(uint64_t ret);
static inline bool site_is_in_arena(uint64_t addr)
{
	return addr - (uint64_t)agent.arena < SITE_ARENA_BYTES;
}
/* The return address that an address in the arena leads to; 0: none. */
uint64_t site_return(uint64_t stub);
/* Gives a child its own arena and table, by its first slow path. */
void site_after_fork(void);
void site_begin(void);  /* before anything is hooked */
void site_adopt(void);  /* attach: the sites of before go into the new image */
void site_keep(void);   /* detach: keeps the sites without the tracer's memory */
/* Another tracer: calls get new stubs; old ones stay for returns through them. */
void site_renew(void);
/* agent_entry() of a signal's handler; 0: it is not one. */
uint64_t agent_handler(uint64_t ret, uint32_t id_word, uint64_t sp);
/* Entry of a function: returns its stub, or 0. sp: stack address of the return address. */
uint64_t agent_entry(uint64_t ret, uint32_t id_word, uint64_t sp);
/* agent_site() for a trampoline; sp as above. */
uint64_t agent_call_site(uint64_t ret, uint64_t unused, uint64_t sp);
/* Returns the stub of a return address, or the arena itself, which is site 0. */
uint64_t agent_site(uint64_t ret);

/* state.c. True if the tracer keeps live calls in each thread's block; else nonlocal.c uses those
 * fields. */
static inline bool state_is_kept(void)
{
	return agent.settings.tracer == MEMORY_GRAPH_STATE || agent.flags & AGENT_NO_TLS;
}

/* agent_entry() in state mode: also decides by the thread's live calls whether the call is
 * recorded. Returns its stub, or 0. */
uint64_t agent_state_entry(uint64_t sp, uint32_t id_word);
/* Whether a call whose return address stands at sp is made inside of a recorded one. */
bool state_is_inside(uint64_t sp);
/* For entry.S (go_stack.c): the top of a stack that is the thread's until it gives it back, or 0,
 * and the call is counted as lost. */
uint64_t go_stack_take(void);
void go_stack_give(uint64_t top);
/* Return of a call that agent_state_entry() gave a stub: records the exit, and drops the live calls
 * up to it. sp: stack address of the return address. */
void agent_state_exit(uint64_t sp, uint32_t site);
/* agent_nonlocal() in state mode. */
uint64_t agent_state_nonlocal(const uint64_t *sp, const struct nonlocal_about *about);

/* stacks.c. Gives the thread an empty stack of live calls of this session; false: there is none. */
#define STACK_SESSION (agent.session * (TLS_KNOWN_MASK + 1)) /* of agent_tls.known */
bool stack_take(struct agent_tls *t);
/* True if the thread has a stack of live calls of this session. */
static inline bool stack_is_there(const struct agent_tls *t)
{
	return t->stack_base && (t->known & ~TLS_KNOWN_MASK) == STACK_SESSION;
}
/* Takes one if need be; false: there is none, and the call cannot be followed. */
static inline bool stack_ready(struct agent_tls *t)
{
	return stack_is_there(t) || stack_take(t);
}
void stack_give(uint64_t base); /* frees a stack for other threads; 0: does nothing */
void stacks_end(void);          /* at a detach: no thread is in here */

/* saved_stacks.c, in state mode. saved_stack_put() puts away the live calls of a stack that is left
 * at sp, saved_stack_take() takes them up again when the thread goes on there. False: no room, or
 * nothing there. Signals blocked. */
bool saved_stack_put(struct agent_tls *t, uint64_t sp);
bool saved_stack_take(struct agent_tls *t, uint64_t sp);
void saved_stacks_forget(void); /* at a detach: no thread is in here */
