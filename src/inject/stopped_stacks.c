/* SPDX-License-Identifier: MIT */
/* Called by attach.c, detach.c and change.c, in a holder, with every thread stopped. Stacks are
 * read as words, without unwind tables: a word that only looks like an address may be taken for
 * one, so each rewrite has a test of its own. Memory that cannot be read is left out. */
#include "inject/stopped_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "arch/page.h"
#include "arch/sigframe.h"
#include "base/mem.h"
#include "shared/memory.h"


/* Looks at a page's words, from `first` on. True: it changed them, and they are written back. */
typedef bool see_words(void *context, uint64_t *words, size_t first, size_t n);

/* The mapping that contains the address, or NULL. */
static const struct map *map_at(const struct maps *maps, uint64_t address)
{
	size_t i = vec_bisect(&maps->at, m, m->end <= address);

	return i < maps->at.n && maps->at.at[i].start <= address ? &maps->at.at[i] : NULL;
}

/* Shows [from, to) page by page, up to a page that cannot be read. */
static void walk(struct tracee *t, uint64_t from, uint64_t to, see_words *see, void *context)
{
	uint64_t words[ARCH_PAGE / 8];
	struct err err;

	for (uint64_t page = from & ~(ARCH_PAGE - 1); page < to; page += ARCH_PAGE) {
		size_t first = page < from ? (size_t)(from - page) / 8 : 0;
		size_t n = to - page < ARCH_PAGE ? (size_t)(to - page) / 8 : ARCH_PAGE / 8;

		if (tracee_read(t, page, words, n * 8, &err) < 0)
			return;
		if (see(context, words, first, n))
			tracee_write(t, page, words, n * 8, &err);
	}
}

#define BORROWED_MOST (UINT64_C(1) << 20)

/* A thread's control block stands at the top of its own stack. Any other stack (a coroutine's, a
 * goroutine's) is part of some heap, and nobody tells where it ends: BORROWED_MOST bounds the
 * search. */
static uint64_t stack_end(const struct map *m, uint64_t sp, uint64_t block)
{
	if (block > sp && block < m->end)
		return block;
	return strcmp(m->path, "[stack]") == 0 || m->end - sp < BORROWED_MOST ? m->end
									      : sp + BORROWED_MOST;
}

/* Walks the stack that thread i is on, and its own stack too if it is on another (an alternate
 * one). The first word is `below` bytes below the stack pointer. */
static void walk_stack(struct tracee *t, size_t i, const struct maps *maps, uint64_t below,
		       see_words *see, void *context)
{
	const struct user_regs_struct *r = tracee_regs(t, i);
	bool main = tracee_tid(t, i) == tracee_pid(t);
	uint64_t sp = (regs_sp(r) - below) & ~UINT64_C(7), block = regs_thread_pointer(r);
	const struct map *on = map_at(maps, sp), *own = map_at(maps, block);

	if (!on)
		return;
	walk(t, sp, stack_end(on, sp, block), see, context);
	if (!main && own && own != on && own->write)
		walk(t, own->start, block & ~UINT64_C(7), see, context);
	for (size_t k = 0; main && strcmp(on->path, "[stack]") != 0 && k < maps->at.n; k++)
		if (strcmp(maps->at.at[k].path, "[stack]") == 0)
			walk(t, maps->at.at[k].start, maps->at.at[k].end, see, context);
}

/* --- stubs ---------------------------------------------------------------------------------- */

struct unstub {
	struct tracee *t;
	const struct maps *maps;
	const struct stopped_arena *arena;
	bool exceptions;                 /* there is an unwinder, so exceptions may be under way */
	uint64_t maybe[ARCH_PAGE / 8];        /* addresses that may be an exception's */
	size_t n;
};

/* The word of the site table that a stub stands for: the rule by which entry.S of the agent is
 * unwound. */
static uint64_t real_return(struct tracee *t, uint64_t stub)
{
	uint64_t at = (stub & ~(uint64_t)(SITE_BLOCK_BYTES - 1)) +
		      (stub & (SITE_BLOCK_BYTES - 1)) / SITE_STUB_BYTES * 8;
	uint64_t real;
	struct err err;

	return tracee_read(t, at, &real, sizeof(real), &err) < 0 ? 0 : real;
}

