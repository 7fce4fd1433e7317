/* SPDX-License-Identifier: MIT */
/* A program that is whole, as bytes, with a section of the fuzzer's: .text of nops and returns at
 * PROGRAM_TEXT, and behind it the section's bytes at PROGRAM_DATA; functions f and g in the symbol
 * table, if that is asked for. With four symbols, and a table of PROGRAM_LINKED bytes or more, it
 * needs a loader and two libraries, and has a function h without room for a jump, which k calls. */
#pragma once
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_TEXT 0x401000
#define PROGRAM_DATA 0x402000
#define PROGRAM_PAGE 4096
#define PROGRAM_LINKED 256
#define PROGRAM_SHORT 192 /* offset of h; k is behind it */

static const char program_names[] = "\0.text\0.gopclntab\0.symtab\0.strtab\0.shstrtab";
enum { NAME_TEXT = 1, NAME_TABLE = 7, NAME_SYMTAB = 18, NAME_STRTAB = 26, NAME_NAMES = 34 };

static void program_text(uint8_t *to)
{
	static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc9, 0xc3 };

	memset(to, 0x90, PROGRAM_PAGE);
	for (size_t at = 0; at + sizeof(prologue) < PROGRAM_PAGE; at += 64)
		memcpy(to + at, prologue, sizeof(prologue));
	to[PROGRAM_PAGE - 1] = 0xc3;
}

static void program_segments(Elf64_Phdr *p, uint64_t table)
{
	p[0] = (Elf64_Phdr){ PT_LOAD, PF_R | PF_X, PROGRAM_PAGE, PROGRAM_TEXT, PROGRAM_TEXT, PROGRAM_PAGE, PROGRAM_PAGE, PROGRAM_PAGE };
	p[1] = (Elf64_Phdr){ PT_LOAD, PF_R, 2 * PROGRAM_PAGE, PROGRAM_DATA, PROGRAM_DATA, table, table, PROGRAM_PAGE };
}

/* k: nop; call h; nop...; ret. */
static void program_short(uint8_t *text)
{
	static const uint8_t code[] = { 0xc3, 0x90, 0xe8, 0xf9, 0xff, 0xff, 0xff, 0x0f, 0x1f, 0x44, 0, 0, 0xc3 };

	memcpy(text + PROGRAM_SHORT, code, sizeof(code));
}

/* Writes the dynamic section and its strings, which the loader reads, into the table's page. */
static void program_link(uint8_t *b, Elf64_Phdr *p)
{
	static const char strings[] = "\0liba.so.1\0libb.so.2", interp[] = "/lib/ld.so";
	const Elf64_Dyn dynamic[] = { { DT_NEEDED, { 1 } }, { DT_NEEDED, { 11 } }, { DT_STRTAB, { PROGRAM_DATA + 128 } },
				      { DT_STRSZ, { sizeof(strings) } }, { DT_NULL, { 0 } } };
	uint8_t *table = b + 2 * PROGRAM_PAGE;

	((Elf64_Ehdr *)b)->e_phnum = 4;
	p[2] = (Elf64_Phdr){ PT_DYNAMIC, PF_R, 2 * PROGRAM_PAGE, PROGRAM_DATA, PROGRAM_DATA, sizeof(dynamic), sizeof(dynamic), 8 };
	p[3] = (Elf64_Phdr){ PT_INTERP, PF_R, 2 * PROGRAM_PAGE + 192, PROGRAM_DATA + 192, PROGRAM_DATA + 192, sizeof(interp), sizeof(interp), 1 };
	memcpy(table, dynamic, sizeof(dynamic));
	memcpy(table + 128, strings, sizeof(strings));
	memcpy(table + 192, interp, sizeof(interp));
}

/* `table` bytes of a section named .gopclntab are the caller's to write, at *at; symbols: 0, 2 or
 * 4. free() it. */
static uint8_t *program_make(size_t table, unsigned symbols, uint8_t **at, size_t *n)
{
	static const char strings[] = "\0f\0g\0h\0k";
	size_t end = 2 * PROGRAM_PAGE + ((table + 7) & ~(size_t)7), sections = end + 256;
	uint8_t *b = calloc(1, sections + 6 * sizeof(Elf64_Shdr));
	Elf64_Ehdr *e = (void *)b;
	Elf64_Shdr *s = (void *)(b + sections);
	Elf64_Sym *y = (void *)(b + end + 128);

	*e = (Elf64_Ehdr){ .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = 1, .e_phoff = 64, .e_phentsize = 56, .e_phnum = 2,
			   .e_ehsize = 64, .e_shoff = sections, .e_shentsize = 64, .e_shnum = 6, .e_shstrndx = 5,
			   .e_entry = PROGRAM_TEXT };
	memcpy(e->e_ident, "\177ELF\2\1\1", 7);
	program_segments((void *)(b + 64), table);
	program_text(b + PROGRAM_PAGE);
	memcpy(b + end, program_names, sizeof(program_names));
	memcpy(b + end + 96, strings, sizeof(strings));
	y[1] = (Elf64_Sym){ 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, PROGRAM_TEXT, 10 };
	y[2] = (Elf64_Sym){ 3, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, PROGRAM_TEXT + 64, 10 };
	y[3] = (Elf64_Sym){ 5, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, PROGRAM_TEXT + PROGRAM_SHORT, 1 };
	y[4] = (Elf64_Sym){ 7, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, PROGRAM_TEXT + PROGRAM_SHORT + 1, 12 };
	if (symbols == 4) {
		program_short(b + PROGRAM_PAGE);
		program_link(b, (void *)(b + 64));
	}
	s[1] = (Elf64_Shdr){ NAME_TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PROGRAM_TEXT, PROGRAM_PAGE, PROGRAM_PAGE, 0, 0, 16, 0 };
	s[2] = (Elf64_Shdr){ NAME_TABLE, SHT_PROGBITS, SHF_ALLOC, PROGRAM_DATA, 2 * PROGRAM_PAGE, table, 0, 0, 32, 0 };
	s[3] = (Elf64_Shdr){ NAME_SYMTAB, SHT_SYMTAB, 0, 0, end + 128, symbols ? (symbols + 1) * sizeof(*y) : 0, 4, 1, 8, sizeof(*y) };
	s[4] = (Elf64_Shdr){ NAME_STRTAB, SHT_STRTAB, 0, 0, end + 96, sizeof(strings), 0, 0, 1, 0 };
	s[5] = (Elf64_Shdr){ NAME_NAMES, SHT_STRTAB, 0, 0, end, sizeof(program_names), 0, 0, 1, 0 };
	*at = b + 2 * PROGRAM_PAGE;
	*n = sections + 6 * sizeof(Elf64_Shdr);
	return b;
}
