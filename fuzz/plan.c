/* SPDX-License-Identifier: MIT */
/* Any bytes as a cached plan: it is refused, or everything in it can be used. If the first byte is
 * 0, the others are the block. Otherwise they change the true block of a small program, which needs
 * libraries if the byte is even: each six of them are a place (two bytes) and a word (four). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/cache_file.h"
#include "program.h"
#include "use_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct cache_key key;

static uint8_t *make_block(bool linked, size_t *n)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	uint8_t *table, *program, *block;
	struct hook_plan *plan;
	struct sym_module *m;
	struct err err;
	size_t size;

	program = linked ? program_make(PROGRAM_LINKED, 4, &table, &size) : program_make(64, 2, &table, &size);
	if (write(fd, program, size) != (ssize_t)size ||
	    sym_open_fd(fd, "/program", "", &m, &err) < 0 || hook_plan(m, &plan, &err) < 0)
		abort();
	if (linked && (m->needed.n != 2 || !m->interp || plan->calls.n != 1))
		abort(); /* it is not what it should be */
	block = cache_file_make(m, plan, &key, n);
	hook_plan_free(plan);
	sym_close(m);
	free(program);
	close(fd);
	return block;
}

static const uint8_t *true_block(bool linked, size_t *n)
{
	static uint8_t *block[2];
	static size_t bytes[2];

	if (!block[linked])
		block[linked] = make_block(linked, &bytes[linked]);
	*n = bytes[linked];
	return block[linked];
}

/* free() it. */
static uint8_t *changed_block(bool linked, const uint8_t *changes, size_t n, size_t *bytes)
{
	const uint8_t *whole = true_block(linked, bytes);
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
		bytes = changed_block(n && data[0] % 2 == 0, n ? data + 1 : data, size, &size);
	}
	cache_file_seal(bytes, size, &key);
	if (cache_file_read(bytes, size, &key, &m, &needed))
		use_module(&m, needed);
	else if (n == 0 || (n == 1 && data[0]))
		abort(); /* the true block is good */
	free(bytes);
	return 0;
}
