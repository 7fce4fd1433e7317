/* links: hook sym arch base */
/* Any bytes as a cached plan: it is refused, or everything in it can be used. */
#include <stdlib.h>
#include <string.h>

#include "hook/cache_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use(struct hook_module *m, const char *needed)
{
	uint8_t out[RELOCATE_MAX_BYTES];
	size_t sum = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct hook_plan_entry *e = &m->entries[i];

		sum += strlen(m->strings + m->functions[i].name) +
		       strlen(hook_kind_words[e->kind]) + strlen(hook_reason_words[e->reason]);
		if (e->kind != HOOK_NONE)
			relocate_emit(&e->recipe, m->bytes[i].window, e->vaddr, e->vaddr,
				      e->vaddr + 4096, out);
	}
	for (uint32_t i = 0; i < m->n_needed; i++)
		needed += strlen(needed) + 1;
	if (m->interp)
		sum += strlen(m->interp);
	if (sum == (size_t)-1)
		abort();
}

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
		use(&m, needed);
	free(bytes);
	return 0;
}
