/* SPDX-License-Identifier: MIT */
/* Where things stand in the process: see place.h. */
#include <linux/mman.h>
#include <asm/unistd.h>

#include "agent/place.h"
#include "agent/agent.h"
#include "agent/sys.h"
#include "agent/texts.h"
#include "agent/user.h"
#include "shared/points.h"

#define MAX_REGIONS 1024
#define GATE_BYTES 4096

struct agent agent;
uint32_t agent_gate[1024] __attribute__((aligned(4096)));
static struct region { uint32_t *gate; uint64_t bytes; /* of code, behind the gate */ } regions[MAX_REGIONS];
extern uint8_t *agent_arena_at;

void place_self(void)
{
	agent.arena = (uint8_t *)(((uint64_t)agent_arena + SITE_BLOCK_BYTES - 1) & ~(uint64_t)(SITE_BLOCK_BYTES - 1));
	agent_arena_at = agent.arena;
}

void *place_shared(int fd, uint64_t size)
{
	long at = sys6(__NR_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at < 0 && at > -4096 ? 0 : (void *)at;
}

/* A page that a fork zeroes in the child, holding the hash's multiplier. */
static bool arm_gate(uint32_t *gate)
{
	if (sys3(__NR_madvise, gate, GATE_BYTES, MADV_WIPEONFORK) < 0)
		return false;
	*gate = SITE_HASH_MULTIPLIER;
	return true;
}

static bool map_region(struct patch_region *r, int code_fd)
{
	long at;

	if (agent.n_regions >= MAX_REGIONS)
		return false;
	at = sys6(__NR_mmap, (long)r->gate, GATE_BYTES, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at != (long)r->gate)
		return false;
	at = sys6(__NR_mmap, (long)r->address, (long)r->bytes, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_FIXED_NOREPLACE, code_fd, (long)r->offset);
	if (at != (long)r->address || !arm_gate((uint32_t *)r->gate)) {
		sys2(__NR_munmap, r->gate, GATE_BYTES);
		return false;
	}
	POINT(region_mapped);
	regions[agent.n_regions++] = (struct region){ (uint32_t *)r->gate, r->bytes };
	return true;
}

static void open_own(void)
{
	agent_gate[GATE_VALUED] = 2 * sizeof(uint64_t);
	__atomic_store_n(&agent_gate[0], SITE_HASH_MULTIPLIER, __ATOMIC_RELEASE);
}

void place_rearm(void)
{
	for (uint64_t i = 0; i < agent.n_regions; i++)
		*regions[i].gate = SITE_HASH_MULTIPLIER;
	open_own();
}

void place_disarm_if_forked(uint64_t first)
{
	for (uint64_t i = first; !agent_gate[0] && i < agent.n_regions; i++)
		*regions[i].gate = 0;
}

void place_forget_regions(uint64_t first, uint64_t n)
{
	uint64_t end = first + n;

	for (uint64_t i = first; i < end; i++)
		sys2(__NR_munmap, regions[i].gate, GATE_BYTES + regions[i].bytes);
	for (uint64_t i = end; i < agent.n_regions; i++)
		regions[i - n] = regions[i];
	agent.n_regions -= n;
}

static bool same(const uint8_t *a, const uint8_t *b, unsigned n)
{
	while (n--)
		if (a[n] != b[n])
			return false;
	return true;
}

static bool apply(struct patch *p)
{
	uint8_t *at = (uint8_t *)p->address;

	if (p->function == PATCH_SEMAPHORE) {
		__atomic_fetch_add((uint16_t *)at, 1, __ATOMIC_SEQ_CST);
		p->status = PATCH_APPLIED;
		return true;
	}
	if (!same(at, p->expected, p->length)) {
		p->status = PATCH_CHANGED;
		return false;
	}
	for (unsigned i = 0; i < p->length; i++)
		at[i] = p->bytes[i];
	POINT(patch_written);
	p->status = PATCH_APPLIED;
	return true;
}

static void protect_all(const struct patch_text *texts, uint32_t n, int prot)
{
	for (uint32_t i = 0; i < n; i++)
		sys3(__NR_mprotect, texts[i].address, texts[i].bytes, prot);
}

/* Through a mapping: a write to the file could meet the process's limit for files. What the tracer knows of code is learnt. */
static bool tell_mapped(const struct protocol_welcome *w, int code_fd, const bool *mapped)
{
	uint8_t *code = place_shared(code_fd, w->code_size);
	struct patch_region *r = (struct patch_region *)(code + w->regions_at);

	for (uint32_t i = 0; code && i < w->n_regions && i < MAX_REGIONS; i++)
		r[i].mapped = mapped[i];
	if (code) {
		texts_learn((const struct patch_text *)(code + w->codes_at), w->n_codes);
		sys2(__NR_munmap, code, w->code_size);
	}
	return code != 0;
}

/* First of all, before the kernel gives their places to mappings of our own. */
bool place_regions(const struct protocol_welcome *w, int code_fd)
{
	static bool mapped[MAX_REGIONS];
	bool all = true;

	for (uint32_t i = 0; i < w->n_regions && i < MAX_REGIONS; i++) {
		struct patch_region r;
		int64_t at = (int64_t)(w->regions_at + i * sizeof(r));

		if (sys4(__NR_pread64, code_fd, &r, sizeof(r), at) != sizeof(r))
			return false;
		mapped[i] = map_region(&r, code_fd);
		all &= mapped[i];
	}
	return tell_mapped(w, code_fd, mapped) && all;
}

/* The texts are writable and not executable meanwhile: nothing but the agent runs. If one of
 * them may not be changed (a security module), none is. */
uint32_t place_patches(uint8_t *code, const struct protocol_welcome *w)
{
	struct patch_region *list = (struct patch_region *)(code + w->regions_at);
	struct patch *patches = (struct patch *)(code + w->patches_at);
	struct patch_text *texts = (struct patch_text *)(code + w->texts_at);
	uint32_t applied = 0;

	for (uint32_t i = 0; i < w->n_texts; i++)
		if (sys3(__NR_mprotect, texts[i].address, texts[i].bytes, PROT_READ | PROT_WRITE) < 0) {
			protect_all(texts, i, PROT_READ | PROT_EXEC);
			return 0;
		}
	POINT(texts_writable);
	for (uint32_t i = 0; i < w->n_patches; i++)
		if (patches[i].region < w->n_regions && list[patches[i].region].mapped)
			applied += apply(&patches[i]);
	POINT(texts_patched);
	protect_all(texts, w->n_texts, PROT_READ | PROT_EXEC);
	return applied;
}

/* The session memory and the image's, by the tracer's word. */
static bool map_memories(const struct protocol_welcome *w, const int fds[TALK_FDS], uint8_t **m, void **image)
{
	*m = w->layout.threads_max > MEMORY_THREADS_MAX ? NULL : place_shared(fds[0], w->layout.size);
	*image = *m ? place_shared(fds[1], w->image_size) : NULL;
	if (*m && !*image)
		sys2(__NR_munmap, *m, w->layout.size);
	return *image;
}

static void take_memories(const struct protocol_welcome *w, uint8_t *m, void *image)
{
	const struct memory_layout *l = &w->layout;

	agent.image = image;
	agent.layout = *l;
	agent.settings = w->settings;
	agent.threads = (struct memory_thread *)(m + l->threads_at);
	agent.descs = (struct memory_desc *)(m + l->descs_at);
	agent.buffers = m + l->buffers_at;
	agent.ends = (uint64_t *)(m + l->ends_at);
	agent.image_id = w->image;
	agent.memory_size = l->size;
	agent.memory = (struct memory_header *)m;
}

bool place_other_memories(const struct protocol_welcome *w, const int fds[TALK_FDS])
{
	uint8_t *m;
	void *image;

	if (!map_memories(w, fds, &m, &image))
		return false;
	take_memories(w, m, image);
	return true;
}

bool place_memories(const struct protocol_welcome *w, const int fds[TALK_FDS])
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
	if (!arm_gate(agent_gate))
		return false;
	open_own();
	return true;
}
