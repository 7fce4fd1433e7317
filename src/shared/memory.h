/* SPDX-License-Identifier: MIT */
/* The session memory: shared by the tracer and the traced processes of one user; a session has one
 * for each user. It belongs to the tracer (a memfd), so a traced program that dies leaves
 * everything it recorded in it. Every process maps it where it likes, so it holds offsets and
 * indices, never pointers.
 *
 *   header | thread slots | sub-buffer descriptors | ends that were told | sub-buffers
 *
 * A sub-buffer's life: a thread takes it (from the free stack, else from the never used ones),
 * zeroes it, and marks it FILLING; it becomes FULL when the thread moves on; the tracer reads it
 * and gives it back. The free stack's head carries a tag against ABA. A process that dies between
 * taking a sub-buffer and marking it leaks that one, empty, to the end of the session.
 *
 * The tracer does not trust what the agent writes: it checks every index it reads. Nor does the
 * agent trust the memory, since its process may have a child that is less trusted. */
/* Orderings. In brackets: the step of shared/memory.pml and, where leaving it out is one of the
 * model's faults, the fault.
 *
 * * A record's payload, then its header: store_record() and store_halves() of agent/buffer.c
 *   release the header, scan_words() of collect/drain.c acquires it [fill, BUG_HEADER]. A header
 *   of 0 is a slot not written yet. Trampolines store plainly: x86 keeps the order of stores.
 * * Records and desc.used, then state FULL: sub_buffer_close() releases it; collect_claims() and
 *   read_claim() acquire it [sub_buffer_close, BUG_USED]. reap_dead() releases it for a thread that
 *   died [close_for_writer].
 * * The other fields of a descriptor, then state FILLING: sub_buffer_open() releases it,
 *   read_claim() acquires it [sub_buffer_open, BUG_LATE]. thread.lost_reported follows
 *   the state: of a thread that dies between both, the loss is in the descriptor only, and the
 *   tracer takes it from there [tell_losses, BUG_REPORTED, BUG_TOLD].
 * * thread.overwritten[], then first_seq, whose lowest bit chooses the element: both throw_away()
 *   release it; is_overwritten() and count_overwritten() acquire it [throw_away_own,
 *   BUG_FIRST_SEQ]. Then state FREE, before the descriptor is written anew [BUG_OLD_FIELDS].
 * * desc.next and state FREE, then free_head: shared_memory_give_back() releases it, pop_free()
 *   acquires it [give_back, pop_free, BUG_TAG].
 * * Block mode, no lost wake: wait_and_take() raises free_waiters, reads free_futex, then looks for
 *   a sub-buffer; the tracer gives one back, then reads free_waiters and raises free_futex.
 *   Store before load on both sides: SEQ_CST [wait_and_take, wake_writers, BUG_WAKE].
 * * `stopped`, then free_futex: shared_memory_stop() stores both, wait_and_take() reads them in the
 *   other order, so that no writer sleeps on the old value. Not in the model.
 * * Sub-buffers given back, then `passes`: shared_memory_passed() releases it, wait_and_take()
 *   reads it before free_futex: whoever counted two passes has seen what they gave back
 *   [wait_and_take, BUG_LOOK].
 * * The tracer's sleep: memories_wait() sets tracer_waits and sleeps on the full_futex that it saw
 *   before its pass; tell_tracer() raises full_futex, then reads tracer_waits. SEQ_CST again. Not
 *   in the model: the tracer wakes by its own clock anyway.
 * * heartbeat is relaxed: only whether it moves matters [abandoned, BUG_HEART]. So are
 *   buffers_used and threads_used: they bound searches, and each element says whether it is there.
 * * Fields of a thread slot, then `ready`: thread_start() releases it, next_slot() of
 *   session/thread_names.c acquires it.
 * * A name that a thread gave itself, then its number: note_name() of agent/rename.c releases it,
 *   read_name() of collect/renames.c acquires it and reads it again after the name.
 * * Ends that were told: tell_end() of agent/tasks.c releases a bit of `ends`,
 *   shared_memory_take_end() acquires it. Messages: both writers (agent/message.c,
 *   collect/messages.c) release message.written, take_one() of collect/messages.c acquires it.
 * * Fields of execs[], then pid: both write_exec_note() (agent/tasks.c, inject/launch.c) release
 *   it, take_note() acquires it.
 * * image_memory.modules[], then n_modules: released by note_module() of session/updates.c and
 *   copy_modules() of agent/user.c. sites[] needs no order: 0 is a return address that is not there
 *   yet. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/nonlocal.h"
#include "shared/messages.h"
#include "shared/tasks.h"
#include "shared/version.h"

#define MEMORY_MAGIC 0x65636172625f5f31ull
#define MEMORY_VERSION 14
#define MEMORY_BUFFER_BYTES 65536u
#define MEMORY_BUFFER_WORDS (MEMORY_BUFFER_BYTES / 8)
/* Slack after `end`. It takes (1) the second word of a record that began in the last slot, and (2)
 * slots that were reserved after `end` by contexts which a signal handler interrupted before their
 * comparison, and which find a later end when they compare: one for each level of nested
 * handlers. */
