/* SPDX-License-Identifier: MIT */
/* arch/elf.h for x86-64: the types of relocations that a program's or library's file has. */
#pragma once
#include <linux/audit.h>

#define ELF_MACHINE EM_X86_64
#define ELF_MACHINE_NAME "x86-64"
#define ELF_LOADER "ld-linux-x86-64.so"
#define ELF_LIBUNWIND "_Ux86_64_"
#define ELF_AUDIT_ARCH AUDIT_ARCH_X86_64
#define ELF_RELATIVE R_X86_64_RELATIVE

static inline enum elf_reloc elf_reloc(const Elf64_Rela *r)
{
	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_RELATIVE:
		return ELF_RELOC_RELATIVE;
	case R_X86_64_IRELATIVE:
		return ELF_RELOC_RESOLVER;
	case R_X86_64_64:
		return ELF_RELOC_ADDRESS;
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		return ELF_RELOC_SLOT;
	case R_X86_64_TPOFF64:
		return ELF_RELOC_TLS_OFFSET;
	default:
		return ELF_RELOC_OTHER;
	}
}
