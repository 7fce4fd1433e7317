/* SPDX-License-Identifier: MIT */
#include "inject/change.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/handlers.h"
#include "inject/held_patches.h"

#define QUIET_TRIES 200
#define QUIET_PAUSE_NS 2000000
#define QUIET_PATIENCE 12 /* tries in which threads should leave by themselves: leading them costs the program time */
#define REGIONS_MANY 256 /* trampolines of before that could not be unmapped yet */

/* --- before --------------------------------------------------------------------------------- */

static bool find_agent(const struct change *c, struct tracee *held, const struct maps *maps, struct agent_place *out)
{
	memset(out, 0, sizeof(*out));
	return agent_place_find(held, c->file, maps, c->agent_path, out) && out->state.memory;
}

int change_look(const struct change *c, struct change_target *t, uint32_t *image, struct err *err)
{
	struct tracee *held;
	struct maps maps;
	int r = tracee_hold(t->pid, &held, err);

	if (r == -ESRCH) {
		t->gone = true;
		return 0;
	}
	if (r < 0)
		return r;
	r = maps_read(t->pid, &maps, err);
	t->gone = r < 0 || !find_agent(c, held, &maps, &t->place);
	if (!t->gone && c->signals)
		handlers_read(held, &t->handlers);
	t->place.layout = (struct thread_layout){ t->place.state.tls, t->place.state.key, t->place.state.flags };
	*image = t->place.state.image;
	maps_free(&maps);
	attach_release(held, c->rep);
	return 0;
}

int change_plan(struct change_target *t, struct err *err)
{
	int r;

	agent_place_hello(&t->place, &t->hello);
	t->req.pid = t->pid;
	t->req.hello = &t->hello;
	t->req.again = true;
	r = image_prepare(&t->req, &t->im, err);
	if (r == 0)
		held_patches_touch(t->pid, t->im.patches, t->im.welcome.n_patches);
	t->ready = r == 0;
	return r;
}

/* --- all of them held ----------------------------------------------------------------------- */

static bool is_target(const struct change *c, pid_t pid)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->targets[i].pid == pid)
			return true;
	return false;
}

/* Has a thread forked since the targets were listed? */
static bool has_other_children(const struct change *c, pid_t pid, pid_t tid)
{
	char name[64];
	bool other = false;
	FILE *f;
	int child;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	f = fopen(name, "re");
	while (f && !other && fscanf(f, "%d", &child) == 1)
		other = !is_target(c, child) && attach_maps_memory(c->memories, child);
	if (f)
		fclose(f);
	return other;
}

static bool has_forked(const struct change *c, const struct change_target *t)
{
	for (size_t i = 0; i < tracee_threads(t->t); i++)
		if (has_other_children(c, t->pid, tracee_tid(t->t, i)))
			return true;
	return false;
}

static bool is_as_planned(const struct change *c, const struct change_target *t)
{
	struct agent_place now;

	return find_agent(c, t->t, &t->maps, &now) && now.base == t->place.base &&
	       now.state.image == t->place.state.image && now.state.n_regions == t->place.state.n_regions &&
	       image_places_free(&t->im, &t->maps);
}

/* No thread is in a trampoline, a stub (on its way to one) or the agent. They are let out, `rounds` times. */
static bool is_quiet(const struct change *c, const struct change_target *t, unsigned rounds)
{
	const struct held_arena arena = agent_place_arena(&t->place);
	VEC(struct held_range) code = { 0 };
	bool quiet;

	for (size_t i = 0; i < t->maps.at.n; i++) {
		const struct map *m = &t->maps.at.at[i];

		if (m->exec && strncmp(m->path, "/memfd:brace-code", 17) == 0)
			*vec_add(&code) = (struct held_range){ m->start, m->end };
	}
	*vec_add(&code) = (struct held_range){ t->place.base, t->place.base + c->file->segments[0].memory_bytes };
	*vec_add(&code) = (struct held_range){ arena.begin, arena.end };
	quiet = held_run_out(t->t, code.at, code.n, rounds) &&
		!held_is_inside(t->t, &t->maps, code.at, code.n);
	vec_free(&code);
	return quiet;
}