#define MEMORY_SPARE_WORDS 64
#define MEMORY_BUFFER_USABLE (MEMORY_BUFFER_BYTES - 8 * MEMORY_SPARE_WORDS)
/* The window for records that find no room: small at first, because room may come; then larger,
 * because each window costs a slow path. MEMORY_SPARE_WORDS follow its end, too. */
#define MEMORY_DISCARD_WORDS 512
#define MEMORY_DISCARD_MOST (MEMORY_DISCARD_WORDS - MEMORY_SPARE_WORDS)
#define MEMORY_DISCARD_FIRST 64
#define MEMORY_NONE 0xffffffffu
#define MEMORY_THREADS_MAX (1u << 18)

/* STREAM drops records that find no room, OVERWRITE drops a thread's oldest ones, BLOCK makes the
 * thread wait for the tracer. */
enum memory_mode { MEMORY_STREAM, MEMORY_OVERWRITE, MEMORY_BLOCK };
/* Flags in the id word that a state trampoline passes: the function may begin a graph; its return
 * is not followed. */
#define STATE_GRAPH_FUNCTION (1u << 24)
#define STATE_ENTRY_ONLY (1u << 25)
#define STATE_SCOPE (1u << 26) /* a TRAMPOLINE_SCOPE */

/* GRAPH_STATE is GRAPH with a stack of live calls for each thread, for settings that need to know
 * the caller of a call. */
enum memory_tracer { MEMORY_GRAPH, MEMORY_GRAPH_STATE, MEMORY_FUNCTION };
#define MEMORY_NO_GRAPH 2u /* memory_settings.graph_functions */
/* Scopes of events, a bit each: an event that has any is recorded while a call of a function of one
 * is open on the thread. */
#define MEMORY_SCOPES 8u
/* The last four bytes before the moved instructions of a TRAMPOLINE_SCOPE: the scopes that a call
 * opens, and SCOPE_SILENT if it is followed and not recorded. */
#define SCOPE_SILENT (1u << 31)
#define SCOPE_FOLLOWED (1u << 30) /* the word is there */
/* In a probe's scopes: it stands at the first instruction of a function whose call is a level, and
 * comes before that call is known. */
#define SCOPE_ENTERS (1u << 8)

/* Sizes and places of a session memory's parts. */
struct memory_layout {
	uint32_t mode;            /* enum memory_mode */
	uint32_t quota;           /* sub-buffers a thread may hold */
	uint32_t wake_at;         /* holding so many, it wakes the tracer */
	uint32_t threads_max, buffers_max; /* threads_max: at most MEMORY_THREADS_MAX */
	uint32_t pad;
	uint64_t threads_at, descs_at, ends_at, buffers_at, size; /* byte offsets */
};

/* Settings of what is recorded. They change only while nobody records. */
struct memory_settings {
	uint32_t tracer;          /* enum memory_tracer */
	uint32_t max_depth;       /* 0 = none. MEMORY_GRAPH_STATE alone reads it and thresh_ticks */
	/* 1: only inside functions marked TRAMPOLINE_GRAPH; MEMORY_NO_GRAPH: calls are followed for
	 * the scopes of events alone. */
	uint32_t graph_functions;
	/* 1: the function tracer's records beside the graph's, for instances that share a
	 * session. */
	uint32_t record_both;
	/* 1: every call tells its place on the stack (RECORD_EVENT_AT); only MEMORY_GRAPH_STATE. */
	uint32_t record_sp;
	uint32_t values;          /* 1: exits tell their functions' values (RECORD_EXIT_VALUE) */
	uint32_t causal; /* 1: a record's time is not before the loads before it (lfence) */
	/* The tracer as the user has it, by its row's number (model/tracer.h), for a later brace:
	 * the agent does not read it. */
	uint32_t tracer_number;
	uint64_t thresh_ticks;
	/* By scope: how many levels of calls it reaches down; 0 = all. */
	uint8_t scope_depths[MEMORY_SCOPES];
};

