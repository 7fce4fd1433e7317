/* SPDX-License-Identifier: MIT */
/* Registers' names on x86-64. event/fetch.c, operand.c and the probes of image/ and ui/ ask, for
 * probes' arguments. No state; a name that is none gives -1. Any thread. */
#include "arch/reg_names.h"

#include <ctype.h>
#include <string.h>

#include "shared/fetch.h"

/* The index is the number of the register in instructions. `flags` is FETCH_FLAGS_REG; `ip` is
 * FETCH_REGS, one behind the last. */
static const char *const kernel_names[] = { "ax", "cx", "dx",  "bx",  "sp",  "bp",  "si",    "di", "r8",
					    "r9", "r10", "r11", "r12", "r13", "r14", "r15", "flags", "ip" };
#define KERNEL_NAMES (sizeof(kernel_names) / sizeof(*kernel_names))

int reg_names_kernel(const char *name, size_t n)
{
	for (unsigned i = 0; i < KERNEL_NAMES; i++)
		if (strlen(kernel_names[i]) == n && memcmp(kernel_names[i], name, n) == 0)
			return (int)i;
	return -1;
}

const char *reg_names_of(unsigned number)
{
	return number < KERNEL_NAMES ? kernel_names[number] : NULL;
}

/* al, ax, eax, rax; r8b, r8w, r8d, r8; rip. */
int reg_names_assembler(const char *name, size_t n, unsigned *shift)
{
	/* In the order of the registers' numbers: 0 rax, 1 rcx, 2 rdx, 3 rbx. */
	static const char letters[] = "acdb";
	char plain[8];
	const char *letter;

	*shift = 0;
	if (n < 2 || n >= sizeof(plain))
		return -1;
	letter = strchr(letters, name[0]);
	if (n == 2 && name[0] && letter && (name[1] == 'l' || name[1] == 'h')) {
		*shift = name[1] == 'h' ? 8 : 0;
		return (int)(letter - letters);
	}
	if (name[0] == 'r' && isdigit((unsigned char)name[1]))
		return reg_names_kernel(name, strchr("bwd", name[n - 1]) ? n - 1 : n);
	if (n == 3 && (name[0] == 'r' || name[0] == 'e' || name[2] == 'l'))
		return reg_names_kernel(name[2] == 'l' ? name : name + 1, 2); /* rdi, edi, dil */
	return n == 2 ? reg_names_kernel(name, 2) : -1;
}

const char *reg_names_argument(unsigned n)
{
	static const char *const names[] = { "di", "si", "dx", "cx", "r8", "r9" };

	return n - 1 < sizeof(names) / sizeof(*names) ? names[n - 1] : NULL;
}
