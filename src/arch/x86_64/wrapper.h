/* SPDX-License-Identifier: MIT */
/* arch/wrapper.h for x86-64: the first byte rules out most places. */
#pragma once

#define WRAPPER_READ 9u
#define WRAPPER_CODE_MAX 32u

/* mov $number, %eax; or glibc's syscall(), which loads the sixth argument last. */
static inline bool wrapper_may_begin(uint8_t byte)
{
	return byte == 0xb8 || byte == 0x4c;
}
