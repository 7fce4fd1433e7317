/* SPDX-License-Identifier: MIT */
/* Mappings of the agent in the process, and the writing of patches: see mappings.h. init.c calls it
 * while there is one thread, attach.c while all others are stopped, user.c when the user changes. A
 * mapping that fails costs its functions, or all tracing, never the program. */
#include <linux/mman.h>
#include <asm/unistd.h>

#include "agent/agent.h"
#include "agent/constants.h"
#include "agent/mappings.h"
#include "agent/no_tls.h"
#include "agent/site.h"
#include "agent/sys.h"
#include "agent/texts.h"
#include "agent/user.h"
#include "arch/page.h"
#include "shared/points.h"
#include "shared/unwind_rule.h"

#define MAX_REGIONS 1024
#define FORK_GUARD_BYTES ARCH_PAGE

struct agent agent;
uint32_t agent_fork_guard[1024] __attribute__((aligned(ARCH_PAGE)));
static struct region {
	uint32_t *fork_guard;
	uint64_t bytes; /* of code, behind the fork guard */
	const struct trampoline_layout *layouts;
	uint32_t n_layouts;
	const struct unwind_info *rule;
} regions[MAX_REGIONS];
extern uint8_t *agent_arena_at;

void mappings_find_own(void)
{
	agent.arena = (uint8_t *)(((uint64_t)agent_arena + SITE_BLOCK_BYTES - 1) &
				  ~(uint64_t)(SITE_BLOCK_BYTES - 1));
	agent_arena_at = agent.arena;
}

/* Maps a descriptor shared, at any place; NULL on failure. */
static void *map_shared(int fd, uint64_t size, int prot)
{
	long at = sys6(__NR_mmap, 0, (long)size, prot, MAP_SHARED, fd, 0);

	return at < 0 && at > -4096 ? 0 : (void *)at;
}

static void *map_writable(int fd, uint64_t size)
{
	return map_shared(fd, size, PROT_READ | PROT_WRITE);
}

/* The file is sealed: nobody but the tracer can write to it. */
const uint8_t *mappings_map_code(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	return map_shared(fds[TALK_CODE], w->code_size, PROT_READ);
}

/* In no-TLS mode 0: look-ups of sites miss, and the slow path, which they lead to, finds the thread
 * by its id. */
static uint32_t multiplier(void)
{
	return agent_no_tls ? 0 : SITE_HASH_MULTIPLIER;
}

/* Makes a fork guard: a page that holds the hash's multiplier, and that a fork zeroes in the
 * child. */
static bool arm_fork_guard(uint32_t *fork_guard)
{
	if (sys3(__NR_madvise, fork_guard, FORK_GUARD_BYTES, MADV_WIPEONFORK) < 0)
		return false;
	*fork_guard = multiplier();
	return true;
}

/* Returns the region's layouts; NULL: it has none, or they are not in the region. */
static const struct trampoline_layout *layouts_of(const struct patch_region *r)
{
	uint64_t offset = r->layouts - r->address;
	const uint64_t each = sizeof(struct trampoline_layout);

	return offset < r->bytes && r->n_layouts <= (r->bytes - offset) / each
		       ? (const struct trampoline_layout *)r->layouts
		       : NULL;
}

/* Returns the region's unwind table, once its code is mapped; NULL: it has none, or it is not in
 * the region. */
static const struct unwind_info *rule_of(const struct patch_region *r)
{
	const struct unwind_info *rule = (const struct unwind_info *)r->rule;
	uint64_t offset = r->rule - r->address, islands;

	if (!layouts_of(r) || offset >= r->bytes || r->bytes - offset < UNWIND_ENTRY)
		return NULL;
	islands = rule->islands - r->address;
	return rule->base == r->address && rule->bytes <= r->bytes && islands <= r->bytes &&
			       rule->n_islands <= (r->bytes - islands) / sizeof(int32_t)
		       ? rule
		       : NULL;
}

const struct unwind_info *mappings_rule(uint64_t i)
{
	return regions[i].rule;
}

/* Maps the region's fork guard and its code. False: nothing of it is mapped, and its functions stay
 * unhooked. */
static bool map_region(struct patch_region *r, int code_fd)
{
	long at;

	if (agent.n_regions >= MAX_REGIONS)
		return false;
	/* The fork guard is mapped at its address or not at all: something else may be there by
	 * now. */
	at = sys6(__NR_mmap, (long)r->fork_guard, FORK_GUARD_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at != (long)r->fork_guard)
		return false;
	at = sys6(__NR_mmap, (long)r->address, (long)r->bytes, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_FIXED_NOREPLACE, code_fd, (long)r->offset);
	/* At the region's place may be a mapping of the program's: it is unmapped only if it is
	 * ours. */
	if (at != (long)r->address || !arm_fork_guard((uint32_t *)r->fork_guard)) {
		if (at == (long)r->address)
			sys2(__NR_munmap, at, r->bytes);
		sys2(__NR_munmap, r->fork_guard, FORK_GUARD_BYTES);
		return false;
	}
	POINT(region_mapped);
	regions[agent.n_regions++] =
		(struct region){ (uint32_t *)r->fork_guard, r->bytes, layouts_of(r), r->n_layouts,
				 rule_of(r) };
	return true;
}