/* Layout and settings here are for a tracer that finds the memory after another one's death. Each
 * side acts by copies of its own; the agent gets its copy by the socket. */
struct memory_header {
	uint64_t magic;
	uint32_t version, pad;
	struct memory_layout layout;
	struct memory_settings settings;

	_Alignas(64) uint64_t free_head; /* tag << 32 | index; index MEMORY_NONE = empty */
	uint32_t buffers_used;    /* indices below it were taken at least once */
	uint32_t free_futex;      /* counts sub-buffers given back; threads wait on it */
	uint32_t free_waiters; /* threads in wait_and_take() */

	_Alignas(64) uint32_t threads_used;
	uint32_t full_futex;      /* counts sub-buffers that became FULL, for the tracer */
	uint32_t tracer_waits; /* 1: the tracer sleeps on full_futex */
	uint32_t stopped; /* 1: recording is over; records that are dropped now are no loss */
	uint64_t lost_threadless; /* records of threads that got no slot */

	_Alignas(64) uint64_t heartbeat; /* the tracer lives as long as it moves */
	uint32_t tracer_pid;
	uint32_t passes; /* the tracer's looks at all sub-buffers so far, for threads that wait */

	_Alignas(64) struct memory_messages messages;
	struct task_exec_note execs[TASK_EXECS]; /* by process number */
};

/* Whether recording is over. Pairs with shared_memory_stop(); on x86 a plain load. */
static inline bool memory_is_stopped(const struct memory_header *m)
{
	return __atomic_load_n(&m->stopped, __ATOMIC_ACQUIRE);
}

/* A name that a thread gave itself. */
struct memory_name {
	uint32_t number; /* 1 + the number of names before it; written last; 0: none is here */
	uint32_t pad;
	uint64_t tsc;
	char comm[16];
};
#define MEMORY_NAMES 8u           /* the newest are kept */

/* A thread's slot. The thread writes it; the tracer writes `taken`, lowers `held`, and does for a
 * thread that ended what that one left undone. */
struct memory_thread {
	uint32_t pid, tid;
	uint32_t image;
	/* 1 once the fields above hold, and comm, tsc, oldest, newest, cpu, block. */
	uint32_t ready;
	char comm[16];            /* its name when it came */
	uint64_t tsc;
	uint64_t lost;            /* records lost for good, over the whole life */
	uint64_t lost_reported;   /* part of `lost` that descriptors have told in their `lost` */
	/* Overwrite mode: sub-buffers before first_seq are thrown away, and overwritten[first_seq &
	 * 1] records with them. The one store of first_seq changes both. */
	uint64_t overwritten[2];
	uint32_t first_seq;
	uint32_t pad;
	/* Records, kept and lost, that the tracer has taken; it alone writes here. */
	uint64_t taken;
	uint32_t seq;             /* number of the next sub-buffer */
	uint32_t held; /* sub-buffers FILLING or FULL: the thread adds, the tracer takes off */
	uint32_t oldest, newest;  /* overwrite mode: this thread's ring */
	uint32_t discarding;         /* 1: records go to `discard` at the moment */
	uint32_t cpu;             /* as last recorded */
	uint32_t window;          /* of `discard`, words; 0 = none yet since there was room */
	uint32_t renames;         /* how often it gave itself a name since it came */
	/* Rename i, from 0 on, in names[i % MEMORY_NAMES]. */
	struct memory_name names[MEMORY_NAMES];
	uint64_t block;           /* address of its struct agent_tls, in its process */
	/* `lost` when the window was begun; if `lost` differs, the window has been counted. */
	uint64_t discard_from;
	/* The window for records that find no room: counted when it is full, and by the tracer at
	 * the end. */
	uint64_t discard[MEMORY_DISCARD_WORDS];
};

/* At ends_at: one bit for each possible thread number. 1: the thread has told of its end itself.
 * The tracer clears it when the kernel reports the thread's end. */
