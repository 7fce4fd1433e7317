/* SPDX-License-Identifier: MIT */
/* Unwinders: their look-ups, and notes of what they leave. Called by the unwinders, on the thread
 * that throws; nothing is allocated.
 *
 * An agent that ld.so did not load is unknown to them. Three of their look-ups lead here: GCC's own
 * and ld.so's, for an address in the stub arena, and the walk over all modules. The last one leads
 * here in every process, because nongnu's libunwind must find a table of its own. */
#include <elf.h>

#include "agent/agent.h"

/* --- the personality of all stubs: a phase of unwinding that gets here leaves a traced call --- */
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

/* The personality for nongnu's libunwind, by the table in align_cfa.S. To land in a function that
 * unwinder writes the landing pad over its return address, which must not be the site table's copy:
 * the stub's own place on the stack is free by then. A context begins with two pointers, the CFA
 * and the address. */
int agent_align_personality(int version, int actions, uint64_t class, void *exception,
			    void *context)
{
	const uint64_t *about = context;
	uint64_t *below = (uint64_t *)about[2] - 1, pc = about[3];

	if (actions & CLEANUP_PHASE && in_arena(pc) && *below == pc)
		*below = *(const uint64_t *)((pc & ~(uint64_t)(SITE_BLOCK_BYTES - 1)) +
					     (pc & (SITE_BLOCK_BYTES - 1)) / SITE_STUB_BYTES * 8);
	return agent_personality(version, actions, class, exception, context);
}

extern const uint8_t agent_eh_frame[] __attribute__((visibility("hidden"))); /* agent.ld */
extern const uint8_t agent_eh_frame_hdr[] __attribute__((visibility("hidden")));
extern const Elf64_Ehdr agent_header __attribute__((visibility("hidden")));

/* --- _Unwind_Find_FDE(pc, bases): the entry of the unwind table, as GCC's unwinder wants it --- */
struct dwarf_eh_bases { void *tbase, *dbase, *func; };
struct fde_entry { uint32_t bytes, cie; int32_t begin /* from here */; };

const void *agent_find_fde(const void *pc, struct dwarf_eh_bases *bases)
{
	const uint8_t *at = agent_eh_frame;

	(void)pc;
	bases->tbase = bases->dbase = 0;
	bases->func = agent_arena;
	/* The table is our own file's, so its lengths are right; it ends with a length of 0. */
	for (const struct fde_entry *e; (e = (const void *)at)->bytes; at += 4 + e->bytes)
		if (e->cie && (const uint8_t *)&e->begin + e->begin == agent_arena)
			return e;
	return 0;
}

/* --- _dl_find_object(pc, result): the module, as glibc 2.35 and later have it --- */
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

/* --- dl_iterate_phdr(callback, data): the original, and us --- */
struct dl_phdr_info {
	uint64_t base;
	const char *name;
	const Elf64_Phdr *phdr;
	uint64_t phnum;
	/* The rest of libc's structure is optional; `bytes` tells callers that it is not there. */
};
typedef int phdr_callback(struct dl_phdr_info *info, size_t bytes, void *data);
typedef int iterate_phdr(phdr_callback *callback, void *data);

extern const uint8_t agent_align_hdr[] __attribute__((visibility("hidden"))); /* align_cfa.S */

struct whose { uint64_t code; bool nongnu; };

/* LLVM's libunwind is libunwind.so.1; nongnu's have higher numbers. */
static bool is_nongnu(const char *path)
{
	static const char wanted[] = "/libunwind.so.";
	const char *at = path, *w;

	for (; *at; at++) {
		for (w = wanted; *w && at[w - wanted] == *w; w++)
			;
		if (!*w)
			return at[w - wanted] > '1' && at[w - wanted] <= '9';
	}
	return false;
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct whose *whose = data;

	(void)bytes;
	for (unsigned i = 0; i < (uint16_t)info->phnum; i++) {
		const Elf64_Phdr *p = &info->phdr[i];

		if (p->p_type != PT_LOAD || whose->code - info->base - p->p_vaddr >= p->p_memsz)
			continue;
		whose->nongnu = info->name && is_nongnu(info->name);
		return 1;
	}
	return 0;
}

static bool nongnu_asks(phdr_callback *callback, iterate_phdr *original)
{
	/* The callbacks that asked last: one entry each is enough, since a process has one unwinder
	 * or two. */
	static uint64_t nongnu, another;
	struct whose whose = { (uint64_t)callback, false };

	if (whose.code == nongnu || whose.code == another)
		return whose.code == nongnu;
	original(look_at, &whose);
	__atomic_store_n(whose.nongnu ? &nongnu : &another, whose.code, __ATOMIC_RELAXED);
	return whose.nongnu;
}

static int show_even(phdr_callback *callback, void *data)
{
	const uint64_t base = (uint64_t)&agent_header;
	const Elf64_Phdr phdrs[2] = {
		{
			.p_type = PT_LOAD,
			.p_vaddr = (uint64_t)agent_arena - base,
			.p_memsz = SITE_ARENA_BYTES + SITE_BLOCK_BYTES,
		},
		{
			.p_type = PT_GNU_EH_FRAME,
			.p_vaddr = (uint64_t)agent_align_hdr - base,
			.p_memsz = 20,
		},
	};
	struct dl_phdr_info info = { base, "libbrace-agent.so", phdrs, 2 };

	return callback(&info, sizeof(info), data);
}

static int show_by_hand(phdr_callback *callback, void *data)
{
	struct dl_phdr_info info = {
		.base = (uint64_t)&agent_header, .name = "libbrace-agent.so",
		.phdr = (const void *)((const uint8_t *)&agent_header + agent_header.e_phoff),
		.phnum = agent_header.e_phnum,
	};

	return callback(&info, sizeof(info), data);
}

int agent_iterate_phdr(phdr_callback *callback, void *data, iterate_phdr *original)
{
	/* The even table comes before the agent's own module, which has the address, too. */
	bool even = nongnu_asks(callback, original);
	int result = even ? show_even(callback, data) : 0;

	if (!result)
		result = original(callback, data);
	if (!result && !even && agent.flags & AGENT_BY_HAND)
		result = show_by_hand(callback, data);
	return result;
}
