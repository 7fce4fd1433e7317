/* SPDX-License-Identifier: MIT */
/* links: hook sym arch base */
/* Any bytes as a cached plan: it is refused, or everything in it can be used. If the first byte is
 * 0, the others are the block. Otherwise they change the true block of a small program: each six of
 * them are a place (two bytes) and a word (four). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/cache_file.h"
#include "program.h"
#include "use_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct cache_key key;

static uint8_t *true_block(size_t *n)
{
	static uint8_t *block;
	static size_t bytes;
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *table, *program;
	struct hook_plan *plan;
	struct sym_module *m;
	struct err err;
	size_t size;

	if (!block) {
		program = program_make(64, 2, &table, &size);
		if (write(fd, program, size) != (ssize_t)size ||
		    sym_open_fd(fd, "/program", "", &m, &err) < 0 || hook_plan(m, &plan, &err) < 0)
			abort();
		block = cache_file_make(m, plan, &key, &bytes);
		hook_plan_free(plan);
		sym_close(m);
		free(program);
	}
	close(fd);
	*n = bytes;
	return block;
}

/* free() it. */
static uint8_t *changed_block(const uint8_t *changes, size_t n, size_t *bytes)
{
	const uint8_t *whole = true_block(bytes);
	uint8_t *out = malloc(*bytes);

	memcpy(out, whole, *bytes);
	for (; n >= 6; n -= 6, changes += 6)
		memcpy(out + (changes[0] | (size_t)changes[1] << 8) % (*bytes - 3), changes + 2, 4);
	return out;
}

/* The checksum would keep a fuzzer out of everything behind it, so it is set right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct hook_module m;
	const char *needed;
	uint8_t *bytes;
	size_t size = n ? n - 1 : 0;

	if (n && !data[0]) {
		bytes = malloc(size + 1);
		memcpy(bytes, data + 1, size);
	} else {
		bytes = changed_block(n ? data + 1 : data, size, &size);
	}
	cache_file_seal(bytes, size, &key);
	if (cache_file_read(bytes, size, &key, &m, &needed))
		use_module(&m, needed);
	else if (n == 0 || (n == 1 && data[0]))
		abort(); /* the true block is good */
	free(bytes);
	return 0;
}
