/* SPDX-License-Identifier: MIT */
/* Records of returns with what the function returned: numbers, floating-point numbers, strings,
 * structures. On the thread that returns. */
#pragma once
#include <stdint.h>

#include "shared/memory.h"

/* Words of the longest such record: its header, the site, the value, a string or a block. */
#define RETURNED_WORDS (3u + (RETURNED_TEXT + 7u) / 8u)

/* Makes the record of a return at a time. sp: the caller's stack pointer after it, below which the
 * exit code left the registers (arch/kept_words.h). Returns its words. */
unsigned returned_words(uint64_t words[RETURNED_WORDS], uint64_t now, uint32_t site,
			enum memory_returned returned, uint64_t sp);
/* For entry.S: records a return through a stub with this word (TEXT_KIND_SHIFT). sp as above. */
void agent_text_exit(uint64_t sp, uint32_t word);
