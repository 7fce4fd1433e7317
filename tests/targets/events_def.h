/* The events of tests/targets/events.c, which its library and its C++ part emit too. */
#pragma once
#include <stdint.h>

#include "brace/event.h"

enum colour { RED = -1, GREEN = 7 };

BRACE_EVENT(truth, widths,
	BRACE_PROTO(int64_t v),
	BRACE_ARGS(v),
	BRACE_FIELDS(
		BRACE_FIELD(int8_t, s8, v),
		BRACE_FIELD(uint8_t, u8, v),
		BRACE_FIELD(int16_t, s16, v),
		BRACE_FIELD(uint16_t, u16, v),
		BRACE_FIELD(int32_t, s32, v),
		BRACE_FIELD(uint32_t, u32, v),
		BRACE_FIELD(int64_t, s64, v),
		BRACE_FIELD(uint64_t, u64, v)),
	BRACE_PRINT("s8=%d u8=%u s16=%d u16=%u s32=%d u32=%u s64=%ld u64=%lu", REC->s8, REC->u8, REC->s16, REC->u16,
		    REC->s32, REC->u32, REC->s64, REC->u64))

BRACE_EVENT(truth, texts,
	BRACE_PROTO(int n, const char *a, const char *b, const int *list, unsigned count),
	BRACE_ARGS(n, a, b, list, count),
	BRACE_FIELDS(
		BRACE_FIELD(int, n, n),
		BRACE_STRING(a, a),
		BRACE_ARRAY(int, two, 2, list),
		BRACE_DYNAMIC_ARRAY(int, list, count, list),
		BRACE_STRING(b, b)),
	BRACE_PRINT("n=%d a=%s two=%s list=%s b=%s", REC->n, __get_str(a), __print_array(REC->two, 2, 4),
		    __print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / 4, 4), __get_str(b)))

BRACE_EVENT(truth, tick,
	BRACE_PROTO(long n, enum colour colour, unsigned who),
	BRACE_ARGS(n, colour, who),
	BRACE_FIELDS(
		BRACE_FIELD(long, n, n),
		BRACE_FIELD(enum colour, colour, colour),
		BRACE_FIELD(unsigned, who, who)),
	BRACE_PRINT("n=%ld colour=%d who=%u", REC->n, REC->colour, REC->who))

BRACE_CUSTOM_EVENT(truth, tick, custom, square,
	BRACE_PROTO(long n, enum colour colour, unsigned who),
	BRACE_ARGS(n, colour, who),
	BRACE_FIELDS(BRACE_FIELD(unsigned long, square, n * n)),
	BRACE_PRINT("square=%lu", REC->square))
