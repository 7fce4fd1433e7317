/* A stub's frame has no size, and libgcc tells frames apart by their CFA: so a stub's is odd (entry.S), and
 * the function that called through it is shown an odd one. LuaJIT takes it for the address of its
 * frame, and it is what _Unwind_GetCFA gives. Four bytes of its padding make that even again. */
#include <asm/unistd.h>
#include <link.h>
#include <linux/mman.h>

#include "agent/agent.h"
#include "agent/sys.h"

#define PAGE UINT64_C(4096)
#define FUNCTION_BYTES 16 /* functions are so far apart */

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

/* [endbr64;] mov 0x90(%rdi), %rax; ret -> the same with and $-8, %rax before the ret. */
static void make_even(uint8_t *function)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, get[] = { 0x48, 0x8b, 0x87, 0x90, 0, 0, 0, 0xc3 };
	static const uint8_t even[] = { 0x48, 0x83, 0xe0, 0xf8, 0xc3 };
	uint64_t page = (uint64_t)function & ~(PAGE - 1);
	uint8_t *at = function;

	for (unsigned i = 0; i < sizeof(endbr) && at[i] == endbr[i]; i++)
		if (i + 1 == sizeof(endbr))
			at += sizeof(endbr);
	for (unsigned i = 0; i < sizeof(get); i++)
		if (at[i] != get[i])
			return;
	at += sizeof(get) - 1;
	if ((uint64_t)function % FUNCTION_BYTES || at + sizeof(even) > function + FUNCTION_BYTES ||
	    sys3(__NR_mprotect, page, PAGE, PROT_READ | PROT_WRITE) < 0)
		return;
	for (unsigned i = 0; i < sizeof(even); i++)
		at[i] = even[i];
	sys3(__NR_mprotect, page, PAGE, PROT_READ | PROT_EXEC);
}

void cfa_make_even(const struct r_debug *debug)
{
	for (const struct link_map *l = debug ? debug->r_map : 0; l; l = l->l_next) {
		uint8_t *function = 0;

		if (l->l_name && is_libgcc(l->l_name))
			function = (uint8_t *)ldso_find(l->l_addr, l->l_ld, "_Unwind_GetCFA");
		if (function)
			make_even(function);
	}
}
