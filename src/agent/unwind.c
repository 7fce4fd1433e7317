/* SPDX-License-Identifier: MIT */
/* Unwinders: their look-ups, and notes of what they leave. Called by the unwinders, on the thread
 * that throws; nothing is allocated.
 *
 * Unwinders know nothing of trampolines, and of an agent only if ld.so loaded it. Three look-ups
 * lead here: GCC's own, ld.so's for one address, and the walk over all modules. nongnu's libunwind
 * gets tables of its own. Nothing fails: an address that is not ours is the original look-up's. */
#include <elf.h>

#include "agent/agent.h"
#include "agent/buffer.h"
#include "agent/mappings.h"
#include "agent/site.h"
#include "agent/state.h"
#include "shared/unwind_rule.h"

/* --- the personality of all stubs: a phase of unwinding that gets here leaves a traced call --- */
#define CLEANUP_PHASE 2
#define CONTINUE_UNWIND 8

int agent_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if (actions & CLEANUP_PHASE) {
		if (agent.settings.graph_functions != MEMORY_NO_GRAPH)
			buffer_unwound();
		state_unwound();
	}
	return CONTINUE_UNWIND;
}

/* The personality for nongnu's libunwind, by the table in align_cfa.S. To land in a function that
 * unwinder writes the landing pad over its return address, which must not be the site table's copy:
 * the stub's own layout on the stack is free by then. A context begins with two pointers, the CFA
 * and the address. */
int agent_align_personality(int version, int actions, uint64_t class, void *exception,
			    void *context)
{
	const uint64_t *about = context;
	uint64_t *below = (uint64_t *)about[2] - 1, pc = about[3];

	if (actions & CLEANUP_PHASE && site_is_in_arena(pc) && *below == pc)
		*below = *(const uint64_t *)((pc & ~(uint64_t)(SITE_BLOCK_BYTES - 1)) +
					     (pc & (SITE_BLOCK_BYTES - 1)) / SITE_STUB_BYTES * 8);
	return agent_personality(version, actions, class, exception, context);
}

extern const uint8_t agent_eh_frame[] __attribute__((visibility("hidden"))); /* agent.ld */
extern const uint8_t agent_eh_frame_hdr[] __attribute__((visibility("hidden")));
extern const Elf64_Ehdr agent_header __attribute__((visibility("hidden")));

/* --- trampolines, and the islands on the way there: shared/unwind_rule.h ---------------------- */

static uint64_t first_trampoline(const struct unwind_info *rule)
{
	return rule->base + ((const struct trampoline_layout *)rule->layouts)->at;
}

