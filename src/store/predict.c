/* SPDX-License-Identifier: MIT */
/* The part of the predictor that is called once a packet. Only the tables' used part is cleared;
 * payload words have a table of fixed size. The coders of columns call it, on the thread of their
 * packet; it cannot fail. */
#include "store/predict.h"

#include <string.h>

/* Writer and reader begin each packet with empty tables, so that a packet is unpacked by itself. */
void predict_reset(struct predictor *p, unsigned bits)
{
	memset(p->next, 0, sizeof(p->next[0]) << bits);
	memset(p->exits, 0, sizeof(p->exits[0]) << bits);
	memset(p->payload, 0, sizeof(p->payload));
	memset(p->stack, 0, sizeof(p->stack));
	p->depth = 0;
	p->bits = bits;
	memset(p->last, 0, sizeof(p->last));
	memset(p->last_payload, 0, sizeof(p->last_payload));
}
