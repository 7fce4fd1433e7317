/* SPDX-License-Identifier: MIT */
/* Called by attach.c, detach.c and change.c, in a holder, with every thread of the process stopped.
 * Writes through /proc/PID/mem, so the program's page protections do not matter. brace may be
 * killed at any point between two writes: the order (phase) keeps the program sound even then. Each
 * patch says whether it was written; memory that cannot be written is -errno, with the bytes as
 * before. */
#include "inject/stopped_patches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/code.h"
#include "arch/page.h"
#include "base/aside.h"
#include "base/mem.h"
#include "base/vec.h"


/* --- pages ---------------------------------------------------------------------------------- */

/* /proc/PID/mem writes through protections: the kernel copies a private page for it. */
static int open_memory(pid_t pid)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
	return open(name, O_RDWR | O_CLOEXEC);
}

struct touch {
	int fd;
	const struct patch *patches;
	size_t n;
};

/* In the aside. */
static void touch(void *work)
{
	const struct touch *t = work;
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < t->n; i++) {
		const struct patch *p = &t->patches[i];
		uint64_t page = p->address & ~(ARCH_PAGE - 1);
		uint8_t byte;

		/* data, which the program writes too: the byte could be lost */
		if (p->function == PATCH_SEMAPHORE || p->length == 8)
			continue;
		if (page == last || pread(t->fd, &byte, 1, (off_t)page) != 1 ||
		    pwrite(t->fd, &byte, 1, (off_t)page) != 1)
			continue;
		last = page;
	}
}

/* The process runs, and can put a page there that is never filled: so in an aside. Where it takes
 * too long the pages are brought in later, while the process stands. */
void stopped_patches_touch(pid_t pid, const struct patch *patches, size_t n)
{
	struct touch t = { open_memory(pid), patches, n };

	if (t.fd >= 0 && n)
		aside_run(touch, &t, sizeof(t), ASIDE_MS);
	if (t.fd >= 0)
		close(t.fd);
}

typedef VEC(struct patch *) patch_order;

/* The order in which patches are written. brace may die in between, and the program then runs on
 * with what stands there: so unwinders learn of stubs before functions make any, and an island
 * stands before the short jump that leads to it. They are taken out in the opposite order. */
static unsigned patch_phase(const struct patch *p)
{
	return (p->function == PATCH_LOOK_UP ? 0 : 2) + (p->length == CODE_SHORT_JUMP_BYTES);
}

#define PHASES 4

