/* SPDX-License-Identifier: MIT */
/* arch/entry.h for x86-64: a call pushes its return address. */
#pragma once

static inline uint64_t entry_return(uint64_t entry)
{
	return *(const uint64_t *)entry;
}

static inline void entry_set_return(uint64_t entry, uint64_t to)
{
	*(uint64_t *)entry = to;
}

static inline uint64_t entry_outer_sp(uint64_t entry)
{
	return entry + sizeof(uint64_t);
}

static inline uint64_t entry_before(uint64_t sp)
{
	return sp - sizeof(uint64_t);
}
