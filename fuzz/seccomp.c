/* SPDX-License-Identifier: MIT */
/* Any bytes as a seccomp filter: it is run to an end, the same each time. */
#include <stdlib.h>
#include <string.h>

#include "tracee/seccomp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint64_t args[6] = { 1, 2, UINT64_C(0x7ffff0000000), ~UINT64_C(0), 5, 6 };
	size_t count = n / sizeof(struct sock_filter);
	struct sock_filter *program = malloc(count ? count * sizeof(*program) : 1);
	uint32_t first;

	if (count)
		memcpy(program, data, count * sizeof(*program));
	first = seccomp_run(program, count, 9, args);
	if (seccomp_run(program, count, 9, args) != first)
		abort();
	free(program);
	return 0;
}