static int hold(const struct change *c, struct change_target *t, unsigned rounds, bool *quiet, struct err *err)
{
	int r = tracee_hold(t->pid, &t->t, err);

	if (r == -ESRCH)
		return -EAGAIN;
	if (r < 0)
		return r;
	r = maps_read(t->pid, &t->maps, err);
	if (r < 0 || !is_as_planned(c, t) || (!c->alone && has_forked(c, t)))
		return -EAGAIN;
	*quiet = *quiet && is_quiet(c, t, rounds);
	return 0;
}

/* With the settings that hold from now on. */
static int forget_regions(struct change_target *t, uint64_t first, uint64_t n, const struct memory_settings *settings)
{
	const struct attach_params params = { .first = (uint32_t)first, .n = (uint32_t)n, .settings = *settings };
	struct err ignored;
	int r = agent_place_set_params(t->t, &t->place, &params, &ignored);

	return r == 0 ? agent_place_call(t->t, &t->place, t->place.contents.forget, &ignored) : r;
}

static int map_trampolines(const struct change *c, struct change_target *t, struct err *err)
{
	const struct attach_params params = { .renew = c->renew };
	int r = agent_place_welcome(t->t, &t->place, t->place.contents.change, &params, &t->im.welcome,
				    (int[]){ t->im.code_fd, t->im.code_fd, t->im.code_fd }, err);

	t->entered = r == 0;
	return r == 0 ? image_check_mapped(&t->im, err) : r;
}

static int undo(struct change_target *t, struct patch *patches, size_t n, enum held_which which, struct err *err)
{
	int r = held_patches_undo(t->t, patches, n, which, err);

	return r < 0 ? r : 0;
}

static const struct patch *look_up_at(const struct patch *patches, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (patches[i].function == PATCH_LOOK_UP && patches[i].address == address)
			return &patches[i];
	return NULL;
}

/* Stubs are on the stacks: a look-up leads to the agent at every moment, even should brace die here. So the new jump
 * takes the place of the old one. `over`: that is what the patch expects; else the function's own bytes. */
static void expect_old(struct change_target *t, bool over)
{
	for (uint32_t i = 0; i < t->im.welcome.n_patches; i++) {
		struct patch *p = &t->im.patches[i];
		const struct patch *old = p->function == PATCH_LOOK_UP ? look_up_at(t->old->at, t->old->n, p->address) : NULL;

		if (old)
			memcpy(p->expected, over ? old->bytes : old->expected, p->length);
	}
}

/* The old look-ups that no new one took the place of: the new tracer puts no stubs on stacks. */
static int drop_look_ups(struct change_target *t, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < t->old->n && r == 0; i++)
		if (t->old->at[i].function == PATCH_LOOK_UP &&
		    !look_up_at(t->im.patches, t->im.welcome.n_patches, t->old->at[i].address))
			r = undo(t, &t->old->at[i], 1, HELD_LOOK_UPS, err);
	return r;
}

static int enter(const struct change *c, struct change_target *t, struct err *err)
{
	int r = map_trampolines(c, t, err);

	if (r == 0)
		r = undo(t, t->old->at, t->old->n, HELD_FUNCTIONS, err);
	expect_old(t, true);
	if (r == 0)
		r = held_patches_apply(t->t, &t->maps, t->im.patches, t->im.welcome.n_patches, err);
	if (r == 0)
		r = image_check_look_ups(&t->im, err);
	return r == 0 ? drop_look_ups(t, err) : r;
}

