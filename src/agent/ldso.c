/* SPDX-License-Identifier: MIT */
/* What ld.so exports and we need, found without libc's help: where each thread's rseq area is
 * (glibc 2.35 and later), and the function it calls for debuggers when modules come and go. */
#include <elf.h>

#include "agent/agent.h"

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

/* ld.so relocates its own dynamic section in place, some do not. */
static uint64_t pointer(const Elf64_Dyn *d, int64_t tag, uint64_t base)
{
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr;
	return 0;
}

static bool equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The symbol table ends where the string table begins, in every linker's output. */
const void *ldso_find(uint64_t base, const Elf64_Dyn *d, const char *name)
{
	const Elf64_Sym *sym = (const Elf64_Sym *)pointer(d, DT_SYMTAB, base);
	const char *strings = (const char *)pointer(d, DT_STRTAB, base);

	if (!sym || !strings)
		return 0;
	for (; (const char *)(sym + 1) <= strings; sym++)
		if (sym->st_shndx != SHN_UNDEF && equal(strings + sym->st_name, name))
			return (const void *)(base + sym->st_value);
	return 0;
}

const void *ldso_symbol(char **envp, const char *name)
{
	uint64_t base = auxv_value(envp, AT_BASE);
	const Elf64_Dyn *d = base ? dynamic_of(base) : 0;

	return d ? ldso_find(base, d, name) : 0;
}

int64_t rseq_cpu_offset(char **envp)
{
	const int64_t *offset = ldso_symbol(envp, "__rseq_offset");
	const uint32_t *size = ldso_symbol(envp, "__rseq_size");

	return offset && size && *size ? *offset + 4 : 0;
}
