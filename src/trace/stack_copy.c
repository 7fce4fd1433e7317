/* SPDX-License-Identifier: MIT */
/* Reassembles stack copies from records. unpack.c calls it for readers that want stacks. Pieces
 * come from the traced program's memory: their number and addresses are checked, and a copy with a
 * gap is dropped. */
#include "trace/stack_copy.h"

#include <string.h>

#include "trace/event.h"

/* Starts a copy with its first piece. False if that is too short. */
static bool begin_copy(struct stack_copy *s, const uint64_t *payload, unsigned n)
{
	s->coming = n >= STACK_FIRST_WORDS;
	if (!s->coming)
		return false;
	s->at = payload[0] & ~UINT64_C(7);
	s->returns = payload[0] & STACK_RETURNS;
	s->event = (uint32_t)payload[1];
	memcpy(&s->regs, payload + 2, sizeof(s->regs));
	s->n = 0;
	return true;
}

void stack_copy_add(struct stack_copy *s, const uint64_t *payload, unsigned n)
{
	unsigned head = payload[0] & STACK_FIRST ? STACK_FIRST_WORDS : 1;

	if (head > 1 ? !begin_copy(s, payload, n)
		     : !s->coming || payload[0] != s->at + 8 * (uint64_t)s->n)
		return; /* the rest of a copy whose beginning was lost */
	n -= head;
	if (n > STACK_WORDS_MAX - s->n)
		n = STACK_WORDS_MAX - s->n;
	memcpy(s->words + s->n, payload + head, n * sizeof(*payload));
	s->n += n;
}

/* Tells whether the event is the one that the copy was made for. A signal's handler may have
 * recorded between the two; a loss ends the wait. */
void stack_copy_tell(struct stack_copy *s, const struct event *e)
{
	s->told = s->coming &&
		  (s->event == STACK_OF_CALL ? event_is_call(e)
					     : e->kind == EVENT_TRACE && e->fn == s->event);
	s->coming = s->coming && !s->told && e->kind != EVENT_LOST;
}
