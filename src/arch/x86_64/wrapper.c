/* SPDX-License-Identifier: MIT */
/* glibc's wrappers of system calls on x86-64. image/intercepts.c asks, on a planner's thread. The
 * bytes are a file's; nothing is decoded, and nothing fails. */
#include "arch/wrapper.h"

#include <string.h>

/* mov $number, %eax; perhaps xor %edi, %edi; syscall. */
static const uint8_t system_call[2] = { 0x0f, 0x05 }, clear_edi[2] = { 0x31, 0xff };
/* mov 8(%rsp), %r9 */
static const uint8_t last_argument[5] = { 0x4c, 0x8b, 0x4c, 0x24, 0x08 };

/* The longest load, with what may stand between it and the call. */
#define LOAD_MAX (WRAPPER_BYTES_MAX - sizeof(system_call))

/* The number that the load at p brings, if the call is n bytes behind it. */
static bool is_load(const uint8_t *p, unsigned n, uint32_t *number)
{
	if (p[0] == 0xb8) {
		memcpy(number, p + 1, sizeof(*number));
		/* No call has the number that stands for any. */
		return *number != WRAPPER_ANY &&
		       (n == 5 || (n == LOAD_MAX && memcmp(p + 5, clear_edi, 2) == 0));
	}
	*number = WRAPPER_ANY;
	return n == 5 && memcmp(p, last_argument, n) == 0;
}

/* The first system call in [at, end), or NULL. memchr() for the rarer byte takes a fifth of what
 * memmem() takes for two. */
static const uint8_t *find_call(const uint8_t *at, const uint8_t *end)
{
	while (end - at >= 2 && (at = memchr(at + 1, system_call[1], (size_t)(end - at - 1))))
		if (at[-1] == system_call[0])
			return at - 1;
	return NULL;
}

/* Looks for the call first: it is rare. */
uint64_t wrapper_next(const uint8_t *p, uint64_t bytes, uint64_t from, uint8_t *n, uint32_t *number)
{
	const uint8_t *call = p + from, *end = p + bytes;

	while ((call = find_call(call, end))) {
		uint64_t at = (uint64_t)(call - p);

		for (*n = LOAD_MAX; *n >= 5; *n -= 2)
			if (at >= from + *n && is_load(call - *n, *n, number))
				return at - *n;
		call += sizeof(system_call);
	}
	return bytes;
}

unsigned wrapper_emit(const uint8_t *bytes, unsigned n, uint64_t from, uint64_t agent, uint64_t at,
		      uint8_t *out)
{
	int32_t distance = (int32_t)(from + n - (at + n + 7));

	memcpy(out, bytes, n);
	/* lea of the system call to %rcx, which the call itself overwrites */
	memcpy(out + n, "\x48\x8d\x0d", 3);
	memcpy(out + n + 3, &distance, 4);
	memcpy(out + n + 7, "\x49\xbb", 2); /* movabs $agent, %r11: and r11 */
	memcpy(out + n + 9, &agent, 8);
	memcpy(out + n + 17, "\x41\xff\xe3", 3); /* jmp *%r11 */
	return n + 20;
}
