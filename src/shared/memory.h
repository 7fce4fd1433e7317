/* SPDX-License-Identifier: MIT */
/* The session memory: what the tracer and the traced processes of one user share. It belongs to the
 * tracer (a memfd), every process maps it where it likes, and it holds offsets and indices,
 * never pointers. A session has one for each user. A traced program that dies leaves everything it recorded in it.
 *
 *   header | thread slots | sub-buffer descriptors | ends that were told | sub-buffers
 *
 * A sub-buffer's life: taken by a thread (from the free stack, else from the never used
 * ones), zeroed, FILLING; FULL when the thread moves on; read and given back by the tracer.
 * The free stack's head carries a tag against ABA; a process that dies between taking a
 * sub-buffer and marking it leaks that one, empty, to the end of the session.
 *
 * Everything the agent writes is untrusted to the tracer: it checks every index it reads. So does the agent, for its
 * process may have a child that is less trusted.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/leave.h"
#include "shared/notes.h"
#include "shared/tasks.h"
#include "shared/version.h"

#define MEMORY_MAGIC 0x65636172625f5f31ull
#define MEMORY_VERSION 10
#define MEMORY_BUFFER_BYTES 65536u
#define MEMORY_BUFFER_WORDS (MEMORY_BUFFER_BYTES / 8)
/* Where a writer's end stands. Behind it is the second half of a two-word record that began right before, and
 * the slots of those who reserved them behind the end, were interrupted before they compared, and find a later
 * end when they do: as many as signal handlers may nest. */
#define MEMORY_SPARE_WORDS 64
#define MEMORY_BUFFER_USABLE (MEMORY_BUFFER_BYTES - 8 * MEMORY_SPARE_WORDS)
/* The window for records that find no room: small at first, for room may come; then larger, for each one costs
 * a slow path. Behind its end is the same as behind a sub-buffer's. */
#define MEMORY_VOID_WORDS 512
#define MEMORY_VOID_MOST (MEMORY_VOID_WORDS - MEMORY_SPARE_WORDS)
#define MEMORY_VOID_FIRST 64
#define MEMORY_NONE 0xffffffffu
#define MEMORY_THREADS_MAX (1u << 18)

enum memory_mode { MEMORY_STREAM, MEMORY_OVERWRITE, MEMORY_BLOCK };
/* In the id word a state trampoline passes: this function may begin a graph; its return is not
 * followed. */
#define STATE_GRAPH_FUNCTION (1u << 24)
#define STATE_ENTRY_ONLY (1u << 25)

enum memory_tracer { MEMORY_GRAPH, MEMORY_GRAPH_STATE, MEMORY_FUNCTION };

/* The sizes and places of a session memory's parts. */
struct memory_layout {
	uint32_t mode;            /* enum memory_mode */
	uint32_t quota;           /* sub-buffers a thread may hold */
	uint32_t wake_at;         /* holding so many, it wakes the tracer */
	uint32_t threads_max, buffers_max; /* threads_max: at most MEMORY_THREADS_MAX */
	uint32_t pad;
	uint64_t threads_at, descs_at, ends_at, buffers_at, size; /* byte offsets */
};

/* The settings of what is recorded. They change while nobody records. */
struct memory_settings {
	uint32_t tracer;          /* enum memory_tracer */
	uint32_t max_depth;       /* 0 = none. Only MEMORY_GRAPH_STATE looks at this and at thresh_ticks */
	uint32_t graph_functions; /* 1: only inside functions marked TRAMPOLINE_GRAPH */
	uint32_t calls_too;       /* 1: beside the graph's records the function tracer's, for those who share a session */
	uint32_t places;          /* 1: every call says where on its stack it is made (RECORD_EVENT_AT); MEMORY_GRAPH_STATE */
	uint32_t values;          /* 1: exits tell what their functions returned (RECORD_EXIT_VALUE) */
	uint64_t thresh_ticks;
};

/* Each side acts by a copy of its own of the layout and the settings, which the agent gets by the socket: those here are for
 * a tracer that finds the memory after another one's death. */
struct memory_header {
	uint64_t magic;
	uint32_t version, pad;
	struct memory_layout layout;
	struct memory_settings settings;

	_Alignas(64) uint64_t free_head; /* tag << 32 | index; index MEMORY_NONE = empty */
	uint32_t buffers_used;    /* indices below were taken once */
	uint32_t free_futex;      /* counts sub-buffers given back, for threads that wait */
	uint32_t free_waiters;

