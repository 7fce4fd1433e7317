/* SPDX-License-Identifier: MIT */
/* Copies the stack of a thread into its records, on that thread. Nothing is unwound here: that
 * takes tables, and the tracer has them (instance/frames.c). The words go in pieces of one record
 * each; the part that is certainly there is loaded directly, the rest is copied by the kernel,
 * which finds the stack's end. Nothing fails: a stack that ends early has fewer words. */
#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/event.h"
#include "agent/site.h"
#include "arch/page.h"
#include "shared/stack.h"


static uint32_t copy_words(uint64_t from, uint64_t known_end, uint64_t *to, uint32_t n)
{
	uint32_t here = from < known_end && (known_end - from) / 8 < n
				? (uint32_t)((known_end - from) / 8)
			: from < known_end ? n
					   : 0;

	for (uint32_t i = 0; i < here; i++)
		to[i] = ((const volatile uint64_t *)from)[i];
	if (here < n)
		here += probe_read_kernel(from + 8 * here, to + here, 8 * (n - here)) / 8;
	return here;
}

/* Replaces stubs by the program's return addresses. */
static void take_stubs_out(uint64_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (site_is_in_arena(words[i]))
			words[i] = site_return(words[i]);
}

void stack_copy_write(uint32_t event, const struct stack_regs *regs, uint64_t known, bool returns)
{
	uint64_t at = regs->sp & ~UINT64_C(7), end = at + 8 * STACK_WORDS_MAX,
		 known_end = (known & ~(ARCH_PAGE - 1)) + ARCH_PAGE;
	uint64_t words[1 + STACK_PIECE_WORDS];
	uint32_t n = STACK_FIRST_WORDS, want, got;

	words[1] = at | STACK_FIRST | (returns ? STACK_RETURNS : 0);
	words[2] = event;
	*(struct stack_regs *)(words + 3) = *regs;
	do {
		want = STACK_PIECE_WORDS - n;
		if (want > (end - at) / 8)
			want = (uint32_t)(end - at) / 8;
		got = copy_words(at, known_end, words + 1 + n, want);
		take_stubs_out(words + 1 + n, got);
		words[0] = record_word(agent_tsc(), record_event_id(n + got, RECORD_EVENT_STACK),
				       RECORD_EVENT);
		buffer_write_words(agent_tls_block(), words, 1 + n + got, 0);
		at += 8 * (uint64_t)got;
		words[1] = at;
		n = 1;
	/* Fewer words than wanted: the stack ends here. */
	} while (got == want && at < end);
}
