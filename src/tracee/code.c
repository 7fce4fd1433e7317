/* SPDX-License-Identifier: MIT */
/* Bytes looked for in the code of a held process. */
#include <stdio.h>
#include <string.h>

#include "tracee/internal.h"

#define PIECE 65536

static uint64_t search(struct tracee *t, uint64_t start, uint64_t end, const void *bytes, size_t n)
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
		at += here - (n - 1); /* what lies across two pieces */
	}
	at += found ? (uint64_t)(found - piece) : 0;
	free(piece);
	return found ? at : 0;
}

uint64_t code_find(struct tracee *t, bool vdso, const void *bytes, size_t n)
{
	char name[32], line[512], perms[5];
	unsigned long long start, end;
	uint64_t found = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)t->threads.at[0].tid);
	f = fopen(name, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx-%llx %4s", &start, &end, perms) == 3 && perms[2] == 'x' && !(start >> 47) &&
		    (strstr(line, "[vdso]") != NULL) == vdso)
			found = search(t, start, end, bytes, n);
	if (f)
		fclose(f);
	return found;
}
