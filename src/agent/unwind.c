/* An agent that ld.so did not load is not found by unwinders: the entry of their look-up,
 * _Unwind_Find_FDE(pc, bases), leads here when pc is in the stub arena. */
#include "agent/agent.h"

/* As GCC's unwinder has it. */
struct dwarf_eh_bases { void *tbase, *dbase, *func; };

extern const uint8_t agent_eh_frame[] __attribute__((visibility("hidden"))); /* agent.ld */

struct entry { uint32_t bytes, cie; int32_t begin /* from here */; };

const void *agent_find_fde(const void *pc, struct dwarf_eh_bases *bases)
{
	const uint8_t *at = agent_eh_frame;

	(void)pc;
	bases->tbase = bases->dbase = 0;
	bases->func = agent_arena;
	for (const struct entry *e; (e = (const void *)at)->bytes; at += 4 + e->bytes)
		if (e->cie && (const uint8_t *)&e->begin + e->begin == agent_arena)
			return e;
	return 0;
}
