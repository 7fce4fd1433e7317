/* SPDX-License-Identifier: MIT */
/* Inside the traced process. No libc, no lock, no vector register; nothing here may fail
 * loudly: what cannot be done is counted or left out, the program goes on. */
#pragma once
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/memory.h"
#include "shared/record.h"
#include "shared/tls.h"

/* What the process knows, set once by init.c before anything is hooked. Private memory: a
 * forked child has its own copy. */
struct agent {
	struct memory_header *memory;    /* NULL: not tracing. From here to n_regions: struct agent_state */
	uint64_t memory_size;
	int64_t tls_offset;
	int64_t key;                     /* what agent_tls.key is compared with, from the thread pointer; 0 = none */
	uint32_t flags;                  /* AGENT_* */
	uint32_t image_id;
	uint64_t n_regions;              /* of trampolines */
	struct memory_layout layout;     /* of the session memory; that one is not believed */
	struct memory_settings settings;
	struct memory_thread *threads;
	struct memory_desc *descs;
	uint8_t *buffers;
	uint64_t *ends;                  /* MEMORY_TIDS bits */
	struct image_memory *image;
	uint8_t *arena;                  /* 64 KiB aligned, inside agent_arena */
	bool abandoned;                  /* the tracer is gone */
	bool watch;                      /* modules that come later are to be hooked too */
	char socket[108];                /* where it listens */
	char door[108];                  /* the same, for who runs already; empty: as above */
	bool limit_shifted;              /* our part was added to the limit of address space (limits.c) */
	uint32_t session;                /* how many tracers attached, of which 24 bits are told apart */
	uint32_t forbidden;              /* system calls we must do without, enum need in needs.h */
	uint32_t pid;                    /* of the process; after a fork, until that is noticed, the parent's */
	int32_t oom_score_adj;           /* as the tracer last saw it: reading it takes a descriptor of the program's */
	const char *executed;            /* what execve was given for this program; NULL: not known */
};
_Static_assert(offsetof(struct agent, n_regions) == offsetof(struct agent_state, n_regions),
	       "a tracer reads it as struct agent_state");
_Static_assert(offsetof(struct agent, memory) == 0, "entry.S and syscall.S read it");
_Static_assert(offsetof(struct agent, key) == 24, "syscall.S reads it");
_Static_assert(offsetof(struct memory_header, lost_threadless) == HEADER_LOST_THREADLESS, "entry.S counts there");
extern struct agent agent;
extern uint32_t agent_gate[1024];        /* [0]: SITE_HASH_MULTIPLIER, or 0 after a fork; [1]: who sees to that */
#define GATE_VALUED 2                    /* of them: the bytes of an exit with its value, or 0 after a fork */

/* From a return address to its stub. A slot holds where in the arena that return address stands, from the table's begin; an empty one
 * leads to `nobody`. */
struct site_table {
	uint64_t nobody;                 /* no return address */
	int32_t slots[1u << SITE_HASH_BITS];
};
extern struct site_table agent_table;
extern uint8_t agent_arena[];            /* SITE_ARENA_BYTES + SITE_BLOCK_BYTES */

void *memset(void *to, int byte, size_t n); /* mem.c */
struct agent_tls *agent_tls_block(void);   /* of the calling thread */

/* The agent's own account of this process's threads that have slots, by slot: the slots themselves, which others can write to, are not believed. */
struct own_thread { uint64_t block; uint32_t pid, tid; }; /* block: 0 = the slot is nobody's here */
extern struct own_thread agent_own[MEMORY_THREADS_MAX];

/* The slot of the thread whose block it is; NULL: it has none. A block that a thread which ended has left behind may be a new
 * thread's, and say where it was in the memory of a tracer that has long gone. */
static inline struct memory_thread *thread_slot(const struct agent_tls *t)
{
	struct memory_thread *slot = (struct memory_thread *)t->thread;

	return t->known & TLS_THREAD && slot >= agent.threads && slot < agent.threads + agent.layout.threads_max ? slot : NULL;
}

/* The own account of the thread in that slot: NULL only if it has none. */
static inline const struct own_thread *own_thread(const struct agent_tls *t)
{
	const struct memory_thread *slot = thread_slot(t);

	return slot ? &agent_own[slot - agent.threads] : NULL;
}