	_Alignas(64) uint32_t threads_used;
	uint32_t full_futex;      /* counts sub-buffers that became FULL, for the tracer */
	uint32_t tracer_waits;
	uint32_t stopped;         /* nothing more is to be recorded, and that is no loss */
	uint64_t lost_threadless; /* records of threads that got no slot */

	_Alignas(64) uint64_t heartbeat; /* the tracer lives as long as it moves */
	uint32_t tracer_pid;

	_Alignas(64) struct memory_notes notes;
	struct task_exec_note execs[TASK_EXECS]; /* by process number */
};

struct memory_thread {
	uint32_t pid, tid;
	uint32_t image;
	uint32_t ready;           /* 1 once the fields above hold */
	char comm[16];
	uint64_t tsc;
	uint64_t lost;            /* records lost for good, over the whole life */
	uint64_t lost_reported;   /* of those, told in a descriptor's `lost` */
	/* Overwrite mode: sub-buffers before first_seq are thrown away, overwritten[first_seq & 1] records with
	 * them. One store of first_seq does both. */
	uint64_t overwritten[2];
	uint32_t first_seq;
	uint32_t pad;
	uint64_t taken;           /* records, kept and lost, that the tracer has taken over; it alone writes here */
	uint32_t seq;             /* of the next sub-buffer */
	uint32_t held;            /* sub-buffers FILLING or FULL: +1 by the thread, -1 by the tracer */
	uint32_t oldest, newest;  /* overwrite mode: this thread's ring */
	uint32_t in_void;         /* records go to `nowhere` at the moment */
	uint32_t cpu;             /* as last recorded */
	uint32_t window;          /* of `nowhere`, words; 0 = none yet since there was room */
	uint32_t pad2;
	uint64_t block;           /* its struct agent_tls, in its process */
	uint64_t void_from;       /* `lost` when the window was begun: when it is another, the window is counted */
	/* Where records go that find no room: counted when it is full, and by the tracer at the end. */
	uint64_t nowhere[MEMORY_VOID_WORDS];
};

/* At ends_at, a bit for each thread number there can be: the thread has told of its end itself. The tracer takes it back when
 * the kernel says that the thread has ended. */
#define MEMORY_TIDS (1u << 22)

/* Words of an empty slot at words[0], of n up to the next one's: a record that never came. In the function tracer all that
 * count have two; in the others nearly all have one, but for exits with a value. */
static inline unsigned memory_hole_words(uint32_t tracer, uint32_t values, const uint64_t *words, uint64_t n)
{
	if (tracer == MEMORY_FUNCTION)
		return 2;
	return values && n > 1 && !__atomic_load_n(&words[1], __ATOMIC_RELAXED) ? 2 : 1;
}

/* How many records would have stood in so many empty words. */
static inline uint64_t memory_holes_in(uint32_t tracer, uint32_t values, uint64_t words)
{
	return tracer == MEMORY_FUNCTION || values ? (words + 1) / 2 : words;
}

enum memory_state { MEMORY_FREE, MEMORY_FILLING, MEMORY_FULL };

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
	uint64_t begins;          /* 1 + the thread's `taken` when the tracer began with it; 0 = not yet */
	uint32_t dirty;           /* was used before: must be zeroed */
	uint32_t pad;
};

/* --- the image memory: one for each program image (exec), shared with its forks --------
 *
 * Call sites have ids that are also their stubs' places: the stub arena is made of 64 KiB blocks, each of 2,048 places. That of
 * a stub is 32 bytes at 32 times its number, and its return address is 8 bytes at 8 times it: so the
 * first 512 places, where return addresses are, have no stubs, nor have the last ones, where code is that all stubs of the block call.
 * id = block << 11 | place. The arena is private to each process. The image memory counts the sites of the whole family, and
 * tells the tracer what each is; nothing in it decides where a process goes, for a child that is less trusted
 * than its parent can write here. */
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

/* Sites that stand near each other have slots that are near each other: a slot for each four bytes of text, so
 * that no two calls of a function share one, and two megabytes of text go through all slots. */
#define SITE_HASH_BITS 19
#define SITE_HASH_MULTIPLIER 2048u