#define MEMORY_TIDS (1u << 22)

/* Returns the words of an empty slot at words[0], of n up to the next record: a record that never
 * came. In the function tracer all records that count have two; in the others nearly all have one,
 * except exits with a value. */
static inline unsigned memory_unwritten_words(uint32_t tracer, uint32_t values,
					      const uint64_t *words, uint64_t n)
{
	if (tracer == MEMORY_FUNCTION)
		return 2;
	return values && n > 1 && !__atomic_load_n(&words[1], __ATOMIC_RELAXED) ? 2 : 1;
}

/* Returns how many records would have fitted into that many empty words. */
static inline uint64_t memory_holes_in(uint32_t tracer, uint32_t values, uint64_t words)
{
	return tracer == MEMORY_FUNCTION || values ? (words + 1) / 2 : words;
}

enum memory_state { MEMORY_FREE, MEMORY_FILLING, MEMORY_FULL };

/* A sub-buffer's descriptor. Its thread writes it until it is FULL, then the tracer, which also
 * closes those of threads that ended. `begins` is the tracer's. */
struct memory_desc {
	uint32_t state;           /* enum memory_state */
	uint32_t thread;          /* slot index */
	uint32_t seq;             /* 0, 1, 2 ... within the thread */
	uint32_t used;            /* bytes, when FULL */
	uint64_t tsc;             /* full TSC, just before its first record */
	uint32_t cpu;             /* of its first record */
	uint32_t next;            /* free stack; overwrite mode: next younger of the thread */
	uint64_t lost;            /* records of this thread lost just before it */
	uint64_t lost_upto;       /* the thread's `lost` when it was opened */
	uint64_t begins; /* 1 + the thread's `taken` when the tracer began it; 0 = not yet */
	uint32_t dirty;           /* 1: was used before, so its thread zeroes it first */
	uint32_t pad;
};

/* --- the image memory: one for each program image (exec), shared with its forks ---
 *
 * The id of a call site is also the place of its stub. The arena of stubs consists of 64 KiB blocks
 * of 2,048 places each: id = block << 11 | place. The stub of a place is 32 bytes at 32 times its
 * number, its return address 8 bytes at 8 times its number. So the first 512 places have no stubs,
 * because return addresses are there; nor have the last ones, because code is there that all stubs
 * of the block call.
 *
 * The arena is private to each process. The image memory counts the sites of all forks and tells
 * the tracer what each is. Nothing in it decides where a process goes, because a child that is less
 * trusted than its parent can write to it. */
#define SITE_BLOCK_BYTES 65536u
#define SITE_STUB_BYTES 32u
#define SITE_RETURNS_BYTES 16384u /* return addresses: the pages of a block that are writable */
#define SITE_EXITS_AT 0xfe00u     /* in a block: the code that its stubs call */
#define SITE_BLOCK_IDS 2048u
#define SITE_FIRST_IN_BLOCK 512u
#define SITE_END_IN_BLOCK (SITE_EXITS_AT / SITE_STUB_BYTES)
#define SITE_PER_BLOCK (SITE_END_IN_BLOCK - SITE_FIRST_IN_BLOCK)
#define SITE_BLOCKS 256u
#define SITE_IDS (SITE_BLOCKS * SITE_BLOCK_IDS)
#define SITE_ARENA_BYTES (SITE_BLOCKS * SITE_BLOCK_BYTES)

/* The hash keeps neighbours together: there is a slot for each four bytes of text, so no two calls
 * of a function share one, and two megabytes of text use all slots once. */
#define SITE_HASH_BITS 19
#define SITE_HASH_MULTIPLIER 2048u

/* The value that a call's stub records: rax; the vector register of floating-point numbers; the
 * string at rax, or of the std::string object at rax; that of the std::string_view in rax and
 * rdx; all registers that a value may be returned in; the memory at rax. A return address has a
 * stub for each kind of function that is called there. The id word of a trampoline has the kind of
 * its function, at RETURNED_SHIFT. */
enum memory_returned {
	RETURNED_WORD, RETURNED_FLOAT, RETURNED_STRING, RETURNED_OBJECT, RETURNED_VIEW,
	RETURNED_REGISTERS, RETURNED_MEMORY, RETURNED_KINDS
};
#define RETURNED_SHIFT 29
#define RETURNED_MASK (7u << RETURNED_SHIFT)
#define RETURNED_TEXT 65u /* bytes of a string at most */
#define RETURNED_BLOCK 64u /* bytes of the registers, and at most of the memory */