/* The code follows the fork guard. */
static uint64_t code_of(const struct region *r)
{
	return (uint64_t)r->fork_guard + FORK_GUARD_BYTES;
}

bool mappings_find_code(uint64_t pc, struct found_trampoline *out)
{
	for (const struct region *r = regions; r < regions + agent.n_regions; r++) {
		uint64_t offset = pc - code_of(r);
		/* Places stand in the order of addresses. */
		uint32_t low = 0, high = r->layouts ? r->n_layouts : 0;

		if (offset >= r->bytes)
			continue;
		while (low < high) {
			uint32_t middle = (low + high) / 2;

			if (r->layouts[middle].at <= offset)
				low = middle + 1;
			else
				high = middle;
		}
		*out = (struct found_trampoline){ r->layouts + low - 1, code_of(r) };
		return low > 0;
	}
	return false;
}

bool mappings_find_function(uint64_t pc, struct found_trampoline *out)
{
	for (const struct region *r = regions; r < regions + agent.n_regions; r++)
		for (uint32_t i = 0; r->layouts && i < r->n_layouts; i++)
			if (pc - (code_of(r) + (uint64_t)(int64_t)r->layouts[i].from) <
			    r->layouts[i].len) {
				*out = (struct found_trampoline){ &r->layouts[i], code_of(r) };
				return true;
			}
	return false;
}

static void open_own(void)
{
	agent_fork_guard[FORK_GUARD_VALUED] = agent_no_tls ? 0 : 2 * sizeof(uint64_t);
	agent_fork_guard[FORK_GUARD_EXIT] = !agent_no_tls;
	/* Pairs with buffer_after_fork(): once this fork guard is open, all others are. */
	__atomic_store_n(&agent_fork_guard[0], SITE_HASH_MULTIPLIER, __ATOMIC_RELEASE);
}

void mappings_rearm(void)
{
	for (uint64_t i = 0; i < agent.n_regions; i++)
		*regions[i].fork_guard = multiplier();
	open_own();
}

void mappings_close_fork_guards(void)
{
	for (uint64_t i = 0; i < agent.n_regions; i++)
		__atomic_store_n(regions[i].fork_guard, 0, __ATOMIC_RELAXED);
	agent_fork_guard[FORK_GUARD_VALUED] = agent_fork_guard[FORK_GUARD_EXIT] = 0;
}

void mappings_disarm_if_forked(uint64_t first)
{
	for (uint64_t i = first; !agent_fork_guard[0] && i < agent.n_regions; i++)
		*regions[i].fork_guard = 0;
}

void mappings_forget_regions(uint64_t first, uint64_t n)
{
	uint64_t end = first + n;

	for (uint64_t i = first; i < end; i++)
		sys2(__NR_munmap, regions[i].fork_guard, FORK_GUARD_BYTES + regions[i].bytes);
	for (uint64_t i = end; i < agent.n_regions; i++)
		regions[i - n] = regions[i];
	agent.n_regions -= n;
}

/* No memcmp(): the agent has no libc. */
static bool same_bytes(const uint8_t *a, const uint8_t *b, unsigned n)
{
	while (n--)
		if (a[n] != b[n])
			return false;
	return true;
}

/* Writes one patch, unless the program's bytes are no longer those that were planned for. */
static enum patch_status apply_patch(const struct patch *p)
{
	uint8_t *at = (uint8_t *)p->address;

	if (p->function == PATCH_SEMAPHORE) {
		/* Atomic, since the program may count in the same word at any time. Relaxed:
		 * nothing is read by it. */
		__atomic_fetch_add((uint16_t *)at, 1, __ATOMIC_RELAXED);
		return PATCH_APPLIED;
	}
	if (!same_bytes(at, p->expected, p->length))
		return PATCH_CHANGED;
	for (unsigned i = 0; i < p->length; i++)
		at[i] = p->bytes[i];
	POINT(patch_written);
	return PATCH_APPLIED;
}

static void protect_all(const struct patch_text *texts, uint32_t n, int prot)
{
	for (uint32_t i = 0; i < n; i++)
		sys3(__NR_mprotect, texts[i].address, texts[i].bytes, prot);
}

/* The regions of the last setup that are mapped. Our own list: others can write to the answer
 * memory. */
static bool mapped[MAX_REGIONS];

/* Tells the tracer which regions are mapped. By a mapping: writing to the file could meet the
 * process's limit on file sizes. */
static bool answer_mapped(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	uint8_t *answers = map_writable(fds[TALK_ANSWERS], w->answers_size);

	for (uint32_t i = 0; answers && i < w->n_regions && i < MAX_REGIONS; i++)
		answers[i] = mapped[i];
	if (answers)
		sys2(__NR_munmap, answers, w->answers_size);
	return answers != 0;
}

