/* From raw words (shared/record.h) to events, for streams that did not pass a trace file. */
#pragma once
#include <stddef.h>

#include "base/vec.h"
#include "source/event.h"

struct decode_state {
	uint64_t tsc;   /* full TSC near the next record */
	uint32_t thread;
	uint16_t cpu;
};

/* Decodes one record at words[0..n): fills *out and returns the words it took; *is_event tells
 * whether it was one (CPU changes and padding are not). 0 when the record is cut. */
size_t decode_record(struct decode_state *s, const uint64_t *words, size_t n, struct event *out, bool *is_event);
