/* SPDX-License-Identifier: MIT */
/* Searches the code of a stopped process for bytes, on the holder's thread. launch_stop.c asks
 * whether a program sets a thread pointer at all. Mappings that cannot be read are skipped. */
#include <stdio.h>
#include <string.h>

#include "arch/page.h"
#include "tracee/internal.h"
#include "tracee/proc_maps.h"

/* Bytes that are read at once: mappings may be large, and the search needs no more memory for
 * them. */
#define PIECE 65536

/* The first address of the bytes in [start, end), or 0. */
static uint64_t search_range(struct tracee *t, uint64_t start, uint64_t end, const void *bytes,
			     size_t n)
{
	uint8_t *piece = mem_zalloc(PIECE);
	const uint8_t *found = NULL;
	struct err ignored;
	uint64_t at = start;

	while (at < end) {
		size_t here = end - at < PIECE ? (size_t)(end - at) : PIECE;

		if (tracee_read(t, at, piece, here, &ignored) < 0)
			break;
		found = memmem(piece, here, bytes, n);
		if (found || here <= n)
			break;
		at += here - (n - 1); /* pieces overlap, for bytes that lie across two */
	}
	at += found ? (uint64_t)(found - piece) : 0;
	free(piece);
	return found ? at : 0;
}

uint64_t code_find(struct tracee *t, bool vdso, const void *bytes, size_t n)
{
	FILE *f = proc_maps_open(t->threads.at[0].tid);
	struct proc_map map;
	uint64_t found = 0;

	while (f && !found && proc_maps_next(f, &map))
		/* Not the kernel's own ([vsyscall]). */
		if (map.exec && map.start < ARCH_ADDRESS_END && (strcmp(map.path, "[vdso]") == 0) == vdso)
			found = search_range(t, map.start, map.end, bytes, n);
	if (f)
		fclose(f);
	return found;
}
