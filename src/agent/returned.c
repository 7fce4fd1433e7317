/* SPDX-License-Identifier: MIT */
/* Puts what a function returned into the record of its exit. A string, and what lies in memory, is
 * copied here, before the caller can free or change it. entry.S (agent_slow_text) and state.c call
 * this on the returning thread, which may be any: nothing here takes a lock, blocks or faults,
 * wherever the value leads. */
#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/returned.h"
#include "agent/site.h"
#include "arch/kept_words.h"
#include "arch/returned_regs.h"

/* Where a returned string lies; bytes: at most RETURNED_TEXT. */
struct text_range { uint64_t at, bytes; };

/* False: the object that tells it cannot be read. */
static bool find_text(struct text_range *p, enum memory_returned returned, const uint64_t *kept)
{
	uint64_t object[2]; /* of a std::string: its characters' address, and how many there are */

	*p = (struct text_range){ kept[KEPT_RESULT], RETURNED_TEXT };
	if (returned == RETURNED_VIEW)
		*p = (struct text_range){ kept[KEPT_SECOND], kept[KEPT_RESULT] };
	if (returned == RETURNED_OBJECT) {
		if (probe_read_anywhere(p->at, object, sizeof(object)) != sizeof(object))
			return false;
		*p = (struct text_range){ object[0], object[1] };
	}
	if (p->bytes > RETURNED_TEXT)
		p->bytes = RETURNED_TEXT;
	return true;
}

/* Copies the string. Returns its bytes and 1; 0: it cannot be read. */
static uint64_t copy_text(uint8_t *to, enum memory_returned returned, const uint64_t *kept)
{
	struct text_range p;
	uint64_t n = 0;
	uint32_t read;

	if (!find_text(&p, returned, kept))
		return 0;
	read = p.bytes ? probe_read_anywhere(p.at, to, (uint32_t)p.bytes) : 0;
	if (!read && p.bytes)
		return 0;
	while (n < read && (to[n] || returned != RETURNED_STRING))
		n++;
	/* Bytes behind the string are not the caller's to see. */
	for (uint64_t i = n; i < RETURNED_TEXT; i++)
		((volatile uint8_t *)to)[i] = 0;
	return n + 1;
}

_Static_assert(sizeof(struct prototype_registers) == RETURNED_BLOCK &&
		       RETURNED_BLOCK < RETURNED_TEXT, "a record has room for them");

/* Copies the registers, or the memory that the value points to, of which the type alone knows how
 * much is the value's. Returns its bytes and 1; 0: it cannot be read. */
static uint64_t copy_block(uint64_t *to, enum memory_returned returned, const uint64_t *kept)
{
	uint32_t read = RETURNED_BLOCK;

	if (returned == RETURNED_REGISTERS)
		returned_regs_read((struct prototype_registers *)to, kept[KEPT_RESULT],
				   kept[KEPT_SECOND]);
	else
		read = probe_read_anywhere(kept[KEPT_RESULT], to, RETURNED_BLOCK);
	for (uint32_t i = read; i < RETURNED_BLOCK; i++)
		((volatile uint8_t *)to)[i] = 0;
	return read ? read + 1 : 0;
}

/* RECORD_EXIT_* of what the record has instead of a string. */
static uint32_t block_flag(enum memory_returned returned)
{
	return returned == RETURNED_REGISTERS ? RECORD_EXIT_REGISTERS
	       : returned == RETURNED_MEMORY  ? RECORD_EXIT_MEMORY
					      : 0;
}

unsigned returned_words(uint64_t words[RETURNED_WORDS], uint64_t now, uint32_t site,
			enum memory_returned returned, uint64_t sp)
{
	const uint64_t *kept = (const uint64_t *)sp;
	uint64_t text;
	uint32_t flag = block_flag(returned);
	unsigned n;

	if (returned == RETURNED_WORD || returned == RETURNED_FLOAT) {
		words[0] = record_word(now, site | RECORD_EXIT_VALUE |
				       (returned == RETURNED_FLOAT ? RECORD_EXIT_FLOAT : 0),
				       RECORD_EXIT);
		words[1] = kept[returned == RETURNED_FLOAT ? KEPT_FLOAT : KEPT_RESULT];
		return 2;
	}
	words[RETURNED_WORDS - 1] = 0; /* padding must not show the stack */
	text = flag ? copy_block(words + 3, returned, kept)
		    : copy_text((uint8_t *)(words + 3), returned, kept);
	n = text ? (unsigned)((text - 1 + 7) / 8) : 0;
	words[0] = record_word(now, record_event_id(2 + n, RECORD_EVENT_EXIT), RECORD_EVENT);
	words[1] = site | flag | text << 32;
	words[2] = kept[KEPT_RESULT];
	return 3 + n;
}

void agent_text_exit(uint64_t sp, uint32_t word)
{
	uint64_t words[RETURNED_WORDS], now = agent_tsc();
	unsigned n;

	if (!agent.memory)
		return; /* detached: a return that was under way */
	n = returned_words(words, now, word & ((1u << TEXT_KIND_SHIFT) - 1),
			   word >> TEXT_KIND_SHIFT, sp);
	buffer_check_fork();
	buffer_write_words(agent_tls_block(), words, n, sp);
}