/* Learns which mappings are code of files, and which are only read. */
static bool learn_texts(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	const uint8_t *code = mappings_map_code(w, fds);
	const struct patch_text *constants = (const struct patch_text *)(code + w->constants_at);

	if (!code)
		return false;
	texts_learn((const struct patch_text *)(code + w->codes_at), w->n_codes);
	constants_learn(constants, w->n_lasting, constants + w->n_lasting, w->n_constants);
	sys2(__NR_munmap, code, w->code_size);
	return true;
}

/* Call first, before the kernel gives the regions' layouts to mappings of our own. */
bool mappings_map_regions(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	bool all = true;

	for (uint32_t i = 0; i < w->n_regions && i < MAX_REGIONS; i++) {
		struct patch_region r;
		int64_t at = (int64_t)(w->regions_at + i * sizeof(r));

		if (sys4(__NR_pread64, fds[TALK_CODE], &r, sizeof(r), at) != sizeof(r))
			return false;
		mapped[i] = map_region(&r, fds[TALK_CODE]);
		all &= mapped[i];
	}
	return answer_mapped(w, fds) && learn_texts(w, fds) && all;
}

/* Only `region` is used as an index. apply_patch() compares before it writes. */
static uint32_t apply_all(const struct patch *patches, const struct protocol_setup *w,
			  uint8_t *answers)
{
	uint32_t applied = 0;

	for (uint32_t i = 0; i < w->n_patches; i++) {
		const struct patch *p = &patches[i];

		if (p->region >= w->n_regions || p->region >= MAX_REGIONS || !mapped[p->region])
			continue;
		answers[w->n_regions + i] = (uint8_t)apply_patch(p);
		applied += answers[w->n_regions + i] == PATCH_APPLIED;
	}
	return applied;
}

/* The texts are writable and not executable meanwhile, so nothing but the agent may run. If one of
 * them may not be changed (a security module), none is. */
uint32_t mappings_write_patches(const uint8_t *code, const struct protocol_setup *w,
				const int fds[TALK_FDS])
{
	const struct patch *patches = (const struct patch *)(code + w->patches_at);
	const struct patch_text *texts = (const struct patch_text *)(code + w->texts_at);
	uint8_t *answers = map_writable(fds[TALK_ANSWERS], w->answers_size);
	uint32_t applied;

	if (!answers)
		return 0;
	for (uint32_t i = 0; i < w->n_texts; i++)
		if (sys3(__NR_mprotect, texts[i].address, texts[i].bytes, PROT_READ | PROT_WRITE) <
		    0) {
			protect_all(texts, i, PROT_READ | PROT_EXEC);
			sys2(__NR_munmap, answers, w->answers_size);
			return 0;
		}
	POINT(texts_writable);
	applied = apply_all(patches, w, answers);
	POINT(texts_patched);
	protect_all(texts, w->n_texts, PROT_READ | PROT_EXEC);
	sys2(__NR_munmap, answers, w->answers_size);
	return applied;
}

/* Maps the session memory and the image's, with the sizes of the setup reply. */
static bool map_memories(const struct protocol_setup *w, const int fds[TALK_FDS], uint8_t **m,
			 void **image)
{
	/* threads_max is the only size that is used for memory of the agent's own (agent_own). */
	*m = w->layout.threads_max > MEMORY_THREADS_MAX
		     ? NULL
		     : map_writable(fds[TALK_SESSION], w->layout.size);
	*image = *m ? map_writable(fds[TALK_IMAGE], w->image_size) : NULL;
	if (*m && !*image)
		sys2(__NR_munmap, *m, w->layout.size);
	return *image;
}

uint32_t agent_stamps_in_c;

void mappings_adopt_settings(const struct memory_settings *s)
{
	agent.settings = *s;
	agent_stamps_in_c = s->causal || agent_no_tls;
}

/* Makes the memories those of the process. */
static void take_memories(const struct protocol_setup *w, uint8_t *m, void *image)
{
	const struct memory_layout *l = &w->layout;

	agent.image = image;
	agent.layout = *l;
	mappings_adopt_settings(&w->settings);
	agent.threads = (struct memory_thread *)(m + l->threads_at);
	agent.descs = (struct memory_desc *)(m + l->descs_at);
	agent.buffers = m + l->buffers_at;
	agent.ends = (uint64_t *)(m + l->ends_at);
	agent.image_id = w->image;
	agent.memory_size = l->size;
	/* The pointer last: it is what says that the process is traced. */
	agent.memory = (struct memory_header *)m;
}

bool mappings_replace_memories(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	uint8_t *m;
	void *image;

	if (!map_memories(w, fds, &m, &image))
		return false;
	take_memories(w, m, image);
	return true;
}

bool mappings_map_memories(const struct protocol_setup *w, const int fds[TALK_FDS])
{
	uint8_t *m;
	void *image;

	if (!map_memories(w, fds, &m, &image))
		return false;
	agent.pid = (uint32_t)sys0(__NR_getpid);
	site_begin();
	POINT(memories_mapped);
	take_memories(w, m, image);
	user_begin();
	if (!arm_fork_guard(agent_fork_guard))
		return false;
	open_own();
	return true;
}
