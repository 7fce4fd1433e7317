/* SPDX-License-Identifier: MIT */
/* glibc's wrappers of system calls on x86-64. image/intercepts.c asks, on a planner's thread. The
 * bytes are a file's; nothing is decoded, and nothing fails. */
#include "arch/wrapper.h"

#include <string.h>

/* mov $number, %eax; perhaps xor %edi, %edi; syscall. */
static const uint8_t system_call[2] = { 0x0f, 0x05 }, clear_edi[2] = { 0x31, 0xff };
/* mov 8(%rsp), %r9 */
static const uint8_t last_argument[5] = { 0x4c, 0x8b, 0x4c, 0x24, 0x08 };

uint8_t wrapper_at(const uint8_t *p, uint32_t *number)
{
	bool is_number = p[0] == 0xb8;

	*number = WRAPPER_ANY;
	if (is_number) {
		memcpy(number, p + 1, sizeof(*number));
		if (*number == WRAPPER_ANY) /* no call has this one */
			return 0;
	}
	if (is_number && memcmp(p + 5, clear_edi, 2) == 0 && memcmp(p + 7, system_call, 2) == 0)
		return 7;
	if ((is_number || memcmp(p, last_argument, 5) == 0) && memcmp(p + 5, system_call, 2) == 0)
		return 5;
	return 0;
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