static inline uint64_t read_tsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* signals.c: every slow path runs with all signals blocked, so that a handler on this
 * thread finds either nothing done or everything. */
#define SIGNALS_UNTOUCHED (~UINT64_C(0)) /* no mask of the kernel's: nothing more is recorded (filter.c) */
uint64_t signals_block(void);
void signals_restore(uint64_t old);
uint32_t signals_inside(void);     /* threads between the two: filter.c waits for them */
void signals_after_fork(void);     /* in a slow path: nobody else is */

/* ldso.c. The address of a symbol ld.so exports (of one that a module at base exports), or 0. */
const void *ldso_symbol(char **envp, const char *name);
const void *ldso_find(uint64_t base, const Elf64_Dyn *d, const char *name);
int64_t rseq_cpu_offset(char **envp); /* of rseq's cpu_id from the thread pointer, 0 = there is none */
const char *ldso_executed(char **envp);

/* init.c: asks the tracer what to hook and does it. */
void session_ask(enum protocol_request request);

/* far.c: blocks by thread id, with AGENT_FAR, which the tracer may ask for; without it far_begin does nothing. */
bool far_begin(const struct protocol_welcome *w);
void far_end(void);

/* place.c: opens the gates that a fork closed. */
void place_rearm(void);

/* exec.c: hides us from the program's environment, and has execve put us back. */
void exec_hide(char **envp);
/* The same for a process that the agent was put into by hand: what it executes is to have the agent at path. */
bool exec_begin(const char *path);

/* limits.c: does the limit of address space leave room for so much of ours? */
bool limits_leave_room(uint64_t bytes);

/* order.c: lets AddressSanitizer's library be the first module. */
void order_modules(char **envp);

/* cfa.c: of each libgcc in the process; while nothing executes in one that is new. */
struct r_debug;
void cfa_make_even(const struct r_debug *debug);

/* dlopen.c: has ld.so tell us of modules that come and go. */
void dlopen_watch(char **envp);
void agent_modules_changed(void);

/* event.c: does a record pass its event's filter? Its first 8 bytes are filled in. */
struct filter_program;
bool event_passes(const struct filter_program *f, uint32_t filter_bytes, uint32_t event, void *record, uint32_t bytes);

/* probe.c: stack_copy_write for a thread that stands at a probe, at ip. */
struct probe_regs;
void probe_stack(const struct probe_regs *regs, uint64_t ip, uint32_t event);
/* So many of the n bytes as are there. */
uint32_t read_anywhere(uint64_t address, void *to, uint32_t n);

/* stack_copy.c: the stack of a thread that stands at *regs (or `returns` there), for its next record of the event. From
 * `known` to the end of its page memory is there. */
struct stack_regs;
void stack_copy_write(uint32_t event, const struct stack_regs *regs, uint64_t known, bool returns);

/* buffer.c */
void buffer_put(struct agent_tls *t, const uint64_t *payload, unsigned n, uint64_t header); /* signals blocked */
/* Before buffer_put: thread known, not a stale fork, CPU noted. True if the thread begins just now. */
bool buffer_prepare(struct agent_tls *t);
void buffer_after_fork(struct agent_tls *t);   /* signals blocked */
void buffer_lose(void);                        /* signals_block gave SIGNALS_UNTOUCHED: counts one record */
void buffer_forked(void);
static inline void buffer_check_fork(void)     /* the same if this is a child that does not know it yet */
{
	if (!agent_gate[0])
		buffer_forked();
}
/* The process may just have become another user's. */
void buffer_check_user(void);
/* A record that found no room, or another CPU. at: its slot, which is behind the end, or UNRESERVED.
 * sp: where the trampoline or stub stood with it, 0 = C code. A trampoline's second kind has `at` in -40(sp). */