/* For who must read records without the trace file: the ids of a module's functions. */
struct image_module { uint64_t start; uint32_t first_id, pad; };
#define IMAGE_MODULES 255u

struct image_memory {
	uint32_t next_site;       /* counter, not an id: see site_id_of_count */
	uint32_t n_modules;       /* opened; the tracer writes these */
	struct image_module modules[IMAGE_MODULES];
	uint64_t pad;
	uint64_t sites[SITE_BLOCKS * SITE_PER_BLOCK]; /* return addresses by count: for the tracer's eyes */
};

_Static_assert(offsetof(struct image_memory, sites) == 4096, "a page of sites is a page");

static inline uint32_t site_id_of_count(uint32_t n)
{
	return n / SITE_PER_BLOCK * SITE_BLOCK_IDS + SITE_FIRST_IN_BLOCK + n % SITE_PER_BLOCK;
}

/* The site number of an id, which must exist. */
static inline uint32_t site_count_of_id(uint32_t id)
{
	return id / SITE_BLOCK_IDS * SITE_PER_BLOCK + id % SITE_BLOCK_IDS - SITE_FIRST_IN_BLOCK;
}

/* Has the id's place a stub? */
static inline int site_id_exists(uint32_t id)
{
	return id % SITE_BLOCK_IDS >= SITE_FIRST_IN_BLOCK && id % SITE_BLOCK_IDS < SITE_END_IN_BLOCK;
}

/* --- what is said over the socket when a program image starts --------------------------- */
/* PROTOCOL_HANDLER: a function becomes a signal's handler, and its entry is to be probed; no welcome is the answer, but that
 * the tracer closes the connection. PROTOCOL_USER: the process has become another user's, and is to have that one's session
 * memory, and an image of its own that is like the one it has. */
enum protocol_request { PROTOCOL_HELLO = 1, PROTOCOL_DONE, PROTOCOL_DLOPEN, PROTOCOL_HANDLER, PROTOCOL_USER };

struct protocol_hello {
	uint32_t request, version;
	uint32_t image;           /* the image it has; PROTOCOL_HELLO: MEMORY_NONE */
	uint32_t flags;           /* AGENT_* */
	int64_t tls;              /* of struct agent_tls from the thread pointer */
	int64_t key;              /* from the thread pointer: what agent_tls.key is compared with; 0 = nothing */
	uint64_t table;           /* struct site_table (agent/agent.h) */
	uint64_t arena;
	uint64_t slow_record, slow_record2, slow_entry, slow_site, state_entry, slow_leave; /* agent/entry.S */
	uint64_t find_fde, find_object, iterate_phdr; /* agent/unwind.c */
	uint64_t led_call;        /* agent/libc_calls.S */
	uint64_t probe;           /* agent/probe.S */
	uint64_t event;           /* agent/event.S */
	uint64_t syscall;         /* agent/syscall.S */
	uint64_t delivery;        /* agent/delivery.S */
	uint64_t handler;         /* PROTOCOL_HANDLER: its address */
};

/* How an agent finds what belongs to a thread. */
#define AGENT_KEY_IS_TID 1u /* agent_tls.key is the thread's id, not its CPU: its place may be reused */
#define AGENT_FAR 2u        /* nothing is at a fixed distance from the thread pointer: records go by C code */
#define AGENT_BY_HAND 4u    /* not loaded by ld.so: unwinders do not find its tables by themselves */
#define AGENT_GO 8u         /* Go without a C library: below the thread pointer stands its goroutine */

struct protocol_welcome {
	uint32_t trace;           /* 0: go on without us */
	uint32_t image;
	uint32_t n_regions, n_patches, n_texts, n_codes;
	uint32_t watch;           /* ask again when modules come or go */
	uint32_t flags;           /* AGENT_FAR: threads are started without libc, see far.c; AGENT_GO */
	uint32_t signals;         /* 1: deliveries are told */
	uint64_t image_size, code_size; /* of the second and third of the descriptors that come along */
	struct memory_layout layout;    /* the first: the session memory */
	struct memory_settings settings;
	uint64_t regions_at, patches_at, texts_at, codes_at; /* offsets in the code memory */
	uint64_t tasks_at;        /* there too: a struct task_block, for what is told of a new program; 0 = nothing */
	int32_t oom_score_adj;    /* the process's */
	uint32_t lacks;           /* LACKS_*: what a filter forbids that the agent can do without */
};
#define LACKS_TASKS 1u    /* looking at a thread's priority, and its parent */
#define LACKS_COPY 2u     /* reading where a pointer of the program's leads */
#define LACKS_HANDLERS 4u /* asking which handler a signal has */
#define LACKS_USER 8u     /* going over to another user's session memory */
#define LACKS_TEXTS 16u   /* looking which callers are code of a file */

