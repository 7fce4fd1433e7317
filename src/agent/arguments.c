/* SPDX-License-Identifier: MIT */
/* Records what a function was called with, before its entry. agent_arguments (arguments.S) calls
 * this on the calling thread, which may be any: nothing here takes a lock, blocks or faults,
 * wherever the arguments lead. A call whose entry will not be recorded has no arguments' record
 * either, as far as that can be told here; readers drop the rest. */
#include "agent/agent.h"
#include "agent/live.h"
#include "arch/probe_regs.h"
#include "shared/arguments.h"

#define PAGE UINT64_C(4096)

void agent_arguments_hit(const struct arguments_regs *regs, const struct arguments_site *site);
_Static_assert(sizeof(struct arguments_regs) == 200 &&
		       offsetof(struct arguments_regs, floats) == 136,
	       "arch/x86_64/agent/arguments.S says so");

/* The page that has the return address is there for certain; the kernel reads the rest. */
static uint32_t read_argument(void *context, uint64_t address, void *to, uint32_t n)
{
	const struct arguments_regs *regs = context;
	uint64_t page = regs->at[PROBE_SP] & ~(PAGE - 1);

	if (address - page >= PAGE || address - page > PAGE - n)
		return probe_read_anywhere(address, to, n);
	for (uint32_t i = 0; i < n; i++)
		((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)address)[i];
	return n;
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
	if (!l.calls)
		return m->graph_functions && !site->begins;
	/* The innermost call may be over already: it is, if this one is not inside of it. */
	return m->max_depth && l.top->sp > regs->at[PROBE_SP] && l.top->depth >= m->max_depth;
}

void agent_arguments_hit(const struct arguments_regs *regs, const struct arguments_site *site)
{
	const struct fetch_context c = { .regs = regs->at, .floats = regs->floats,
					 .read = read_argument, .context = (void *)regs };
	uint64_t words[FETCH_RECORD_MAX / 8];
	uint32_t n;

	if (!agent.memory || is_left_out(regs, site))
		return;
	n = fetch_run(&site->program, site->program_bytes, &c, (uint8_t *)words, sizeof(words));
	if (n < ARGUMENTS_FIRST)
		return;
	/* Padding up to a word must not show the stack. */
	for (uint32_t i = n; i % 8; i++)
		((volatile uint8_t *)words)[i] = 0;
	n = (n + 7) / 8;
	words[1] = site->function;
	words[0] = record_word(agent_tsc(), record_event_id(n - 1, RECORD_EVENT_ARGUMENTS),
			       RECORD_EVENT);
	buffer_write_words(agent_tls_block(), words, n, 0);
}
