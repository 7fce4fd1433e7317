/* SPDX-License-Identifier: MIT */
/* The parts of a plan that change a module's bytes: static events, intercepted calls, functions,
 * and probes (markers, system calls and handlers share one part, because overlaps at one
 * instruction are decided over all of them). patches.c lists them in the order in which they write,
 * and sums what they need. One plan, on its thread. */
#pragma once
#include "arch/trampoline.h"
#include "image/direct_calls.h"
#include "shared/unwind_rule.h"

/* The writing of one module's region. The sources take room from `used` on and add to `list`. */
struct patch_job {
	const struct image_request *req;
	struct module *mod;
	const struct maps *maps;
	struct patch_list *list;
	size_t first;             /* index of the module's first patch in it */
	struct direct_calls direct;
	uint8_t *code;            /* the region's bytes, in the code memory */
	uint64_t at, room, used;  /* runtime address of the region, its size, bytes used */
	uint64_t fork_guard;      /* runtime address */
	uint16_t region;
	struct trampoline_env env; /* function_patches.c's own: what its trampolines share */
	/* For unwinders, by `at`: function_patches.c and probe_patches.c fill them; filters'
	 * code is noted by patch_note_filters(). */
	VEC(struct trampoline_layout) layouts;
	VEC(int32_t) islands;     /* short jumps' islands, from `at` */
	uint64_t code_end;        /* behind the last trampoline or probe, from `at` */
};

/* Notes for unwinders that filters' machine code stands among the data from offset `at` of the
 * region to `end`: a signal may come there. The source's `room` has to have counted a place for
 * it. */
static inline void patch_note_filters(struct patch_job *j, uint64_t at, uint64_t end)
{
	*vec_add(&j->layouts) = (struct trampoline_layout){
		.at = (uint32_t)at, .body = (uint32_t)end, .pushed = LAYOUT_FILTER,
	};
}

struct patch_source {
	/* Finds what the set wants in the module, which is open; its address may not be known yet.
	 * NULL: chosen elsewhere. */
	void (*choose)(struct module *mod, const struct event_set *set,
		       const handler_list *handlers);
	/* Upper limits: bytes in the module's region, and patches; 0 patches: nothing to write. */
	uint64_t (*room)(const struct module *mod, const struct image_request *req);
	uint32_t (*patches)(const struct module *mod);
	bool along;               /* writes only where another source writes too */
	/* Writes code and patches. What does not fit is refused, with its reason. */
	void (*write)(struct patch_job *j);
	/* Refuses everything: there is no room near the module. NULL: nobody asks. */
	void (*refuse)(struct module *mod);
	/* Adds the chosen events to the update, for readers. NULL: none. */
	void (*describe)(const struct module *mod, const struct event_set *set,
			 struct image_update *update);
};

#define PATCH_ALIGN UINT64_C(16)

/* Rounds up to where a trampoline or a probe may begin. */
static inline uint64_t patch_aligned(uint64_t n)
{
	return (n + PATCH_ALIGN - 1) & ~(PATCH_ALIGN - 1);
}
