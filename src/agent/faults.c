/* SPDX-License-Identifier: MIT */
/* Shows a handler that looks at the pc of a fault the program's own instruction. The slow paths
 * call it when a hooked handler is entered, on its thread; no lock. In doubt the context stays as
 * the kernel made it.
 *
 * A fault in instructions that were moved to a trampoline gets the pc that they were moved from.
 * When the handler returns, into the patched bytes, it goes on in the trampoline:
 * agent_fault_landing stands where the handler's return address was. A trampoline itself, and the
 * agent's entry, fault only where the stack ends: the function is then about to be entered, and
 * nothing has been done. Where a trampoline fits, but not the agent's C, the function may fit, too:
 * it runs, its record is lost, and the handler does not see that fault. Handlers that are not
 * hooked see the pc as it is. */
#include "agent/faults.h"

#include <asm/signal.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/mappings.h"
#include "agent/needs.h"
#include "agent/sys.h"
#include "arch/entry.h"
#include "arch/inside.h"
#include "arch/kept_words.h"
#include "arch/signal_frame.h"
#include "arch/trampoline_faults.h"
#include "shared/unwind_rule.h"

/* The begin of struct siginfo. */
struct fault_info { int32_t number, error, code; };

#define LABEL(name) extern const uint8_t name[] __attribute__((visibility("hidden")))
LABEL(touch_handler); LABEL(touch_entry); LABEL(touch_site); LABEL(touch_state); LABEL(touch_leave);
LABEL(touch_record); LABEL(touch_record2);
#undef LABEL

bool faults_is_frame(uint64_t sp)
{
	const uint64_t *slot = (const uint64_t *)sp;

	return slot[KEPT_HANDLER_CONTEXT] == sp + SIGNAL_CONTEXT_AT &&
	       slot[KEPT_HANDLER_INFO] == sp + SIGNAL_INFO_AT;
}

/* True if the kernel itself sent the signal, for an instruction (code > 0), and not a process. */
static bool is_fault(const struct fault_info *info)
{
	return info->code > 0 && (info->number == SIGSEGV || info->number == SIGBUS ||
				  info->number == SIGFPE || info->number == SIGILL);
}

/* True for the agent's first access to the stack, in the entries that a trampoline's body leads
 * to. */
static bool is_touch(uint64_t pc)
{
	return pc == (uint64_t)touch_handler || pc == (uint64_t)touch_entry ||
	       pc == (uint64_t)touch_state || pc == (uint64_t)touch_leave;
}

/* Restores registers as at the function's entry. */
static void enter_again(uint64_t *context, const struct found_trampoline *f)
{
	trampoline_faults_restore(context, context[UCONTEXT_PC] == f->code + f->layout->at);
	context[UCONTEXT_PC] = f->code + (uint64_t)(int64_t)f->layout->from;
}

/* Returns an address in the trampoline that led to the agent's first access to the stack, or
 * anything if none did; 0: the fault is elsewhere. */
static uint64_t touched_from(const uint64_t *context)
{
	const uint64_t *kept = (const uint64_t *)context[UCONTEXT_SP];
	uint64_t pc = context[UCONTEXT_PC];

	if (is_touch(pc))
		return kept[FAULTS_AT_BODY];
	if (pc == (uint64_t)touch_site)
		return kept[FAULTS_AT_FOUND];
	if (pc == (uint64_t)touch_record || pc == (uint64_t)touch_record2)
		return context[UCONTEXT_GOES_ON]; /* in the trampoline, or in the agent */
	return 0;
}

/* True if the program's handler is there for the next fault, too: the kernel has taken one with
 * SA_RESETHAND away. */
static bool handler_stays(int32_t signal)
{
	uint64_t action[4] = { 0 }; /* the kernel's struct: the handler is its first word */

	return !agent_forbids(NEED_HANDLERS) &&
	       !sys4(__NR_rt_sigaction, signal, 0, action, sizeof(uint64_t)) && action[0] > 1;
}

/* Runs the function without its record, in place of the handler. Returns only if the handler has to
 * run: its frame cannot be left behind a shadow stack's back. */
static void enter_unrecorded(uint64_t *context, const struct found_trampoline *f, int32_t signal)
{
	if (inside_has_shadow_stack() || !handler_stays(signal))
		return;
	trampoline_faults_restore(context, false);
	context[UCONTEXT_PC] = f->code + f->layout->body;
	buffer_lose();
	faults_leave(context);
}

/* Undoes what the trampoline reserved for its record, if nothing was reserved since. Else the next
 * record would be reserved behind it, outside of the sub-buffer. */
static void give_slot_back(const uint64_t *context)
{
	bool two = context[UCONTEXT_PC] == (uint64_t)touch_record2;
	uint64_t slot = two ? ((const uint64_t *)context[UCONTEXT_SP])[FAULTS_AT_SLOT]
			    : context[UCONTEXT_SLOT];

	if ((two || context[UCONTEXT_PC] == (uint64_t)touch_record) && slot != UNRESERVED)
		inside_exchange(&agent_tls_block()->pos, slot + (two ? 16 : 8), slot);
}

/* Neither a probe's call of the agent is a function's entry, nor a filter. */
static bool is_no_entry(const struct trampoline_layout *p)
{
	return p->pushed == LAYOUT_CALLS_AGENT || p->pushed == LAYOUT_FILTER;
}

/* Puts the context before the function's entry if the stack ended in a trampoline or in the agent's
 * entry, where the registers are kept. False: it did not. */
static bool put_before_entry(uint64_t *context, int32_t signal)
{
	uint64_t pc = context[UCONTEXT_PC], touched = touched_from(context);
	struct found_trampoline f;

	if (!mappings_find_code(touched ? touched : pc, &f) ||
	    (!touched && (pc >= f.code + f.layout->body || is_no_entry(f.layout))))
		return false;
	if (touched) {
		give_slot_back(context);
		enter_unrecorded(context, &f, signal);
	}
	enter_again(context, &f);
	return true;
}

uint64_t faults_enter(uint64_t sp, uint64_t ret)
{
	const struct fault_info *info = (const struct fault_info *)(sp + SIGNAL_INFO_AT);
	uint64_t *context = (uint64_t *)(sp + SIGNAL_CONTEXT_AT), offset;
	struct found_trampoline f;

	if (!is_fault(info) || put_before_entry(context, info->number) ||
	    !mappings_find_code(context[UCONTEXT_PC], &f))
		return ret;
	offset = context[UCONTEXT_PC] - f.code - f.layout->body;
	if (offset > f.layout->plain || offset >= f.layout->len || inside_has_shadow_stack())
		return ret;
	context[UCONTEXT_PC] = f.code + (uint64_t)(int64_t)f.layout->from + offset;
	entry_set_return(sp, (uint64_t)agent_fault_landing);
	return (uint64_t)agent_fault_landing;
}

/* Called by agent_fault_landing with the context that the handler leaves: a pc in the patched bytes
 * goes to its copy. */
void agent_fault_resume(uint64_t *context)
{
	struct found_trampoline f;
	uint64_t offset;

	if (!mappings_find_function(context[UCONTEXT_PC], &f))
		return;
	offset = context[UCONTEXT_PC] - (f.code + (uint64_t)(int64_t)f.layout->from);
	if (offset <= f.layout->plain)
		context[UCONTEXT_PC] = f.code + f.layout->body + offset;
}
