/* SPDX-License-Identifier: MIT */
/* Records of a program's own events, for all that event.S does not do itself: filters, stacks.
 * Called on the program's thread. The record is the kernel's format from offset 8 on; the first 8
 * bytes are ours, and the program leaves room up to a multiple of 8. A filter that is malformed, or
 * a detach, drops the record. */
#include <asm/unistd.h>
#include <linux/prctl.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/needs.h"
#include "agent/no_tls.h"
#include "agent/scope.h"
#include "agent/sys.h"
#include "agent/unblocked.h"
#include "arch/entry.h"
#include "arch/page.h"
#include "shared/event.h"
#include "shared/stack.h"

#define SCRATCH 256

struct event_head { uint16_t type; uint8_t flags, preempt_count; int32_t pid; };

void agent_event_general(const struct event_state *state, void *record, uint32_t bytes);
void agent_event_stacked(const struct event_state *state, void *record, uint32_t bytes,
			 const struct stack_regs *regs);
_Static_assert(offsetof(struct event_state, block) == 8 &&
		       offsetof(struct event_block, filter_bytes) == 4 &&
		       offsetof(struct event_block, header) == 8 &&
		       offsetof(struct event_block, filter) == 16 &&
		       offsetof(struct filter_program, code) == 12 &&
		       offsetof(struct filter_program, code_needs) == 14 && EVENT_RECORD_MAX == 512,
	       "event.S says so");
_Static_assert(STACK_REGS == 8 && offsetof(struct stack_regs, kept) == 24, "it builds one");

/* Reads a string of the program's, at an address that may lead nowhere. The kernel copies it, a
 * page at a time, since it fails as a whole where one page is missing. */
static int copy_text(uint64_t address, char *to, uint32_t n)
{
	uint32_t got = 0;

	while (got < n) {
		uint64_t left = ARCH_PAGE - (address + got) % ARCH_PAGE,
			 want = left < n - got ? left : n - got;
		const struct {
			void *at;
			uint64_t bytes;
		} into = { to + got, want }, from = { (void *)(address + got), want };
		long r = sys6(__NR_process_vm_readv, sys0(__NR_getpid), (long)&into, 1, (long)&from,
			      1, 0);

		if (r <= 0)
			return got ? (int)got : -1;
		for (uint32_t end = got + (uint32_t)r; got < end; got++)
			if (!to[got])
				return (int)got;
	}
	return (int)got;
}

static int fetch_memory(void *context, uint64_t address, char *to, uint32_t n)
{
	int got;

	(void)context;
	if (!unblocked_begin(NEED_COPY))
		return -1;
	got = copy_text(address, to, n);
	unblocked_end();
	return got;
}

/* agent_tls_block() without the call where the block is at a fixed distance. */
static inline struct agent_tls *tls_block(void)
{
	if (agent_no_tls)
		return agent_tls_block();
	return (struct agent_tls *)((uint8_t *)__builtin_thread_pointer() + agent.tls_offset);
}

static int32_t tid_now(void)
{
	const struct own_thread *own = agent_own_thread(agent_tls_block());

	if (own && agent_fork_guard[0])
		return (int32_t)own->tid;
	return unblocked_call0(__NR_gettid);
}

static int32_t cpu_now(void)
{
	int64_t key = __atomic_load_n(&agent.key, __ATOMIC_RELAXED);
	uint32_t cpu = 0;

	if (key && !(agent.flags & AGENT_KEY_IS_TID)) {
		cpu = inside_thread_word(key);
	} else if (unblocked_begin(NEED_CPU)) {
		sys3(__NR_getcpu, &cpu, 0, 0);
		unblocked_end();
	}
	return (int32_t)cpu;
}

static void read_comm(char *comm)
{
	*comm = 0;
	if (!unblocked_begin(NEED_THREADS))
		return;
	sys2(__NR_prctl, PR_GET_NAME, comm);
	unblocked_end();
}

