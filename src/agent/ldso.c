/* SPDX-License-Identifier: MIT */
/* Symbols of ld.so, found without libc's help: each thread's rseq area (glibc 2.35 and later), and
 * the function that ld.so calls for debuggers. Called in the constructor, on the only thread. What
 * is not found is 0, and its user does without. */
#include <elf.h>

#include "agent/agent.h"
#include "agent/ldso.h"

static uint64_t auxv_value(char **envp, uint64_t type)
{
	const Elf64_auxv_t *a;

	while (*envp)
		envp++;
	for (a = (const Elf64_auxv_t *)(envp + 1); a->a_type != AT_NULL; a++)
		if (a->a_type == type)
			return a->a_un.a_val;
	return 0;
}

const char *ldso_executed(char **envp)
{
	return (const char *)auxv_value(envp, AT_EXECFN);
}

static const Elf64_Dyn *dynamic_of(uint64_t base)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + eh->e_phoff);

	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			return (const Elf64_Dyn *)(base + ph[i].p_vaddr);
	return 0;
}

/* ld.so relocates the pointers in its own dynamic section; other modules' may still be offsets. */
static uint64_t dynamic_pointer(const Elf64_Dyn *d, int64_t tag, uint64_t base)
{
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
	return 0;
}

static bool names_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* There is no size of the symbol table. In every linker's output it ends where the string table
 * begins. */
const Elf64_Sym *ldso_find_sized(uint64_t base, const Elf64_Dyn *d, const char *name)
{
	const Elf64_Sym *sym = (const Elf64_Sym *)dynamic_pointer(d, DT_SYMTAB, base);
	const char *strings = (const char *)dynamic_pointer(d, DT_STRTAB, base);

	if (!sym || !strings)
		return 0;
	for (; (const char *)(sym + 1) <= strings; sym++)
		if (sym->st_shndx != SHN_UNDEF && names_equal(strings + sym->st_name, name))
			return sym;
	return 0;
}

const void *ldso_find(uint64_t base, const Elf64_Dyn *d, const char *name)
{
	const Elf64_Sym *sym = ldso_find_sized(base, d, name);

	return sym ? (const void *)(base + sym->st_value) : 0;
}

const void *ldso_symbol(char **envp, const char *name)
{
	uint64_t base = auxv_value(envp, AT_BASE);
	const Elf64_Dyn *d = base ? dynamic_of(base) : 0;

	return d ? ldso_find(base, d, name) : 0;
}

int64_t ldso_rseq_cpu_offset(char **envp)
{
	const int64_t *offset = ldso_symbol(envp, "__rseq_offset");
	const uint32_t *size = ldso_symbol(envp, "__rseq_size");

	/* cpu_id is the second word of struct rseq. */
	return offset && size && *size ? *offset + 4 : 0;
}