static int compare_patches(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_address(const void *a, const void *b)
{
	const struct patch *x = *(struct patch *const *)a, *y = *(struct patch *const *)b;

	return compare_patches(x->address, y->address);
}

/* Sorts by address. patches_make() mostly left them so. */
static void sort_patches(struct patch *patches, size_t n, patch_order *out)
{
	bool sorted = true;

	vec_reserve(out, n + 1);
	for (size_t i = 0; i < n; i++) {
		*vec_add(out) = &patches[i];
		sorted &= !i || patches[i - 1].address <= patches[i].address;
	}
	if (!sorted)
		qsort(out->at, out->n, sizeof(out->at[0]), by_address);
}

/* The number of patches from `first` on that begin in the same page; the last may reach into the
 * next. */
static size_t run_length(const patch_order *o, size_t first)
{
	uint64_t end = (o->at[first]->address & ~(ARCH_PAGE - 1)) + ARCH_PAGE;
	size_t i = first;

	while (i < o->n && o->at[i]->address < end)
		i++;
	return i - first;
}

/* Changes one patch's bytes in a copy of the page. */
typedef void edit_bytes(struct patch *p, uint8_t *at);

static void add_to_semaphore(uint8_t *at, int by)
{
	uint16_t count;
/* Never below zero: the program may have reset it. */

	memcpy(&count, at, sizeof(count));
	if (by > 0 || count)
		count = (uint16_t)(count + by);
	memcpy(at, &count, sizeof(count));
}

/* Puts a patch in, unless other bytes than expected stand there. */
static void put_in(struct patch *p, uint8_t *at)
{
	if (p->function == PATCH_SEMAPHORE) {
		if (p->status != PATCH_APPLIED)
			add_to_semaphore(at, 1);
		p->status = PATCH_APPLIED;
		return;
	}
	if (p->status == PATCH_BUSY || p->status == PATCH_REFUSED)
		return;
	p->status = memcmp(at, p->expected, p->length) == 0 ? PATCH_APPLIED : PATCH_CHANGED;
	if (p->status == PATCH_APPLIED)
		memcpy(at, p->bytes, p->length);
}

/* Takes a patch out, unless somebody changed its bytes meanwhile. */
static void remove_patch(struct patch *p, uint8_t *at)
{
	if (p->status != PATCH_APPLIED)
		return;
	if (p->function == PATCH_SEMAPHORE) {
		add_to_semaphore(at, -1);
		return;
	/* Somebody else's bytes stay. */
	}
	if (memcmp(at, p->bytes, p->length) == 0)
		memcpy(at, p->expected, p->length);
	else
		p->status = PATCH_CHANGED;
}

static int edit_run(struct tracee *t, const patch_order *o, size_t first, size_t n,
		    edit_bytes *edit, struct err *err);

/* Part of the run is not mapped: a module was closed since. Takes the rest out one by one. */
static int take_out_rest(struct tracee *t, const patch_order *o, size_t first, size_t n,
			 struct err *err)
{
	int r = 0;

	/* A single one that cannot be read is gone with its module. */
	if (n == 1)
		o->at[first]->status = PATCH_GONE;
	for (size_t i = first; i < first + n && n > 1 && r == 0; i++)
		r = edit_run(t, o, i, 1, remove_patch, err);
	return r;
}

/* Edits the patches of a run with one read and one write. */
static int edit_run(struct tracee *t, const patch_order *o, size_t first, size_t n,
		    edit_bytes *edit, struct err *err)
{
	uint8_t bytes[2 * ARCH_PAGE];
	uint64_t from = o->at[first]->address;
	size_t len = o->at[first + n - 1]->address + o->at[first + n - 1]->length - from;
	/* A patch that counts as gone and is there leads the program into code that is gone. */
	int r = edit == remove_patch ? tracee_read_twice(t, from, bytes, len, err)
				     : tracee_read(t, from, bytes, len, err);

	if (r < 0)
		return edit == remove_patch ? take_out_rest(t, o, first, n, err) : r;
	for (size_t i = first; i < first + n; i++)
		edit(o->at[i], bytes + (o->at[i]->address - from));
	return tracee_write(t, from, bytes, len, err);
}

/* Edits the patches of one phase, run by run. */
static int edit_phase(struct tracee *t, const patch_order *o, edit_bytes *edit, struct err *err)
{
	for (size_t i = 0, n; i < o->n; i += n) {
		int r;

		n = run_length(o, i);
		r = edit_run(t, o, i, n, edit, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The patches of one phase, in the order of their addresses. */
static void list_phase(const patch_order *o, unsigned which, patch_order *out)
{
	out->n = 0;
	for (size_t i = 0; i < o->n; i++)
		if (patch_phase(o->at[i]) == which)
			*vec_add(out) = o->at[i];
}

/* Edits phase by phase. Taking out goes backwards. */
static int edit_all(struct tracee *t, const patch_order *o, edit_bytes *edit, struct err *err)
{
	patch_order some = { 0 };
	int r = 0;

	for (unsigned i = 0; i < PHASES && r == 0; i++) {
		list_phase(o, edit == put_in ? i : PHASES - 1 - i, &some);
		r = edit_phase(t, &some, edit, err);
	}
	vec_free(&some);
	return r;
}

/* --- threads -------------------------------------------------------------------------------- */

/* The patch that has the address among its bytes, or NULL. */
static struct patch *patch_around(const patch_order *o, uint64_t address)
{
	size_t n = vec_bisect(o, p, (*p)->address < address);

	return n && address - o->at[n - 1]->address < o->at[n - 1]->length ? o->at[n - 1] : NULL;
}

/* The two patches of a short jump stand and fall together. */
static void refuse_patch(const patch_order *o, struct patch *p, enum patch_status why)
{
	p->status = why;
	for (size_t i = 0; i < o->n && !memory_patch_is_direct(p->function); i++)
		if (o->at[i]->function == p->function)
			o->at[i]->status = why;
}

/* The patch that the address lies within. At its first byte a thread may stand: it will meet the
 * jump. */
static struct patch *cut_by(const patch_order *o, uint64_t pc)
{
	struct patch *p = patch_around(o, pc);

	return p && p->address != pc ? p : NULL;
}

static void refuse_around(void *context, uint64_t pc)
{
	struct patch *p = cut_by(context, pc);

	if (p)
		refuse_patch(context, p, PATCH_BUSY);
}

/* The kernel writes a page whole or not at all, even if we are killed meanwhile. A jump across the
 * end of a page could be left in halves. (Unwinders must be hooked, and their jumps never
 * cross.) */
static void refuse_crossing(const patch_order *o)
{
	for (size_t i = 0; i < o->n; i++) {
		struct patch *p = o->at[i];

		if (p->address / ARCH_PAGE != (p->address + p->length - 1) / ARCH_PAGE &&
		    p->function != PATCH_LOOK_UP)
			refuse_patch(o, p, PATCH_REFUSED);
	}
}

#define ROUNDS_MAX 8

static bool is_cut(const void *context, uint64_t pc)
{
	return cut_by(context, pc) != NULL;
}

/* Lets threads leave the bytes to be changed. Refuses patches in which one stays. */
static void step_threads_out(struct tracee *t, const struct maps *maps, patch_order *o)
{
	/* Most threads leave a patch's few bytes by themselves in a moment. */
	stopped_run_on(t, is_cut, o, ROUNDS_MAX);
	for (size_t i = 0; i < tracee_threads(t); i++) {
		refuse_around(o, regs_pc(tracee_regs(t, i)));
		stopped_interrupted(t, i, maps, refuse_around, o);
	}
}

int stopped_patches_apply(struct tracee *t, const struct maps *maps, struct patch *patches,
			  size_t n, struct err *err)
{
	patch_order order = { 0 };
	struct err ignored;
	int r = 0;

	if (!n)
		return 0;
	sort_patches(patches, n, &order);
	step_threads_out(t, maps, &order);
	refuse_crossing(&order);
	r = edit_all(t, &order, put_in, err);
	if (r < 0)
		/* Takes out again what was written. */
		edit_all(t, &order, remove_patch, &ignored);
	vec_free(&order);
	return r;
}

/* Whether a short jump in the list leads to the patch. */
static bool is_island(const patch_order *o, const struct patch *p)
{
	uint64_t to;

	for (size_t i = 0; i < o->n; i++)
		if (o->at[i]->length == CODE_SHORT_JUMP_BYTES &&
		    code_is_short_jump(o->at[i]->bytes, o->at[i]->address, &to) && to == p->address)
			return true;
	return false;
}

/* A thread may stand at the first byte of an island, which will be padding again. It is sent along
 * the jump now, because the padding may not be code. */
static void leave_islands(struct tracee *t, const patch_order *o)
{
	for (size_t i = 0; i < tracee_threads(t); i++) {
		uint64_t pc = regs_pc(tracee_regs(t, i));
		const struct patch *p = patch_around(o, pc);
		uint64_t to;

		if (p && p->address == pc && p->length == CODE_JUMP_BYTES && is_island(o, p) &&
		    code_is_jump(p->bytes, pc, &to))
			tracee_set_pc(t, i, to);
	}
}

static bool is_among(const struct patch *p, enum stopped_which which)
{
	return which & (p->function == PATCH_LOOK_UP ? STOPPED_LOOK_UPS : STOPPED_FUNCTIONS) &&
	       p->status == PATCH_APPLIED;
}

/* A semaphore's bytes do not tell whether we raised it: the list does. */
static void note_semaphores(struct patch *patches, size_t n, enum stopped_which which)
{
	for (size_t i = 0; i < n; i++)
		if (patches[i].function == PATCH_SEMAPHORE && is_among(&patches[i], which))
			patches[i].status = PATCH_PENDING;
}

int stopped_patches_undo(struct tracee *t, struct patch *patches, size_t n,
			 enum stopped_which which, struct err *err)
{
	/* On a copy: the caller's list keeps its statuses for another attempt. */
	struct patch *copy = mem_zalloc((n + 1) * sizeof(*copy));
	patch_order order = { 0 };
	int changed = 0, r = 0;
	size_t some = 0;

	for (size_t i = 0; i < n; i++)
		if (is_among(&patches[i], which))
			copy[some++] = patches[i];
	sort_patches(copy, some, &order);
	if (some) {
		leave_islands(t, &order);
		r = edit_all(t, &order, remove_patch, err);
	}
	for (size_t i = 0; i < some; i++)
		changed += copy[i].status != PATCH_APPLIED && copy[i].status != PATCH_GONE;
	if (r >= 0)
		note_semaphores(patches, n, which);
	vec_free(&order);
	free(copy);
	return r < 0 ? r : changed;
}