/* Bytes of a struct site_table (agent/agent.h), whole pages: there is one for each kind. */
#define SITE_TABLE_BYTES ((8u + (4u << SITE_HASH_BITS) + 4095u) / 4096u * 4096u)

/* Ids of a module's functions, for a reader that has the records but no trace file (recover). */
struct image_module { uint64_t start; uint32_t first_id, pad; };
#define IMAGE_MODULES 254u

/* The memory of one image. The header takes a page, so that pages of `sites` are pages. */
struct image_memory {
	uint32_t next_site;       /* a count, not an id: see memory_site_id_of_count() */
	uint32_t n_modules;       /* opened; by the tracer, or user.c */
	struct image_module modules[IMAGE_MODULES];
	/* For kinds of values but RETURNED_WORD: a block of sites is each kind's own. The count of
	 * the next one in it; a multiple of SITE_PER_BLOCK: there is no block, or it is full. */
	uint32_t next_returned[RETURNED_KINDS - 1];
	/* Return addresses by count; read by the tracer only. */
	uint64_t sites[SITE_BLOCKS * SITE_PER_BLOCK];
};

_Static_assert(offsetof(struct image_memory, sites) == 4096, "a page of sites is a page");

/* Returns the id of the n-th site. */
static inline uint32_t memory_site_id_of_count(uint32_t n)
{
	return n / SITE_PER_BLOCK * SITE_BLOCK_IDS + SITE_FIRST_IN_BLOCK + n % SITE_PER_BLOCK;
}

/* Returns the number of the site with this id, which must exist. */
static inline uint32_t memory_site_count_of_id(uint32_t id)
{
	return id / SITE_BLOCK_IDS * SITE_PER_BLOCK + id % SITE_BLOCK_IDS - SITE_FIRST_IN_BLOCK;
}

/* True if there can be a stub at the id's place. */
static inline int memory_site_id_exists(uint32_t id)
{
	return id % SITE_BLOCK_IDS >= SITE_FIRST_IN_BLOCK &&
	       id % SITE_BLOCK_IDS < SITE_END_IN_BLOCK;
}

/* --- what is said over the socket when a program image starts --------------------------------- */
/* The requests of an agent. PROTOCOL_HANDLER: a function becomes a signal's handler, and its entry
 * is to be probed; the answer is no setup reply, but the end of the connection. PROTOCOL_USER: the
 * process has become another user's and asks for that user's session memory, and for an image of
 * its own like the one it has. */
enum protocol_request {
	PROTOCOL_HELLO = 1,
	PROTOCOL_DONE,
	PROTOCOL_DLOPEN,
	PROTOCOL_HANDLER,
	PROTOCOL_USER
};

/* Agents are given "ADDRESS:TOKEN", and send the token in every hello. A process of the same user
 * that does not know it is sent away. The token is random, one for each session. */
#define PROTOCOL_TOKEN 32
#define PROTOCOL_TOKEN_MARK ':'
#define PROTOCOL_WAY 108 /* bytes of both, with the final NUL */

/* Sent by the agent. Addresses are in its process. */
struct protocol_hello {
	uint32_t request, version;
	char token[PROTOCOL_TOKEN];
	uint32_t image;           /* the image it has; PROTOCOL_HELLO: MEMORY_NONE */
	uint32_t flags;           /* AGENT_* */
	int64_t tls;              /* of struct agent_tls from the thread pointer */
	/* Offset from the thread pointer to the word that agent_tls.key is compared with; 0 =
	 * none. */
	int64_t key;
	uint64_t table;           /* struct site_table (agent/agent.h) */
	uint64_t arena;
	/* arch/x86_64/agent/entry.S */
	uint64_t slow_record, slow_record2, slow_entry, slow_site, state_entry, slow_nonlocal;
	uint64_t find_fde, find_object, iterate_phdr; /* agent/unwind.c */
	uint64_t intercept, intercept_filter; /* arch/x86_64/agent/libc_calls.S */
	uint64_t probe;           /* arch/x86_64/agent/probe.S */
	uint64_t event;           /* arch/x86_64/agent/event.S */
	uint64_t syscall;         /* arch/x86_64/agent/syscall.S */
	uint64_t delivery;        /* arch/x86_64/agent/delivery.S */
	uint64_t arguments;       /* arch/x86_64/agent/arguments.S */
	uint64_t lock;            /* arch/x86_64/agent/lock.S */
	uint64_t handler;         /* PROTOCOL_HANDLER: its address */
};