/* True if the filter looks at common_type ... common_pid. The thread's id may cost a system
 * call. */
static bool wants_common(const struct filter_program *f, uint32_t bytes)
{
	uint32_t most = (bytes - (uint32_t)sizeof(*f)) / (uint32_t)sizeof(f->at[0]),
		 n = f->n < most ? f->n : most;

	for (uint32_t i = 0; i < n; i++)
		if (f->at[i].test == FILTER_NUMBER && f->at[i].offset < sizeof(struct event_head))
			return true;
	return false;
}

/* r is not cleared as a whole: a record that does not pass must cost next to nothing. */
static __attribute__((noinline)) bool run_filter(const struct filter_program *f,
						 uint32_t filter_bytes, uint32_t event,
						 void *record, uint32_t bytes)
{
	char comm[FILTER_COMM_BYTES], scratch[SCRATCH];
	struct filter_record r;

	r.bytes = record;
	r.size = bytes;
	r.comm = comm;
	r.fetch = fetch_memory;
	r.resolve = 0; /* functions are known to the tracer alone */
	r.context = 0;
	r.scratch = scratch;
	r.scratch_bytes = SCRATCH;
	r.cpu = f->needs & FILTER_NEEDS_CPU ? cpu_now() : 0;
	if (filter_bytes >= sizeof(*f) && wants_common(f, filter_bytes))
		*(struct event_head *)record =
			(struct event_head){ .type = (uint16_t)(event + EVENT_IDS),
					     .pid = tid_now() };
	if (f->needs & FILTER_NEEDS_COMM)
		read_comm(comm);
	return filter_run(f, filter_bytes, &r);
}

bool event_passes(const struct filter_program *f, uint32_t filter_bytes, uint32_t event,
		  void *record, uint32_t bytes)
{
	uint32_t code = 8u * f->code;

	if (code && code < filter_bytes && bytes >= f->code_needs)
		return ((filter_code *)((const uint8_t *)f + code))(record);
	return run_filter(f, filter_bytes, event, record, bytes);
}

/* sp: the program's stack pointer at its call. */
static inline void write_event(const struct event_state *state, void *record, uint32_t bytes,
			       const struct stack_regs *regs, uint64_t sp)
{
	/* Pairs with the tracer's patch of event_state.block, which is written after the block
	 * (image/event_sites.c). */
	const struct event_block *b =
		(const struct event_block *)__atomic_load_n(&state->block, __ATOMIC_ACQUIRE);
	uint32_t n = (bytes + 7) / 8, filter_bytes = b ? b->filter_bytes & EVENT_FILTER_BYTES : 0;
	uint64_t *words = record;

	if (!b || !agent.memory || bytes <= 8 || bytes > EVENT_RECORD_MAX ||
	    !scope_is_open((b->filter_bytes & ~EVENT_STACKED) >> EVENT_SCOPES_SHIFT, sp))
		return;
	/* Padding up to whole words must not show the program's stack. */
	for (uint32_t i = bytes; i < 8 * n; i++)
		((volatile uint8_t *)record)[i] = 0;
	if (filter_bytes && !event_passes(&b->filter, filter_bytes, b->event, record, bytes))
		return;
	if (regs)
		stack_copy_write(b->event, regs, entry_before(regs->sp), true);
	words[0] = record_word(agent_tsc(), record_event_id(n - 1, RECORD_EVENT_TRACE + b->event),
			       RECORD_EVENT);
	buffer_write_event(tls_block(), words, n);
}

void agent_event_stacked(const struct event_state *state, void *record, uint32_t bytes,
			 const struct stack_regs *regs)
{
	write_event(state, record, bytes, regs, regs->sp);
}

/* event.S jumps here: the return address is the program's. */
void agent_event_general(const struct event_state *state, void *record, uint32_t bytes)
{
	write_event(state, record, bytes, NULL, (uint64_t)__builtin_dwarf_cfa());
}
