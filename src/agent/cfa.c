/* SPDX-License-Identifier: MIT */
/* Makes _Unwind_GetCFA return even addresses. A stub's frame has no size, and libgcc tells frames
 * apart by their CFA; so a stub's CFA is odd (entry.S), and so is that of the function that called
 * through it. LuaJIT takes this value for the address of its frame. The getter is patched to lead
 * here, and gives an even value to all callers but libgcc itself. Called at the start and when
 * ld.so has mapped modules, before any code of theirs runs. A libgcc that looks different is left
 * alone. init.c and dlopen.c call it, on the program's thread. */
#include <asm/unistd.h>
#include <link.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/ldso.h"
#include "agent/sys.h"
#include "arch/code.h"
#include "arch/libc_calls.h"
#include "arch/page.h"


uint64_t agent_libgcc, agent_libgcc_bytes; /* for entry.S */
extern uint8_t agent_get_cfa[];

static bool is_libgcc(const char *name)
{
	static const char wanted[] = "/libgcc_s.so.1";
	const char *end = name;

	while (*end)
		end++;
	for (unsigned n = sizeof(wanted) - 1; n; n--)
		if (end == name || *--end != wanted[n - 1])
			return false;
	return true;
}

static uint64_t bytes_of(const Elf64_Ehdr *eh)
{
	const Elf64_Phdr *ph = (const Elf64_Phdr *)((uint64_t)eh + eh->e_phoff);
	uint64_t end = 0;

	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	return end;
}

/* The whole function is a load and a return, perhaps behind a landing pad. Any other code is not
 * patched. */
static void redirect_function(uint8_t *function, uint64_t base)
{
	uint64_t page = (uint64_t)function & ~(ARCH_PAGE - 1);

	function += code_landing(function, CODE_LANDING_BYTES);
	/* Within one page, so that one mprotect does; and in reach of a jump. */
	if (!libc_is_get_cfa(function) ||
	    (uint64_t)function - page > ARCH_PAGE - LIBC_GET_CFA_BYTES ||
	    !code_in_reach((uint64_t)function, (uint64_t)agent_get_cfa) ||
	    sys3(__NR_mprotect, page, ARCH_PAGE, PROT_READ | PROT_WRITE) < 0)
		return;
	agent_libgcc = base;
	agent_libgcc_bytes = bytes_of((const Elf64_Ehdr *)base);
	/* No thread executes here yet. */
	code_jump((uint64_t)function, (uint64_t)agent_get_cfa, function);
	sys3(__NR_mprotect, page, ARCH_PAGE, PROT_READ | PROT_EXEC);
}

void cfa_align(const struct r_debug *debug)
{
	for (const struct link_map *l = debug ? debug->r_map : 0; l; l = l->l_next) {
		uint8_t *function = 0;

		if (l->l_name && is_libgcc(l->l_name))
			function = (uint8_t *)ldso_find(l->l_addr, l->l_ld, "_Unwind_GetCFA");
		if (function)
			redirect_function(function, l->l_addr);
	}
}