/* Flags of the ways in which an agent finds a thread's block. */
/* agent_tls.key is the thread's id, not its CPU: the block may be used by another thread later. */
#define AGENT_KEY_IS_TID 1u
/* No block is at a fixed distance from the thread pointer: records go by C code. */
#define AGENT_NO_TLS 2u
/* Not loaded by ld.so, so unwinders do not find its tables by themselves. */
#define AGENT_BY_HAND 4u
#define AGENT_GO 8u /* Go without a C library: the goroutine stands below the thread pointer */

/* The answer to PROTOCOL_HELLO and others: what to map and to patch. */
struct protocol_setup {
	uint32_t trace;           /* 0: go on untraced */
	uint32_t image;
	uint32_t n_regions, n_patches, n_texts, n_codes;
	uint32_t n_lasting, n_constants;
	uint32_t watch;           /* 1: ask again when modules come or go */
	uint32_t flags; /* AGENT_NO_TLS: threads are started without libc (no_tls.c); AGENT_GO */
	uint32_t signals;         /* 1: signal deliveries are recorded */
	/* Sizes of the second to the fourth descriptor. The fourth is the answer memory: a
	 * byte for each region (1: it is mapped), then one for each patch (enum patch_status). */
	uint64_t image_size, code_size, answers_size;
	struct memory_layout layout;    /* of the first: the session memory */
	struct memory_settings settings;
	/* Offsets in the code memory. Behind n_lasting mappings stand n_constants others. */
	uint64_t regions_at, patches_at, texts_at, codes_at, constants_at;
	/* In the code memory: a struct task_block, for the events of a new program; 0 = none. */
	uint64_t tasks_at;
	int32_t oom_score_adj;    /* the process's */
	uint32_t lacks;           /* LACKS_*: what a filter forbids that the agent can do without */
};
/* Calls that a seccomp filter forbids and that the agent can do without. */
#define LACKS_TASKS 1u    /* reading a thread's priority, and its parent */
#define LACKS_COPY 2u     /* reading memory at a pointer of the program's */
#define LACKS_HANDLERS 4u /* asking for a signal's handler */
#define LACKS_USER 8u     /* changing to another user's session memory */
#define LACKS_TEXTS 16u   /* finding out which callers are code of a file */

/* The agent's last word: how many patches it applied. */
struct protocol_done {
	uint32_t request, applied;
	uint32_t note;            /* enum message_kind: why it goes on untraced */
};

/* A part of the code memory, to be mapped at `address`: [a page of data: the fork guard][code]. */
struct patch_region {
	uint64_t address, bytes, offset; /* code: PROT_READ|PROT_EXEC */
	uint64_t fork_guard;            /* address of its fork guard's page, which a fork zeroes */
	uint64_t module;          /* where the module's text starts, for the tracer */
	uint64_t layouts;         /* address of n_layouts trampoline_layouts, behind the code */
	uint64_t rule;            /* address of its unwind table (unwind_rule.h); 0 = none */
	uint32_t n_layouts, mapped; /* mapped: the tracer's, by the answer memory */
};

/* Where a trampoline stands, and what it was made of, for faults in it (agent/faults.c) and for
 * unwinders (unwind_rule.h). By `at`, ascending; offsets from the region's address. A probe's code
 * has three: the instructions that are moved before it (at = body), its call of the agent (`pushed`
 * is LAYOUT_CALLS_AGENT), and the rest (at = body). A filter's code has one (`pushed` is
 * LAYOUT_FILTER), and stands for no instruction: len = 0. */
struct trampoline_layout {
	uint32_t at, body;        /* the trampoline; in it, the moved instructions */
	int32_t from;             /* the patched instructions */
	uint8_t plain;            /* bytes of them that stand in the body at the same distances */
	uint8_t len;              /* bytes of them that moved */
	uint8_t pushed, grown;    /* as in struct relocate_shape */
};

/* A mapping. texts_at lists the executable ones that have patches, codes_at all executable ones
 * that are of files, constants_at those of modules that are not writable: first the executable's,
 * which last. */
struct patch_text { uint64_t address, bytes; };

