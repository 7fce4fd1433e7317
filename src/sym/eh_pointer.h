/* SPDX-License-Identifier: MIT */
/* DW_EH_PE pointers of .eh_frame, .eh_frame_hdr and .gcc_except_table. */
#pragma once
#include "base/cursor.h"

#define EH_OMIT 0xff
#define EH_INDIRECT 0x80

/* Reads a pointer; vaddr is the cursor's address in memory. Only absolute and pc-relative pointers
 * are known (others do not occur on x86-64); any other sets c->bad. */
static inline uint64_t eh_pointer(struct cursor *c, uint8_t encoding, uint64_t vaddr)
{
	uint64_t value;

	switch (encoding & 0x0f) {
	case 0x00: case 0x04: case 0x0c: value = cursor_u64(c); break;
	case 0x01: value = cursor_uleb(c); break;
	case 0x02: value = cursor_u16(c); break;
	case 0x03: value = cursor_u32(c); break;
	case 0x09: value = (uint64_t)cursor_sleb(c); break;
	case 0x0a: value = (uint64_t)(int16_t)cursor_u16(c); break;
	case 0x0b: value = (uint64_t)(int32_t)cursor_u32(c); break;
	default: value = 0; c->bad = true;
	}
	switch (encoding & 0x70) {
	case 0x00: return value;
	case 0x10: return value ? value + vaddr : 0;
	default: c->bad = true; return 0;
	}
}
