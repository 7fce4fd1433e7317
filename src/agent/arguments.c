/* SPDX-License-Identifier: MIT */
/* Records what a function was called with, before its entry, and decides by it whether the call is
 * to be recorded. agent_arguments (arguments.S) calls
 * this on the calling thread, which may be any: nothing here takes a lock, blocks or faults,
 * wherever the arguments lead. A call whose entry will not be recorded has no arguments' record
 * either, as far as that can be told here; readers drop the rest. */
#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/copy.h"
#include "agent/event.h"
#include "agent/faults.h"
#include "agent/live.h"
#include "agent/site.h"
#include "agent/state.h"
#include "arch/entry.h"
#include "arch/page.h"
#include "arch/probe_regs.h"
#include "arch/signal_frame.h"
#include "shared/arguments.h"


/* Returns 1 if the call is not to be recorded. */
uint32_t agent_arguments_hit(const struct arguments_regs *regs, const struct arguments_site *site);
_Static_assert(sizeof(struct arguments_regs) == 264 &&
		       offsetof(struct arguments_regs, floats) == 136,
	       "the machine's agent/arguments.S says so");

/* The page that has the return address is there for certain; the kernel reads the rest. */
static uint32_t read_argument(void *context, uint64_t address, void *to, uint32_t n)
{
	const struct arguments_regs *regs = context;
	uint64_t page = regs->at[PROBE_SP] & ~(ARCH_PAGE - 1);

	if (address - page >= ARCH_PAGE || address - page > ARCH_PAGE - n)
		return probe_read_anywhere(address, to, n);
	copy_bytes(to, (const uint8_t *)address, n);
	return n;
}

static void read_strings(void *context, struct fetch_range *ranges, unsigned n)
{
	const struct arguments_regs *regs = context;

	probe_read_strings(ranges, n, regs->at[PROBE_SP]);
}

/* True if the depth or the graph functions leave the call out. With a threshold only returns are
 * recorded. */
static bool is_left_out(const struct arguments_regs *regs, const struct arguments_site *site)
{
	const struct memory_settings *m = &agent.settings;
	struct live_calls l;

	if (m->tracer != MEMORY_GRAPH_STATE)
		return false;
	if (m->thresh_ticks)
		return true;
	l = live_look(agent_tls_block());
	if (m->graph_functions == MEMORY_NO_GRAPH)
		return false;
	if (!l.top->depth)
		return m->graph_functions && !site->begins;
	/* The innermost call may be over already: it is, if this one is not inside of it. */
	return m->max_depth && l.top->sp > regs->at[PROBE_SP] && l.top->depth >= m->max_depth;
}

static struct fetch_context context_of(const struct arguments_regs *regs)
{
	return (struct fetch_context){ .regs = regs->at, .floats = regs->floats,
				       .read = read_argument, .context = (void *)regs,
				       .read_ranges = read_strings };
}

/* Out of line: the context takes as long to make as registers to store. */
static __attribute__((noinline)) uint32_t fetch_with_context(const struct arguments_regs *regs,
							     const struct fetch_program *program,
							     uint32_t bytes, uint64_t *words,
							     uint32_t room)
{
	const struct fetch_context c = context_of(regs);

	return fetch_run(program, bytes, &c, (uint8_t *)words, room);
}

/* Out of line: the two records need not be on the stack at once. */
static __attribute__((noinline)) void record_arguments(const struct arguments_regs *regs,
							const struct arguments_site *site)
{
	uint64_t words[FETCH_RECORD_MAX / 8];
	uint32_t n = fetch_registers(&site->program, site->program_bytes, regs->at, 0,
				     (uint8_t *)words);

	if (!n)
		n = fetch_with_context(regs, &site->program, site->program_bytes, words,
				       sizeof(words));

	if (n < ARGUMENTS_FIRST)
		return;
	/* Padding up to a word must not show the stack. */
	for (uint32_t i = n; i % 8; i++)
		((volatile uint8_t *)words)[i] = 0;
	n = (n + 7) / 8;
	words[1] = site->function;
	words[0] = record_word(agent_tsc(), record_event_id(n - 1, RECORD_EVENT_ARGUMENTS),
			       RECORD_EVENT);
	buffer_write_event(agent_tls_block(), words, n);
}

static __attribute__((noinline)) bool is_satisfied(const struct arguments_regs *regs,
						   const struct call_condition *condition)
{
	const struct filter_program *filter =
		(const struct filter_program *)((const uint8_t *)&condition->fetch +
						condition->fetch_bytes);
	uint64_t words[ARGUMENTS_FIRST / 8 + CONDITION_VALUES];
	uint32_t n = fetch_with_context(regs, &condition->fetch, condition->fetch_bytes, words,
					sizeof(words));

	return n >= ARGUMENTS_FIRST &&
	       event_passes(filter, condition->filter_bytes, 0, words, n);
}

/* A signal's handler, by its arguments: what it sees of a fault may have to be corrected even if
 * its call is not recorded. */
static void skip_handler(const struct arguments_regs *regs)
{
	static const uint8_t numbers[] = PROBE_CALLED_WITH;
	uint64_t sp = regs->at[PROBE_SP], ret;

	if (regs->at[numbers[2]] != sp + SIGNAL_CONTEXT_AT ||
	    regs->at[numbers[1]] != sp + SIGNAL_INFO_AT)
		return;
	ret = entry_return(sp);
	if (site_is_of_handler(ret))
		faults_enter(sp, ret);
}

uint32_t agent_arguments_hit(const struct arguments_regs *regs, const struct arguments_site *site)
{
	const struct call_condition *condition =
		(const struct call_condition *)((const uint8_t *)site + site->condition);

	if (!agent.memory)
		return 0;
	if (site->condition && !(condition->begins && state_is_inside(regs->at[PROBE_SP])) &&
	    !is_satisfied(regs, condition)) {
		skip_handler(regs);
		return 1;
	}
	if (site->program_bytes && !is_left_out(regs, site))
		record_arguments(regs, site);
	return 0;
}