/* Bytes to be written over a function's first instructions, if `expected` is there. */
struct patch {
	uint64_t address;
	uint32_t function;        /* id */
	uint8_t length, status;   /* enum patch_status: the tracer's, by the answer memory */
	uint16_t region;
	uint8_t bytes[8], expected[8];
};
/* Values of patch.function that are not a traced function: an unwinder's look-up; a function that
 * may leave its stack and is not recorded. */
#define PATCH_LOOK_UP UINT32_MAX
#define PATCH_NONLOCAL (1u << 31) /* | an id */
#define PATCH_PROBE (1u << 30) /* | a number: inside of a function */
/* No code: a counter of two bytes that is raised by one. Its values before and after are not
 * known. */
#define PATCH_SEMAPHORE (UINT32_MAX - 2)
/* | a number: an event's site. With length 8: a word of its state, in the program's data. */
#define PATCH_EVENT (1u << 29)
/* | an id: the displacement of one of the function's direct calls. Each is applied or not by
 * itself. */
#define PATCH_DIRECT (1u << 28)
static inline bool memory_patch_is_direct(uint32_t function)
{
	return function >> 28 == PATCH_DIRECT >> 28;
}
enum patch_status {
	PATCH_PENDING,
	PATCH_APPLIED,
	PATCH_CHANGED,
	PATCH_REFUSED,
	PATCH_BUSY,
	PATCH_GONE /* unmapped since */
};

/* --- an agent in a process that runs already ---
 * The descriptor stands at the entry point of the agent's file; offsets count from there. */
#define AGENT_MAGIC 0x746e656761636272ull
struct agent_descriptor {
	uint64_t magic;
	uint32_t version;         /* PROTOCOL_VERSION */
	int32_t state;            /* of a struct agent_state */
	int32_t params;           /* of a struct attach_params */
	/* Functions int64_t f(void) that do what the parameters say; 0 or -errno. */
	int32_t attach, detach, change, forget;
	int32_t stack_top;        /* end of a stack to call them on */
	uint32_t stub_return;     /* offset in a stub to which its calls return */
	int32_t table, arena;     /* the arena begins at its first 64 KiB boundary */
	int32_t slow_record, slow_record2, slow_entry, slow_site, state_entry, slow_nonlocal;
	int32_t find_fde, find_object, iterate_phdr; /* agent/unwind.c */
	int32_t intercept, intercept_filter; /* arch/x86_64/agent/libc_calls.S */
	int32_t probe;            /* arch/x86_64/agent/probe.S */
	int32_t event;            /* arch/x86_64/agent/event.S */
	int32_t syscall;          /* arch/x86_64/agent/syscall.S */
	int32_t delivery;         /* arch/x86_64/agent/delivery.S */
	int32_t arguments;        /* arch/x86_64/agent/arguments.S */
	int32_t lock;             /* arch/x86_64/agent/lock.S */
};

/* State of an agent that a tracer finds in a process. */
struct agent_state {
	uint64_t memory;          /* address of the session memory; 0 = it does not trace */
	uint64_t memory_size;
	int64_t tls, key;         /* as in protocol_hello */
	uint32_t flags, image;
	uint64_t n_regions;
	uint32_t forbidden;       /* enum need (agent/needs.h), of which a tracer reads FORBIDS_* */
};
/* A filter kills the process for what a tracer has its agent do to change patches, or to leave. */
#define FORBIDS_CHANGE (1u << 16)
#define FORBIDS_LEAVE (1u << 17)

/* Parameters of the calls in agent_descriptor. "Nobody is inside": no thread executes a
 * trampoline or stub. */
struct attach_params {
	int64_t tls, key;
	uint32_t flags;
	/* Attach, change: a setup reply lies in the first; equal: none. The agent closes them. */
	int32_t sockets[2];
	/* Change: another tracer takes over, and stubs are made anew. Nobody is inside. */
	uint32_t renew;
	/* Forget: which regions, by the order in which they came. Nobody is inside. */
	uint32_t first, n;
	struct memory_settings settings; /* forget: the settings from now on */
	char agent_socket[PROTOCOL_WAY];  /* attach: where the tracer listens */
	/* The tracer's address with the token, and the agent's path, for the environment of
	 * programs that this one executes. Empty: those run untraced. */
	char tracer[PROTOCOL_WAY], agent[4096];
};
