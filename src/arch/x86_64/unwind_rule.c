/* SPDX-License-Identifier: MIT */
/* Emits the unwind table of unwind_rule.S: copies it, fills its addresses in.
 * image/function_patches.c calls it for each region while a process is planned; no state. It fails
 * only with -ERANGE. Any thread. */
#include "arch/unwind_rule.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/memory.h"

_Static_assert(offsetof(struct unwind_info, bytes) == UNWIND_BYTES &&
	       offsetof(struct unwind_info, layouts) == UNWIND_LAYOUTS &&
	       offsetof(struct unwind_info, layouts_end) == UNWIND_LAYOUTS_END &&
	       offsetof(struct unwind_info, step) == UNWIND_STEP &&
	       offsetof(struct unwind_info, nothing) == UNWIND_NOTHING &&
	       sizeof(struct unwind_info) == UNWIND_HEADER, "the expressions read them there");
_Static_assert(offsetof(struct trampoline_layout, at) == LAYOUT_AT &&
	       offsetof(struct trampoline_layout, body) == LAYOUT_BODY &&
	       offsetof(struct trampoline_layout, from) == LAYOUT_FROM &&
	       offsetof(struct trampoline_layout, plain) == LAYOUT_PLAIN &&
	       offsetof(struct trampoline_layout, len) == LAYOUT_LEN &&
	       offsetof(struct trampoline_layout, pushed) == LAYOUT_PUSHED &&
	       offsetof(struct trampoline_layout, grown) == LAYOUT_GROWN, "and these there");

#define LABEL(name) extern const uint8_t name[]
LABEL(unwind_rule_begin);
LABEL(unwind_rule_end);
LABEL(unwind_rule_header);
LABEL(unwind_rule_nongnu_header);
LABEL(unwind_rule_first); LABEL(unwind_rule_nongnu_first);
LABEL(unwind_rule_entry_low); LABEL(unwind_rule_entry_range);
LABEL(unwind_rule_nongnu_low); LABEL(unwind_rule_nongnu_range);
LABEL(unwind_rule_about1); LABEL(unwind_rule_about2); LABEL(unwind_rule_about3);
LABEL(unwind_rule_about4); LABEL(unwind_rule_about5);
#undef LABEL

size_t unwind_rule_bytes(void)
{
	return (size_t)(unwind_rule_end - unwind_rule_begin);
}

/* Fields of 4 bytes that say where the range begins: the field's end, and the place that they
 * count from. */
static const struct { const uint8_t *end, *from; } lows[] = {
	{ unwind_rule_first, unwind_rule_header },
	{ unwind_rule_nongnu_first, unwind_rule_nongnu_header },
	{ unwind_rule_entry_low, unwind_rule_entry_low - 4 },
	{ unwind_rule_nongnu_low, unwind_rule_nongnu_low - 4 },
};

static int put_lows(uint64_t low, uint64_t at, uint8_t *out)
{
	for (size_t i = 0; i < sizeof(lows) / sizeof(lows[0]); i++) {
		int64_t far = (int64_t)(low - at) - (lows[i].from - unwind_rule_begin);
		int32_t rel = (int32_t)far;

		if (rel != far)
			return -ERANGE;
		memcpy(out + (lows[i].end - unwind_rule_begin) - 4, &rel, 4);
	}
	return 0;
}

static void put_infos(uint64_t at, uint8_t *out)
{
	static const uint8_t *const ends[] = { unwind_rule_about1, unwind_rule_about2,
					       unwind_rule_about3, unwind_rule_about4,
					       unwind_rule_about5 };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		memcpy(out + (ends[i] - unwind_rule_begin) - 8, &at, 8);
}

/* The expressions begin with a step over the list's greatest power of two. */
static uint64_t first_step(uint64_t bytes)
{
	uint64_t step = sizeof(struct trampoline_layout);

	while (2 * step < bytes)
		step *= 2;
	return step;
}

int unwind_rule_emit(const struct unwind_info *about, uint64_t low, uint64_t high, uint64_t at,
		     uint8_t *out)
{
	struct unwind_info full = *about;
	uint32_t range = (uint32_t)(high - low);

	/* Unwinders read the range as a signed number. */
	if (high - low > INT32_MAX)
		return -ERANGE;
	full.step = first_step(about->layouts_end - about->layouts);
	full.nothing = 0;
	memcpy(out, unwind_rule_begin, unwind_rule_bytes());
	memcpy(out, &full, sizeof(full));
	memcpy(out + (unwind_rule_entry_range - unwind_rule_begin) - 4, &range, 4);
	memcpy(out + (unwind_rule_nongnu_range - unwind_rule_begin) - 4, &range, 4);
	put_infos(at, out);
	return put_lows(low, at, out);
}
