/* SPDX-License-Identifier: MIT */
/* Any bytes as a program with markers: what is listed is inside the file. */
#include <stdlib.h>
#include <string.h>

#include "sym/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	usdt_markers markers = { 0 };
	struct sym_module *m;
	struct err err;
	size_t sum = 0;
	uint64_t vaddr;

	if (sym_open_bytes(data, n, "fuzz", &m, &err) < 0)
		return 0;
	sym_usdt(m, &markers);
	for (size_t i = 0; i < markers.n; i++) {
		sum += strlen(markers.at[i].provider) + strlen(markers.at[i].name) + strlen(markers.at[i].arguments);
		sum += sym_bytes(m, markers.at[i].vaddr, 1) != NULL;
	}
	sum += sym_object(m, "CheckpointStats", 15, &vaddr);
	if (sum > 3 * n + 2 * markers.n * n)
		abort();
	vec_free(&markers);
	sym_close(m);
	return 0;
}
