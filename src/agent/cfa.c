/* SPDX-License-Identifier: MIT */
/* Makes _Unwind_GetCFA return even addresses. A stub's frame has no size, and libgcc tells frames
 * apart by their CFA; so a stub's CFA is odd (entry.S), and so is that of the function that called
 * through it. LuaJIT takes this value for the address of its frame. The getter is patched to lead
 * here, and gives an even value to all callers but libgcc itself. Called at the start and when
 * ld.so has mapped modules, before any code of theirs runs. A libgcc that looks different is left
 * alone. */
#include <asm/unistd.h>
#include <link.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/sys.h"

#define PAGE UINT64_C(4096)

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

/* The whole function: [endbr64;] mov 0x90(%rdi), %rax; ret. Any other code is not patched. */
static void redirect_function(uint8_t *function, uint64_t base)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa },
			     get[] = { 0x48, 0x8b, 0x87, 0x90, 0, 0, 0, 0xc3 };
	uint64_t page = (uint64_t)function & ~(PAGE - 1);
	int64_t distance;

	for (unsigned i = 0; i < sizeof(endbr) && function[i] == endbr[i]; i++)
		if (i + 1 == sizeof(endbr))
			function += sizeof(endbr);
	for (unsigned i = 0; i < sizeof(get); i++)
		if (function[i] != get[i])
			return;
	/* Within one page, so that one mprotect does; and in reach of a jump. */
	distance = agent_get_cfa - (function + 5);
	if ((uint64_t)function - page > PAGE - sizeof(get) || distance != (int32_t)distance ||
	    sys3(__NR_mprotect, page, PAGE, PROT_READ | PROT_WRITE) < 0)
		return;
	agent_libgcc = base;
	agent_libgcc_bytes = bytes_of((const Elf64_Ehdr *)base);
	/* The operand before the opcode: no thread executes here yet. */
	*(int32_t *)(function + 1) = (int32_t)distance;
	*function = 0xe9;
	sys3(__NR_mprotect, page, PAGE, PROT_READ | PROT_EXEC);
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
