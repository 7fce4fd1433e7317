/* Unwinders: what they are told, and what they tell.
 *
 * An agent that ld.so did not load is not found by them. Three of their look-ups lead here: GCC's
 * own and ld.so's, when they are asked for an address in the stub arena, and the walk over all modules. */
#include <elf.h>

#include "agent/agent.h"

/* --- the personality of all stubs: a phase of unwinding that gets here leaves a traced call ------ */
#define CLEANUP_PHASE 2
#define CONTINUE_UNWIND 8

int agent_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if (actions & CLEANUP_PHASE)
		buffer_unwound();
	return CONTINUE_UNWIND;
}

extern const uint8_t agent_eh_frame[] __attribute__((visibility("hidden"))); /* agent.ld */
extern const uint8_t agent_eh_frame_hdr[] __attribute__((visibility("hidden")));
extern const Elf64_Ehdr agent_header __attribute__((visibility("hidden")));

/* --- _Unwind_Find_FDE(pc, bases): the entry of the unwind table, as GCC's unwinder wants it ------ */
struct dwarf_eh_bases { void *tbase, *dbase, *func; };
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

/* --- _dl_find_object(pc, result): the module, as glibc 2.35 and later have it --------------------- */
struct dl_find_object {
	unsigned long long flags;
	const void *start, *end;
	void *link_map;
	const void *eh_frame;     /* PT_GNU_EH_FRAME */
	unsigned long long reserved[7];
};

int agent_find_object(const void *pc, struct dl_find_object *result)
{
	(void)pc;
	*result = (struct dl_find_object){
		.start = &agent_header, .end = agent_arena + SITE_ARENA_BYTES + SITE_BLOCK_BYTES,
		.eh_frame = agent_eh_frame_hdr,
	};
	return 0;
}

/* --- dl_iterate_phdr(callback, data): the original, then us ------------------------------------- */
struct dl_phdr_info {
	uint64_t base;
	const char *name;
	const Elf64_Phdr *phdr;
	uint64_t phnum;
	/* What follows in libc's is optional, and callers are told that it is not there. */
};
typedef int phdr_callback(struct dl_phdr_info *info, size_t bytes, void *data);
typedef int iterate_phdr(phdr_callback *callback, void *data);

int agent_iterate_phdr(phdr_callback *callback, void *data, iterate_phdr *original)
{
	struct dl_phdr_info info = {
		.base = (uint64_t)&agent_header, .name = "libbrace-agent.so",
		.phdr = (const void *)((const uint8_t *)&agent_header + agent_header.e_phoff),
		.phnum = agent_header.e_phnum,
	};
	int result = original(callback, data);

	return result ? result : callback(&info, sizeof(info), data);
}