struct protocol_done {
	uint32_t request, applied;
	uint32_t note;            /* enum note_kind: why it goes on untraced */
};

/* A stretch of the code memory to map at `address`: [a page of data: the gate][code]. */
struct patch_region {
	uint64_t address, bytes, offset; /* code: PROT_READ|PROT_EXEC */
	uint64_t gate;            /* address of its gate page: zeroed by a fork */
	uint64_t module;          /* where the module's text starts, for the tracer */
	uint32_t mapped, pad;     /* set by the agent */
};

/* An executable mapping: at texts_at those that have patches, at codes_at all of files. */
struct patch_text { uint64_t address, bytes; };

struct patch {
	uint64_t address;
	uint32_t function;        /* id */
	uint8_t length, status;   /* enum patch_status, set by the agent */
	uint16_t region;
	uint8_t bytes[8], expected[8];
};
/* As a function: none of the trace, but an unwinder's look-up, or one that only tells where control goes. */
#define PATCH_LOOK_UP UINT32_MAX
#define PATCH_LEAVE (1u << 31) /* | an id */
#define PATCH_PROBE (1u << 30) /* | a number: inside of a function */
/* No code: a counter of two bytes that is raised. What was there and what is there is not known beforehand. */
#define PATCH_SEMAPHORE (UINT32_MAX - 2)
#define PATCH_EVENT (1u << 29) /* | a number: an event's site. With length 8: a word of its state, in the program's data */
#define PATCH_DIRECT (1u << 28) /* | an id: the displacement of one of its direct calls. Each stands or falls alone */
static inline bool patch_is_direct(uint32_t function)
{
	return function >> 28 == PATCH_DIRECT >> 28;
}
enum patch_status { PATCH_PENDING, PATCH_APPLIED, PATCH_CHANGED, PATCH_REFUSED, PATCH_BUSY, PATCH_GONE /* unmapped since */ };

/* --- an agent in a process that runs already ---------------------------------------------
 * This stands at the entry point of the agent's file; offsets are from here. */
#define AGENT_MAGIC 0x746e656761636272ull
struct agent_contents {
	uint64_t magic;
	uint32_t version;         /* PROTOCOL_VERSION */
	int32_t state;            /* struct agent_state */
	int32_t params;           /* struct attach_params */
	int32_t attach, detach, change, forget; /* int64_t f(void): what the parameters ask for; 0 or -errno */
	int32_t stack_top;        /* of a stack to call them on */
	uint32_t stub_return;     /* how far into a stub its calls return */
	int32_t table, arena;     /* the arena's first 64 KiB boundary is its beginning */
	int32_t slow_record, slow_record2, slow_entry, slow_site, state_entry, slow_leave;
	int32_t find_fde, find_object, iterate_phdr; /* agent/unwind.c */
	int32_t led_call;         /* agent/libc_calls.S */
	int32_t probe;            /* agent/probe.S */
	int32_t event;            /* agent/event.S */
	int32_t syscall;          /* agent/syscall.S */
	int32_t delivery;         /* agent/delivery.S */
};

/* What a tracer wants to know of an agent it finds. */
struct agent_state {
	uint64_t memory;          /* address of the session memory; 0 = it does not trace */
	uint64_t memory_size;
	int64_t tls, key;         /* as in protocol_hello */
	uint32_t flags, image;
	uint64_t n_regions;
};

struct attach_params {
	int64_t tls, key;
	uint32_t flags;
	int32_t sockets[2];       /* attach, change: a welcome lies in the first; both alike: none. The agent closes them */
	uint32_t renew;           /* change: the tracer will be another: stubs are made anew. Nobody is inside */
	uint32_t first, n;        /* forget: regions, by the order they came in. Nobody is inside */
	struct memory_settings settings; /* forget: that hold from now on */
	char door[108];           /* attach: where the tracer listens */
	/* For what it executes: the tracer's address and the agent's path; empty: that goes on without us. */
	char tracer[108], agent[4096];
};