/* True at a jump in the text's padding that leads to a trampoline or a probe. */
static bool is_island(const struct unwind_info *rule, uint64_t pc)
{
	const int32_t *islands = (const int32_t *)rule->islands;
	uint64_t low = 0, high = rule->n_islands;
	struct found_trampoline to;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if ((int64_t)(pc - rule->base) > islands[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low < rule->n_islands && pc == rule->base + (uint64_t)(int64_t)islands[low] &&
	       mappings_find_code(pc + 5 + (uint64_t)(int64_t)*(const int32_t *)(pc + 1), &to) &&
	       to.code + to.layout->at == pc + 5 + (uint64_t)(int64_t)*(const int32_t *)(pc + 1);
}

/* Returns the table that holds at pc, or NULL. */
static const struct unwind_info *rule_at(uint64_t pc)
{
	for (uint64_t i = 0; i < agent.n_regions; i++) {
		const struct unwind_info *rule = mappings_rule(i);

		if (rule && ((pc >= first_trampoline(rule) && pc - rule->base < rule->bytes) ||
			     is_island(rule, pc)))
			return rule;
	}
	return NULL;
}

/* True in the agent's code and in its arena, if ld.so does not know them. */
static bool is_by_hand(uint64_t pc)
{
	const uint64_t begin = (uint64_t)&agent_header;

	return agent.flags & AGENT_BY_HAND &&
	       pc - begin < (uint64_t)agent_arena + SITE_ARENA_BYTES + SITE_BLOCK_BYTES - begin;
}

/* --- _Unwind_Find_FDE(pc, bases): the entry of the unwind table, as GCC's unwinder wants it --- */
struct dwarf_eh_bases { void *tbase, *dbase, *func; };
struct fde_entry { uint32_t bytes, cie; int32_t begin /* from here */; uint32_t range; };
typedef const void *find_fde(uint64_t pc, struct dwarf_eh_bases *bases);

static const void *own_fde(uint64_t pc, void **function)
{
	const uint8_t *at = agent_eh_frame;

	/* The table is our own file's, so its lengths are right; it ends with a length of 0. */
	for (const struct fde_entry *e; (e = (const void *)at)->bytes; at += 4 + e->bytes)
		if (e->cie && pc - ((uint64_t)&e->begin + (uint64_t)(int64_t)e->begin) < e->range) {
			*function = (uint8_t *)&e->begin + e->begin;
			return e;
		}
	return 0;
}

const void *agent_find_fde(uint64_t pc, struct dwarf_eh_bases *bases, find_fde *original)
{
	const struct unwind_info *rule = rule_at(pc);

	if (!rule && !is_by_hand(pc))
		return original(pc, bases);
	bases->tbase = bases->dbase = 0;
	if (!rule)
		return own_fde(pc, &bases->func);
	bases->func = (void *)first_trampoline(rule);
	return (const uint8_t *)rule + UNWIND_ENTRY;
}

/* --- _dl_find_object(pc, result): the module, as glibc 2.35 and later have it ----------------- */
struct dl_find_object {
	unsigned long long flags;
	const void *start, *end;
	void *link_map;
	const void *eh_frame;     /* PT_GNU_EH_FRAME */
	unsigned long long reserved[7];
};
typedef int find_object(uint64_t pc, struct dl_find_object *result);

int agent_find_object(uint64_t pc, struct dl_find_object *result, find_object *original)
{
	const struct unwind_info *rule = rule_at(pc);

	if (!rule && !is_by_hand(pc))
		return original(pc, result);
	*result = rule ? (struct dl_find_object){
		.start = (const void *)rule->base, .end = (const void *)(rule->base + rule->bytes),
		.eh_frame = (const uint8_t *)rule + UNWIND_HEADER,
	} : (struct dl_find_object){
		.start = &agent_header, .end = agent_arena + SITE_ARENA_BYTES + SITE_BLOCK_BYTES,
		.eh_frame = agent_eh_frame_hdr,
	};
	return 0;
}

/* --- dl_iterate_phdr(callback, data): the original, and us ------------------------------------ */
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

/* The library whose code asks for the modules. */
enum asker { ASKER_OTHER, ASKER_NONGNU, ASKER_UNWINDER, ASKERS };
struct whose { uint64_t code; enum asker is; };

/* Returns what stands in `path` behind `name`, or "". */
static const char *behind(const char *path, const char *name)
{
	for (const char *n; *path; path++) {
		for (n = name; *n && path[n - name] == *n; n++)
			;
		if (!*n)
			return path + (n - name);
	}
	return path;
}

/* LLVM's libunwind is libunwind.so.1; nongnu's have higher numbers. */
static enum asker asker_of(const char *path)
{
	char version = *behind(path, "/libunwind.so.");

	if (version > '1' && version <= '9')
		return ASKER_NONGNU;
	return version || *behind(path, "/libgcc_s.so.") ? ASKER_UNWINDER : ASKER_OTHER;
}

static int check_object(struct dl_phdr_info *info, size_t bytes, void *data)
{
	struct whose *whose = data;

	(void)bytes;
	for (unsigned i = 0; i < (uint16_t)info->phnum; i++) {
		const Elf64_Phdr *p = &info->phdr[i];

		if (p->p_type != PT_LOAD || whose->code - info->base - p->p_vaddr >= p->p_memsz)
			continue;
		whose->is = info->name ? asker_of(info->name) : ASKER_OTHER;
		return 1;
	}
	return 0;
}

static enum asker who_asks(phdr_callback *callback, iterate_phdr *original)
{
	/* The callbacks that asked last: one of each kind is enough, since a process has one
	 * unwinder or two. */
	static uint64_t last[ASKERS];
	struct whose whose = { (uint64_t)callback, ASKER_OTHER };

	for (enum asker a = 0; a < ASKERS; a++)
		if (last[a] == whose.code)
			return a;
	original(check_object, &whose);
	__atomic_store_n(&last[whose.is], whose.code, __ATOMIC_RELAXED);
	return whose.is;
}

/* Shows a module of ours: `bytes` from `start` on, with that header. */
static int show_module(phdr_callback *callback, void *data, uint64_t start, uint64_t bytes,
		       const uint8_t *header)
{
	const uint64_t base = (uint64_t)&agent_header;
	const Elf64_Phdr phdrs[2] = {
		{ .p_type = PT_LOAD, .p_vaddr = start - base, .p_memsz = bytes },
		{
			.p_type = PT_GNU_EH_FRAME,
			.p_vaddr = (uint64_t)header - base,
			.p_memsz = 20,
		},
	};
	struct dl_phdr_info info = { base, "libbrace-agent.so", phdrs, 2 };

	return callback(&info, sizeof(info), data);
}

/* Each region of trampolines, to unwinders only: others would take it for a library. */
static int show_regions(phdr_callback *callback, void *data, bool nongnu)
{
	const size_t header = nongnu ? UNWIND_NONGNU_HEADER : UNWIND_HEADER;
	int result = 0;

	for (uint64_t i = 0; !result && i < agent.n_regions; i++) {
		const struct unwind_info *rule = mappings_rule(i);

		if (rule)
			result = show_module(callback, data, first_trampoline(rule),
					     rule->base + rule->bytes - first_trampoline(rule),
					     (const uint8_t *)rule + header);
	}
	return result;
}

static int show_nongnu(phdr_callback *callback, void *data)
{
	return show_module(callback, data, (uint64_t)agent_arena,
			   SITE_ARENA_BYTES + SITE_BLOCK_BYTES, agent_align_hdr);
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
	/* The table for it comes before the agent's own module, which has the address, too. */
	enum asker asker = who_asks(callback, original);
	bool nongnu = asker == ASKER_NONGNU;
	int result = nongnu ? show_nongnu(callback, data) : 0;

	if (!result && asker != ASKER_OTHER)
		result = show_regions(callback, data, nongnu);
	if (!result)
		result = original(callback, data);
	if (!result && !nongnu && agent.flags & AGENT_BY_HAND)
		result = show_by_hand(callback, data);
	return result;
}
