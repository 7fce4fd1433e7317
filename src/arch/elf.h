/* SPDX-License-Identifier: MIT */
/* The machine's numbers in ELF files. Constant; any thread. */
#pragma once
#include <elf.h>
#include <stdint.h>

#include "arch/machine.h"

/* Kinds of relocations, by the value that each puts into its word. */
enum elf_reloc {
	ELF_RELOC_OTHER,
	ELF_RELOC_RELATIVE,  /* load bias + addend */
	ELF_RELOC_RESOLVER,  /* what the function at load bias + addend returns */
	ELF_RELOC_ADDRESS,   /* the symbol's address + addend */
	ELF_RELOC_SLOT,      /* the symbol's address, for a PLT or the GOT */
	ELF_RELOC_TLS_OFFSET /* distance of thread-local memory from the thread pointer */
};
static inline enum elf_reloc elf_reloc(const Elf64_Rela *r);

/* The machine's part has ELF_MACHINE (of e_machine), ELF_MACHINE_NAME for sentences, ELF_AUDIT_ARCH
 * (the kernel's number of it in struct seccomp_data), ELF_RELATIVE (a relocation's type, for RELR,
 * which does not say it), ELF_LOADER (how the name of glibc's loader begins), and ELF_LIBUNWIND
 * (how names of libunwind's functions begin that are made for the machine). */
#include MACHINE_HEADER(elf.h)
