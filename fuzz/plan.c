/* SPDX-License-Identifier: MIT */
/* links: hook sym arch base */
/* Any bytes as a cached plan: it is refused, or everything in it can be used. */
#include <stdlib.h>
#include <string.h>

#include "hook/cache_file.h"
#include "use_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The checksum would keep a fuzzer out of everything behind it, so it is set right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cache_key key = { 0 };
	struct hook_module m;
	const char *needed;
	uint8_t *bytes = malloc(n + 1);

	memcpy(bytes, data, n);
	cache_file_seal(bytes, n, &key);
	if (cache_file_read(bytes, n, &key, &m, &needed))
		use_module(&m, needed);
	free(bytes);
	return 0;
}
