/* SPDX-License-Identifier: MIT */
/* Modules that are opened later. ld.so calls _dl_debug_state, an empty function for debuggers,
 * after it has mapped or unmapped modules: before new ones are relocated, and long before their
 * constructors run. So nothing executes in them while they are patched. It comes here on the thread
 * that calls dlopen, under ld.so's lock. Callers in modules that are gone are forgotten (texts.c).
 * If ld.so has no such function, later modules stay unhooked. */
#include <asm/unistd.h>
#include <link.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/constants.h"
#include "agent/ldso.h"
#include "agent/needs.h"
#include "agent/signals.h"
#include "agent/sys.h"
#include "agent/texts.h"
#include "arch/code.h"
#include "arch/libc_calls.h"
#include "arch/page.h"


static const struct r_debug *debug;
extern uint8_t agent_dl_debug_state[];

/* The function is a single return and 16 bytes from the next: a jump fits. Anything else is left
 * alone. */
static bool redirect_function(uint8_t *at, uint64_t to)
{
	uint64_t page = (uint64_t)at & ~(ARCH_PAGE - 1);

	if (!code_in_reach((uint64_t)at, to) || !libc_is_empty(at) || (uint64_t)at % 16)
		return false;
	if (sys3(__NR_mprotect, page, ARCH_PAGE, PROT_READ | PROT_WRITE) < 0)
		return false;
	code_jump((uint64_t)at, to, at);
	sys3(__NR_mprotect, page, ARCH_PAGE, PROT_READ | PROT_EXEC);
	return true;
}

void dlopen_watch(char **envp)
{
	uint8_t *at = (uint8_t *)ldso_symbol(envp, "_dl_debug_state");

	debug = ldso_symbol(envp, "_r_debug");
	if (at && debug && redirect_function(at, (uint64_t)agent_dl_debug_state))
		constants_watch();
}

/* `going` needs no lock: ld.so holds its own. ld.so calls before it unmaps, too: copies of
 * constants have to go then. They go at each call, since this list does not tell what happens in
 * other namespaces (dlmopen); the tracer's answer brings the mappings back. */
static bool list_is_consistent(void)
{
	static bool going;

	constants_closing();
	if (debug->r_state != RT_CONSISTENT) {
		going |= debug->r_state == RT_DELETE;
		return false;
	}
	texts_changed(going);
	going = false;
	return true;
}

void agent_modules_changed(void)
{
	uint64_t signals;

	/* The acquire pairs with has_no_tracer() and leave_memory(). */
	if (!list_is_consistent() || !agent.watch || !agent.memory ||
	    __atomic_load_n(&agent.abandoned, __ATOMIC_ACQUIRE) ||
	    memory_is_stopped(agent.memory) || agent_forbids(NEED_START))
		return;
	signals = signals_block();
	cfa_align(debug);
	agent_ask_session(PROTOCOL_DLOPEN);
	signals_restore(signals);
}