#define UNRESERVED (~UINT64_C(0))
void agent_record(uint64_t word, uint64_t at, uint64_t sp);
void agent_record2(uint64_t word, uint64_t payload, uint64_t sp);
/* The same for a stub's exit with the value that it keeps in -16(sp). */
void agent_record_valued(uint64_t word, uint64_t at, uint64_t sp);
/* The record's fast path in C: one unlocked xadd. */
void buffer_write(struct agent_tls *t, uint64_t word);
/* The same for n words: whole records that must stand together. sp as above. */
void buffer_write_words(struct agent_tls *t, const uint64_t *words, unsigned n, uint64_t sp);
/* The same for an event's record, of fields that were written right before. */
void buffer_write_event(struct agent_tls *t, const uint64_t *words, unsigned n);
/* For n words that did not fit where `at` was reserved for them. */
void buffer_settle_words(const uint64_t *words, unsigned n, uint64_t at);
void buffer_unwound(void);                     /* an unwinder leaves one more call */

/* leave.c */
static inline uint64_t leave_function(const struct leave_about *about)
{
	return (uint64_t)(about + 1) + (uint64_t)(int64_t)about->from;
}
uint64_t agent_leave(const uint64_t *sp, const struct leave_about *about); /* stub or 0 */
/* Writes what such a call is about to do. followed: its return is. */
void leave_tell(struct agent_tls *t, const struct leave_about *about, const uint64_t *sp, bool followed);
bool leave_disarm(struct agent_tls *t);        /* true: the next record is to tell where it was made */
/* Before the record `word` of the slow path is written, in a thread that was armed or has just begun:
 * true if it is to be armed again afterwards. Signals blocked, as for the next. */
bool leave_before(struct agent_tls *t, bool armed, uint64_t word, uint64_t sp);
void leave_rearm(struct agent_tls *t);

/* site.c: the stub of a return address, made on first use; NULL: there is no room, or the caller is code of no file. */
uint8_t *site_stub(uint64_t ret);
/* Reads the code at a return address: whether it is a sigreturn. */
bool site_is_sigreturn(uint64_t ret);
/* site_is_sigreturn for a call whose signal frame was seen; a call with this return address is a handler. The answer is remembered, since
 * the address is never in the site table. */
bool site_of_handler(uint64_t ret);
static inline bool in_arena(uint64_t addr)
{
	return addr - (uint64_t)agent.arena < SITE_ARENA_BYTES;
}
uint64_t site_return(uint64_t stub); /* where it leads to; of any address in the arena; 0: none */
void site_after_fork(void);
void site_begin(void);  /* before anything is hooked */
void site_adopt(void);  /* attach: the sites of before go into the new image */
void site_keep(void);   /* detach: keeps them, apart from the tracer's memory */
void site_renew(void); /* another tracer: calls get new stubs, those there stay for who returns through them */
uint64_t agent_handler(uint64_t ret, uint32_t id_word, uint64_t sp); /* agent_entry of a signal's handler; 0: it is none */
uint64_t agent_entry(uint64_t ret, uint32_t id_word, uint64_t sp);  /* stub or 0; sp: of the return address */
uint64_t agent_site(uint64_t ret);                     /* stub, or the arena itself: site 0 */

/* state.c: the tracer has live calls in each thread's block, else leave.c has its own there. */
static inline bool keeps_state(void)
{
	return agent.settings.tracer == MEMORY_GRAPH_STATE || agent.flags & AGENT_FAR;
}

uint64_t agent_state_entry(uint64_t sp, uint32_t id_word); /* stub or 0 */
void agent_state_exit(uint64_t sp, uint32_t site);
uint64_t agent_state_leave(const uint64_t *sp, const struct leave_about *about); /* as agent_leave */

/* stacks.c: has the thread a stack of live calls? It is given one, empty, if it has none of this session. */
#define STACK_SESSION (agent.session * (TLS_KNOWN_MASK + 1)) /* of agent_tls.known */
bool stack_take(struct agent_tls *t);
static inline bool stack_is_there(const struct agent_tls *t)
{
	return t->stack_base && (t->known & ~TLS_KNOWN_MASK) == STACK_SESSION;
}
static inline bool stack_ready(struct agent_tls *t)
{
	return stack_is_there(t) || stack_take(t);
}
void stack_give(uint64_t base); /* 0: none */
void stacks_end(void);          /* at a detach: no thread is in here */

/* park.c: state mode's live calls of a stack that is left at sp, and gone on with there; false: no room,
 * nothing there. Signals blocked. */
bool park(struct agent_tls *t, uint64_t sp);
bool unpark(struct agent_tls *t, uint64_t sp);
void park_forget(void);