static void apply_old(struct change_target *t)
{
	struct patch *old = mem_zalloc((t->old->n + 1) * sizeof(*old));
	struct err ignored;

	if (t->old->n)
		memcpy(old, t->old->at, t->old->n * sizeof(*old));
	held_patches_apply(t->t, &t->maps, old, t->old->n, &ignored);
	for (size_t i = 0; i < t->old->n; i++)
		if (old[i].function == PATCH_SEMAPHORE)
			t->old->at[i].status = old[i].status;
	free(old);
}

/* The old patches stand again, in whatever state entering was left. */
static void go_back(struct change_target *t)
{
	struct err ignored;

	undo(t, t->im.patches, t->im.welcome.n_patches, HELD_FUNCTIONS | HELD_LOOK_UPS, &ignored);
	apply_old(t);
	forget_regions(t, t->place.state.n_regions, t->im.welcome.n_regions, &t->before);
	t->entered = false;
}

static void settle(const struct change *c, struct change_target *t, bool quiet)
{
	/* A thread that stood in an island was sent along the jump there. */
	expect_old(t, false);
	if (quiet && is_quiet(c, t, 0))
		forget_regions(t, 0, t->place.state.n_regions, &t->im.welcome.settings);
	thread_blocks_change(t->t, &t->place.layout, c->renew);
}

static void release(const struct change *c)
{
	for (size_t i = c->n; i-- > 0;) {
		struct change_target *t = &c->targets[i];

		if (t->t)
			attach_release(t->t, c->rep);
		t->t = NULL;
		maps_free(&t->maps);
	}
}

static int hold_all(const struct change *c, unsigned rounds, bool *quiet, struct err *err)
{
	int r = 0;

	*quiet = true;
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = hold(c, &c->targets[i], rounds, quiet, err);
	return r;
}

static bool is_crowded(const struct change *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->targets[i].place.state.n_regions > REGIONS_MANY)
			return true;
	return false;
}

/* But for the unwinders' look-ups: stubs are on the stacks. */
static void undo_all(const struct change *c, struct err *err)
{
	for (size_t i = 0; i < c->n; i++)
		undo(&c->targets[i], c->targets[i].old->at, c->targets[i].old->n, HELD_FUNCTIONS, err);
}

/* Holds all while no thread is in code of ours. They come out of it by themselves when functions are as
 * they were; *undone: they are. */
static int hold_quiet(const struct change *c, bool *undone, struct err *err)
{
	const struct timespec pause = { 0, QUIET_PAUSE_NS };

	for (int i = 0; i < QUIET_TRIES; i++) {
		bool quiet;
		int r = hold_all(c, !i ? 0 : i < QUIET_PATIENCE ? 4 : 40, &quiet, err);

		if (r < 0 || quiet)
			return r;
		if (!*undone)
			undo_all(c, err);
		*undone = true;
		release(c);
		nanosleep(&pause, NULL);
	}
	return err_set(err, EAGAIN, "a thread stays inside the agent");
}

static int enter_all(const struct change *c, bool quiet, struct err *err)
{
	int r = 0;

	c->commit(c->context, true);
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = enter(c, &c->targets[i], err);
	if (r < 0)
		c->commit(c->context, false);
	for (size_t i = 0; i < c->n; i++)
		if (r == 0)
			settle(c, &c->targets[i], quiet);
		else if (c->targets[i].entered)
			go_back(&c->targets[i]);
	return r;
}

/* After a failure between holds. */
static void put_old_back(const struct change *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct change_target *t = &c->targets[i];
		struct err ignored;

		if (tracee_hold(t->pid, &t->t, &ignored) == 0 && maps_read(t->pid, &t->maps, &ignored) == 0)
			apply_old(t);
	}
	release(c);
}

int change_all(const struct change *c, struct err *err)
{
	bool undone = false, quiet = true;
	int r = c->renew || (!c->alone && is_crowded(c)) ? hold_quiet(c, &undone, err) : hold_all(c, 0, &quiet, err);

	if (r == 0)
		r = enter_all(c, quiet, err);
	release(c);
	if (r < 0 && undone)
		put_old_back(c);
	return r;
}
