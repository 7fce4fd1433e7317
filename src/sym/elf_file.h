/* SPDX-License-Identifier: MIT */
/* An ELF file's bytes, in memory of our own. A mapping of the file would end brace by SIGBUS as
 * soon as its owner shortened it, and could show other bytes at the second look than at the
 * first. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/* The part of it that is read. Headers and the names of sections always are; all else is zeros. */
enum elf_part {
	ELF_NOTES,     /* and notes, and the name of the debug file */
	ELF_SYMBOLS,   /* and symbol and string tables */
	ELF_CONTENTS,  /* everything but debug information */
	ELF_WHOLE,
};

struct elf_file {
	uint8_t *bytes;        /* read-only; NULL: the file is empty */
	size_t n;              /* bytes of the file */
	struct stat is;        /* its state before and after the reading */
};

#define ELF_READ_MOST (UINT64_C(2) << 30) /* bytes of a file in memory */

/* True if the file can have so many bytes other than zeros: a hole takes no room on its disk, but
 * all that room in memory. */
bool elf_file_has(const struct stat *is, uint64_t bytes);

/* Reads from an open regular file; path is for sentences. Returns 0; or -errno and *err: ESTALE
 * when the file changed meanwhile, EFBIG when there is more to read than any program has. A file
 * that is no ELF file is no error here. elf_file_free() frees it. */
int elf_file_read(int fd, const char *path, enum elf_part part, struct elf_file *out,
		  struct err *err);
/* elf_file_read() of a path, opened by file_open(). */
int elf_file_read_path(const char *path, enum elf_part part, struct elf_file *out, struct err *err);
void elf_file_free(struct elf_file *f);
