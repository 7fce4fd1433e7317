/* SPDX-License-Identifier: MIT */
/* Files of code that Mono compiled ahead of time, by their names (prog.exe.so, mscorlib.dll.so).
 * Mono treats them as code that it makes itself: it looks up return addresses in them, reads
 * their instructions and changes them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A path's last characters, each shifted in below the others. */
static inline uint64_t aot_tail(uint64_t tail, char c)
{
	return tail << 8 | (uint8_t)c;
}

/* True if a path with this tail is a file of code compiled ahead of time. */
static inline bool aot_is_tail(uint64_t tail)
{
	static const char suffixes[2][8] = { ".dll.so", ".exe.so" };

	for (unsigned i = 0; i < 2; i++) {
		uint64_t wanted = 0;

		for (unsigned k = 0; suffixes[i][k]; k++)
			wanted = aot_tail(wanted, suffixes[i][k]);
		if ((tail & ((UINT64_C(1) << 56) - 1)) == wanted)
			return true;
	}
	return false;
}

/* aot_is_tail() of a whole path. */
static inline bool aot_is_file(const char *path)
{
	uint64_t tail = 0;

	while (*path)
		tail = aot_tail(tail, *path++);
	return aot_is_tail(tail);
}