/* GCC's struct _Unwind_Exception. Its search phase leaves the CFA below the handler's frame in
 * private_2, by which the second phase recognizes the frame. The CFA of a stub is odd: one above
 * its value without the stub. */
struct exception { uint64_t class, cleanup, private_1, private_2; };

/* "GNUCC++\0", with 1 at the end in a rethrown one */
#define CLASS_CXX UINT64_C(0x474e5543432b2b00)
#define CLASS_RUST UINT64_C(0x4d4f5a0052555354) /* "MOZ\0RUST" */

static bool is_class(uint64_t word)
{
	return (word & ~UINT64_C(1)) == CLASS_CXX || word == CLASS_RUST;
}

/* Notes an address that may be an exception's. */
static void note_exception(struct unstub *u, uint64_t address)
{
	/* Exceptions are aligned to 16 and lie in writable memory. */
	const struct map *m = address % 16 || !u->exceptions ? NULL : map_at(u->maps, address);

	if (m && m->write && u->n < ARCH_PAGE / 8)
		u->maybe[u->n++] = address;
}

/* Moves the mark back by one, if it is a stub's. */
static void correct_exception(const struct unstub *u, uint64_t address)
{
	struct exception e;
	struct err err;

	if (tracee_read(u->t, address, &e, sizeof(e), &err) < 0 || !(e.private_2 & 1) ||
	    !map_at(u->maps, e.private_2))
		return;
	e.private_2--;
	tracee_write(u->t, address, &e, sizeof(e), &err);
}

/* Most candidates are something else: one call reads the class of all of them. */
static void correct_exceptions(struct unstub *u)
{
	uint64_t classes[ARCH_PAGE / 8];

	tracee_read_words(u->t, u->maybe, u->n, classes);
	for (size_t i = 0; i < u->n; i++)
		if (is_class(classes[i]))
			correct_exception(u, u->maybe[i]);
	u->n = 0;
}

static void correct_in_registers(struct unstub *u, size_t i)
{
	uint64_t pointers[REGS_POINTERS];

	regs_pointers(tracee_regs(u->t, i), pointers);
	for (size_t k = 0; k < REGS_POINTERS; k++)
		note_exception(u, pointers[k]);
	correct_exceptions(u);
}

/* see_words: replaces return addresses that lead to stubs. */
static bool take_stubs_out(void *context, uint64_t *words, size_t first, size_t n)
{
	struct unstub *u = context;
	bool changed = false;

	for (size_t i = first; i < n; i++) {
		uint64_t real;

		/* One comparison for both bounds. */
		if (words[i] - u->arena->begin >= u->arena->end - u->arena->begin) {
			note_exception(u, words[i]);
			continue;
		}
		real = words[i] % SITE_STUB_BYTES == u->arena->stub_return
			       ? real_return(u->t, words[i])
			       : 0;
		if (real)
			words[i] = real;
		changed |= real != 0;
	}
	correct_exceptions(u);
	return changed;
}

void stopped_unstub(struct tracee *t, size_t i, const struct maps *maps,
		    const struct stopped_arena *arena, bool exceptions)
{
	struct unstub u = { .t = t, .maps = maps, .arena = arena, .exceptions = exceptions };

	correct_in_registers(&u, i);
	walk_stack(t, i, maps, REGS_RED_ZONE, take_stubs_out, &u);
}

/* --- signal frames -------------------------------------------------------------------------- */

struct stopped_frames {
	void (*f)(void *context, uint64_t pc);
	void *context;
	uint64_t before[SIGFRAME_MARK_AFTER];
};

/* The pattern may lie across two pages: the last words of the page before are kept. */
static bool see_frames(void *context, uint64_t *words, size_t first, size_t n)
{
	struct stopped_frames *f = context;

	for (size_t i = first; i < n; i++) {
		if (sigframe_is_mark(words[i]) && f->before[0])
			f->f(f->context, f->before[0]);
		f->before[0] = f->before[1];
		f->before[1] = words[i];
	}
	return false;
}

