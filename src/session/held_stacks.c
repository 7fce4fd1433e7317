#include "session/held_stacks.h"

#include <string.h>

#include "shared/memory.h"

#define PAGE UINT64_C(4096)
#define RED_ZONE 128
#define STEPS_MAX 400

/* Sees a page's words, of which those from `first` on count; true: they were changed, and are written back. */
typedef bool see_words(void *context, uint64_t *words, size_t first, size_t n);

static const struct map *map_at(const struct maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->at.n; i++)
		if (address >= maps->at.at[i].start && address < maps->at.at[i].end)
			return &maps->at.at[i];
	return NULL;
}

static void walk(struct tracee *t, uint64_t from, uint64_t to, see_words *see, void *context)
{
	uint64_t words[PAGE / 8];
	struct err err;

	for (uint64_t page = from & ~(PAGE - 1); page < to; page += PAGE) {
		size_t first = page < from ? (size_t)(from - page) / 8 : 0;
		size_t n = to - page < PAGE ? (size_t)(to - page) / 8 : PAGE / 8;

		if (tracee_read(t, page, words, n * 8, &err) < 0)
			return;
		if (see(context, words, first, n))
			tracee_write(t, page, words, n * 8, &err);
	}
}

/* A thread's control block stands at the top of its own stack. */
static uint64_t stack_end(const struct map *m, uint64_t sp, uint64_t fs)
{
	return fs > sp && fs < m->end ? fs : m->end;
}

/* The stack each thread is on, and if that is not its own (an alternate one), its own as well. */
static void walk_stacks(struct tracee *t, const struct maps *maps, see_words *see, void *context)
{
	for (size_t i = 0; i < tracee_threads(t); i++) {
		const struct user_regs_struct *r = tracee_regs(t, i);
		uint64_t sp = (r->rsp - RED_ZONE) & ~UINT64_C(7);
		const struct map *on = map_at(maps, sp), *own = map_at(maps, r->fs_base);

		if (on)
			walk(t, sp, stack_end(on, sp, r->fs_base), see, context);
		if (on && own && own != on && own->write && tracee_tid(t, i) != tracee_pid(t))
			walk(t, own->start, r->fs_base & ~UINT64_C(7), see, context);
		if (on && strcmp(on->path, "[stack]") != 0 && tracee_tid(t, i) == tracee_pid(t))
			for (size_t k = 0; k < maps->at.n; k++)
				if (strcmp(maps->at.at[k].path, "[stack]") == 0)
					walk(t, maps->at.at[k].start, maps->at.at[k].end, see, context);
	}
}

/* --- stubs ---------------------------------------------------------------------------------- */

struct unstub {
	struct tracee *t;
	const struct held_arena *arena;
	size_t rest;
};

/* The word of the site table that stands for a stub: the unwind rule of agent/entry.S. */
static uint64_t real_return(struct tracee *t, uint64_t stub)
{
	uint64_t at = (stub & ~(uint64_t)(SITE_BLOCK_BYTES - 1)) + (stub & (SITE_BLOCK_BYTES - 1)) / SITE_STUB_BYTES * 8;
	uint64_t real;
	struct err err;

	return tracee_read(t, at, &real, sizeof(real), &err) < 0 ? 0 : real;
}

static bool take_stubs_out(void *context, uint64_t *words, size_t first, size_t n)
{
	struct unstub *u = context;
	bool changed = false;

	for (size_t i = first; i < n; i++) {
		uint64_t real;

		if (words[i] - u->arena->begin >= u->arena->end - u->arena->begin)
			continue;
		real = words[i] % SITE_STUB_BYTES == u->arena->stub_return ? real_return(u->t, words[i]) : 0;
		if (real)
			words[i] = real;
		else
			u->rest++;
		changed |= real != 0;
	}
	return changed;
}

size_t held_unstub(struct tracee *t, const struct maps *maps, const struct held_arena *arena)
{
	struct unstub u = { t, arena, 0 };

	walk_stacks(t, maps, take_stubs_out, &u);
	return u.rest;
}

/* --- ranges --------------------------------------------------------------------------------- */

struct search { const struct held_range *ranges; size_t n; bool found; };

static bool in_ranges(const struct held_range *ranges, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (address >= ranges[i].from && address < ranges[i].to)
			return true;
	return false;
}

static bool look_for(void *context, uint64_t *words, size_t first, size_t n)
{
	struct search *s = context;

	for (size_t i = first; i < n && !s->found; i++)
		s->found = in_ranges(s->ranges, s->n, words[i]);
	return false;
}

bool held_stacks_lead(struct tracee *t, const struct maps *maps, const struct held_range *ranges, size_t n)
{
	struct search s = { ranges, n, false };

	walk_stacks(t, maps, look_for, &s);
	return s.found;
}

static bool registers_lead(const struct user_regs_struct *r, const struct held_range *ranges, size_t n)
{
	const uint64_t all[] = { r->rip, r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
				 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (in_ranges(ranges, n, all[i]))
			return true;
	return false;
}

bool held_is_inside(struct tracee *t, const struct held_range *ranges, size_t n)
{
	for (size_t i = 0; i < tracee_threads(t); i++)
		if (registers_lead(tracee_regs(t, i), ranges, n))
			return true;
	return false;
}

bool held_step_out(struct tracee *t, const struct held_range *ranges, size_t n)
{
	for (size_t i = 0; i < tracee_threads(t); i++) {
		struct err err;

		for (int step = 0; in_ranges(ranges, n, tracee_regs(t, i)->rip); step++)
			if (step == STEPS_MAX || tracee_step(t, i, &err) < 0)
				return false;
	}
	return true;
}
