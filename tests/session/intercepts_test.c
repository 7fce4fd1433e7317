/* SPDX-License-Identifier: MIT */
/* System calls of a file that are led to the agent: every one is found once, wherever it lies. The
 * search reads a file in pieces, so calls are put across each place where two pieces may meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/intercepts.h"

#define BYTES (256u << 10)
#define VADDR 0x400000u
#define OFFSET 0x1000u /* of the segment in its file */

/* mov $SYS_prctl, %eax; syscall */
static const uint8_t plain[] = { 0xb8, SYS_prctl, 0, 0, 0, 0x0f, 0x05 };
/* mov $SYS_execve, %eax; xor %edi, %edi; syscall: the longest */
static const uint8_t longest[] = { 0xb8, SYS_execve, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05 };
/* mov $SYS_getpid, %eax; syscall: concerns nobody */
static const uint8_t other[] = { 0xb8, SYS_getpid, 0, 0, 0, 0x0f, 0x05 };

/* Returns the calls in the bytes, read out of a new file. */
static intercept_list find_in(const uint8_t *bytes, size_t n)
{
	struct sym_segment segment = { .vaddr = VADDR, .size = n, .filesz = n, .offset = OFFSET,
				       .exec = true };
	struct hook_module h = { .segments = &segment, .n_segments = 1 };
	int fd = memfd_create("code", MFD_CLOEXEC);
	intercept_list out = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, OFFSET), n);
	intercepts_find(fd, &h, INTERCEPTS_ALL, &out);
	close(fd);
	return out;
}

static void test_across_pieces(void **state)
{
	uint8_t *bytes = malloc(BYTES);
	intercept_list found;

	/* Two calls, one behind the other, with no byte between them, at each distance from each
	 * place. 4 KiB: no piece is smaller. */
	for (size_t shift = 0; shift < 40; shift++) {
		size_t n = 0;

		memset(bytes, 0x90, BYTES);
		for (size_t at = 4096; at < BYTES; at += 4096) {
			memcpy(bytes + at - shift, longest, sizeof(longest));
			memcpy(bytes + at - shift + sizeof(longest), plain, sizeof(plain));
			n += 2;
		}
		found = find_in(bytes, BYTES);
		assert_int_equal(found.n, n);
		for (size_t i = 0; i < n; i += 2) {
			uint64_t at = VADDR + (i / 2 + 1) * 4096 - shift;

			assert_int_equal(found.at[i].vaddr, at);
			assert_int_equal(found.at[i].number, SYS_execve);
			assert_int_equal(found.at[i].n, sizeof(longest) - 2);
			assert_memory_equal(found.at[i].bytes, longest, sizeof(longest) - 2);
			assert_int_equal(found.at[i + 1].vaddr, at + sizeof(longest));
			assert_int_equal(found.at[i + 1].number, SYS_prctl);
		}
		vec_free(&found);
	}
	free(bytes);
}

static void test_ends(void **state)
{
	uint8_t bytes[64];
	intercept_list found;

	/* The first and the last bytes of a segment. */
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes, plain, sizeof(plain));
	memcpy(bytes + sizeof(bytes) - sizeof(longest), longest, sizeof(longest));
	found = find_in(bytes, sizeof(bytes));
	assert_int_equal(found.n, 2);
	vec_free(&found);
	/* A call whose last byte, or whose load, is missing is none. */
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes, plain + 1, sizeof(plain) - 1);
	memcpy(bytes + 16, other, sizeof(other));
	memcpy(bytes + sizeof(bytes) - sizeof(plain) + 1, plain, sizeof(plain) - 1);
	found = find_in(bytes, sizeof(bytes));
	assert_int_equal(found.n, 0);
	vec_free(&found);
}

static void test_short_file(void **state)
{
	uint8_t bytes[64];
	struct sym_segment segment = { .vaddr = VADDR, .size = 1 << 20, .filesz = 1 << 20,
				       .exec = true };
	struct hook_module h = { .segments = &segment, .n_segments = 1 };
	int fd = memfd_create("code", MFD_CLOEXEC);
	intercept_list out = { 0 };

	/* A segment that goes on behind the file's end is not looked at. */
	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes, plain, sizeof(plain));
	assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	intercepts_find(fd, &h, INTERCEPTS_ALL, &out);
	assert_int_equal(out.n, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_across_pieces),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_short_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