void stopped_interrupted(struct tracee *t, size_t i, const struct maps *maps,
			 void (*f)(void *context, uint64_t pc), void *context)
{
	struct stopped_frames frames = { .f = f, .context = context };

	/* A frame that is in use lies above its handler's stack pointer. In a red zone there are
	 * only remnants, for as long as the function runs that uses no red zone. */
	walk_stack(t, i, maps, 0, see_frames, &frames);
}

/* --- ranges --------------------------------------------------------------------------------- */

struct stack_search { const struct stopped_range *ranges; size_t n; bool found; };

static bool in_ranges(const struct stopped_range *ranges, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (address >= ranges[i].from && address < ranges[i].to)
			return true;
	return false;
}

static void search_ranges(void *context, uint64_t pc)
{
	struct stack_search *s = context;

	s->found |= in_ranges(s->ranges, s->n, pc);
}

bool stopped_is_inside(struct tracee *t, const struct maps *maps,
		       const struct stopped_range *ranges, size_t n)
{
	struct stack_search s = { ranges, n, false };

	for (size_t i = 0; i < tracee_threads(t) && !s.found; i++) {
		search_ranges(&s, regs_pc(tracee_regs(t, i)));
		stopped_interrupted(t, i, maps, search_ranges, &s);
	}
	return s.found;
}

#define RUN_NS 20000

/* Marks the threads that stay; returns their number. */
static size_t mark_those(struct tracee *t, bool (*stays)(const void *context, uint64_t pc),
			 const void *context, bool *marks)
{
	size_t n = 0;

	for (size_t i = 0; i < tracee_threads(t); i++) {
		marks[i] = stays(context, regs_pc(tracee_regs(t, i)));
		n += marks[i];
	}
	return n;
}

bool stopped_run_on(struct tracee *t, bool (*stays)(const void *context, uint64_t pc),
		    const void *context, unsigned rounds)
{
	bool *marks = mem_zalloc(tracee_threads(t) + 1);
	size_t n = mark_those(t, stays, context, marks);

	for (; n && rounds; rounds--) {
		tracee_let_run(t, marks, RUN_NS);
		n = mark_those(t, stays, context, marks);
	}
	free(marks);
	return n == 0;
}

static bool is_in(const void *context, uint64_t pc)
{
	const struct stack_search *s = context;

	return in_ranges(s->ranges, s->n, pc);
}

bool stopped_run_out(struct tracee *t, const struct stopped_range *ranges, size_t n,
		     unsigned rounds)
{
	const struct stack_search s = { ranges, n, false };

	return stopped_run_on(t, is_in, &s, rounds);
}

/* --- unwinders ------------------------------------------------------------------------------- */

/* bytes of the stack: the unwinder's contexts, and frames of a personality routine's callees */
#define UNWINDER_FRAMES 8192

/* Whether the mapping's file has a name that begins with one of these. */
static bool file_name_begins(const struct map *m, const char *const *names)
{
	const char *slash = strrchr(m->path, '/');

	for (; slash && *names; names++)
		if (strncmp(slash + 1, *names, strlen(*names)) == 0)
			return true;
	return false;
}

/* see_words: searches for an address in the ranges. */
static bool look_for(void *context, uint64_t *words, size_t first, size_t n)
{
	struct stack_search *s = context;

	for (size_t i = first; i < n && !s->found; i++)
		s->found = in_ranges(s->ranges, s->n, words[i]);
	return false;
}

/* Either the unwinder itself runs, or a function that it calls, and a return address into it is
 * near. */
bool stopped_is_unwinding(struct tracee *t, size_t i, const struct maps *maps,
			  const struct stopped_unwinder *u, bool patient)
{
	static const char *const helpers[] = { "libc.so", "ld-linux", "libstdc++.so", "libc++abi",
					       NULL };
	const struct user_regs_struct *r = tracee_regs(t, i);
	const struct map *at = map_at(maps, regs_pc(r));
	struct stack_search s = { u->ranges, u->n, in_ranges(u->ranges, u->n, regs_pc(r)) };

	if (s.found || !at || !(u->in_program || file_name_begins(at, helpers)))
		return s.found;
	if (!(patient && regs_call(r) >= 0))
		walk(t, regs_sp(r) & ~UINT64_C(7), regs_sp(r) + UNWINDER_FRAMES, look_for, &s);
	return s.found;
}
