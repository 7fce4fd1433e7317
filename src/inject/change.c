/* SPDX-License-Identifier: MIT */
/* Called by session/control_change.c, in a holder, by whoever is alone (session/turns.h). All
 * targets are stopped at once between stop_all() and release_all(). Every step can be undone:
 * enter_all() goes back with every target if one fails. */
#include "inject/change.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/handlers.h"
#include "inject/standing_patches.h"
#include "inject/stopped_patches.h"

#define QUIESCENT_TRIES 200
#define QUIESCENT_PAUSE_NS 2000000
/* tries in which threads have time to leave by themselves: leading them out costs the program
 * time */
#define QUIESCENT_PATIENCE 12
/* old trampolines that could not be unmapped yet: more of them have to go */
#define REGIONS_MANY 256

/* --- before ----------------------------------------------------------------------------------- */

/* False, too, if the agent does not record at present, or if the process's filter forbids changes:
 * it keeps the patches that it has. */
static bool find_agent(const struct change *c, struct tracee *stopped, const struct maps *maps,
		       struct agent_layout *out)
{
	memset(out, 0, sizeof(*out));
	return agent_layout_find(stopped, c->file, maps, c->agent_path, out) && out->state.memory &&
	       !(out->state.forbidden & FORBIDS_CHANGE);
}

int change_look(const struct change *c, struct change_target *t, uint32_t *image, struct err *err)
{
	struct tracee *stopped;
	struct maps maps;
	int r = tracee_stop(t->pid, &stopped, err);

	if (r == -ESRCH) {
		t->gone = true;
		return 0;
	}
	if (r < 0)
		return r;
	r = maps_read(t->pid, &maps, err);
	t->gone = r < 0 || !find_agent(c, stopped, &maps, &t->agent);
	if (!t->gone && c->signals)
		handlers_read(stopped, &t->handlers);
	t->agent.layout = (struct thread_layout){ t->agent.state.tls, t->agent.state.key,
						  t->agent.state.flags };
	*image = t->agent.state.image;
	maps_free(&maps);
	agent_layout_release(stopped, c->rep);
	return 0;
}

int change_plan(struct change_target *t, struct err *err)
{
	int r;

	agent_layout_hello(&t->agent, &t->hello);
	t->req.pid = t->pid;
	t->req.hello = &t->hello;
	t->req.again = true;
	r = image_prepare(&t->req, &t->im, err);
	if (r == 0)
		stopped_patches_touch(t->pid, t->im.patches, t->im.setup.n_patches);
	t->ready = r == 0;
	return r;
}

/* --- all of them stopped ---------------------------------------------------------------------- */

static bool is_target(const struct change *c, pid_t pid)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->targets[i].pid == pid)
			return true;
	return false;
}

/* Whether the thread has forked since the targets were listed. */
static bool has_other_children(const struct change *c, pid_t pid, pid_t tid)
{
	char name[64];
	bool other = false;
	/* The file `children` needs CONFIG_PROC_CHILDREN; without it no fork is noticed. */
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

/* Whether the target still has the agent and the free addresses of the plan. */
static bool is_as_planned(const struct change *c, const struct change_target *t)
{
	struct agent_layout now;

	/* Another base or image: it executed a program. Other regions: it loaded a library. */
	return find_agent(c, t->t, &t->maps, &now) && now.base == t->agent.base &&
	       now.state.image == t->agent.state.image &&
	       now.state.n_regions == t->agent.state.n_regions &&
	       image_addresses_free(&t->im, &t->maps);
}

/* Whether no thread is in a trampoline, a stub (on the way to one) or the agent. Lets them run out,
 * `rounds` times. */
static bool is_quiescent(const struct change *c, const struct change_target *t, unsigned rounds)
{
	const struct stopped_arena arena = agent_layout_arena(&t->agent);
	VEC(struct stopped_range) code = { 0 };
	bool quiescent;

	for (size_t i = 0; i < t->maps.at.n; i++) {
		const struct map *m = &t->maps.at.at[i];

		if (maps_is_trampolines(m))
			*vec_add(&code) = (struct stopped_range){ m->start, m->end };
	}
	*vec_add(&code) =
		(struct stopped_range){ t->agent.base,
					t->agent.base + c->file->segments[0].memory_bytes };
	*vec_add(&code) = (struct stopped_range){ arena.begin, arena.end };
	quiescent = stopped_run_out(t->t, code.at, code.n, rounds) &&
		!stopped_is_inside(t->t, &t->maps, code.at, code.n);
	vec_free(&code);
	return quiescent;
}

/* Reads which patches stand in the target. Once: the present ones may be taken out later, to let
 * threads leave (stop_quiescent), and are put back by this list. */
static void look_at_patches(const struct change *c, struct change_target *t)
{
	if (!t->looked)
		standing_patches_find(t->t, &t->maps, patch_sites_of(c->sites, t->sites),
				      t->told, &t->old);
	t->looked = true;
}

/* Holds one target, and checks that its plan still fits. *quiescent becomes false if a thread is in
 * our code. */
static int stop_target(const struct change *c, struct change_target *t, unsigned rounds,
		       bool *quiescent, struct err *err)
{
	int r = tracee_stop(t->pid, &t->t, err);

	/* Ended meanwhile: the next try plans without it. */
	if (r == -ESRCH)
		return -EAGAIN;
	if (r < 0)
		return r;
	r = maps_read(t->pid, &t->maps, err);
	if (r < 0 || !is_as_planned(c, t) || (!c->alone && has_forked(c, t)))
		return -EAGAIN;
	look_at_patches(c, t);
	*quiescent = *quiescent && is_quiescent(c, t, rounds);
	/* A thread that ran out may have installed a filter. */
	return is_as_planned(c, t) ? 0 : -EAGAIN;
}

/* Has the agent unmap regions of trampolines, and use these settings from now on. */
static int forget_regions(struct change_target *t, uint64_t first, uint64_t n,
			  const struct memory_settings *settings)
{
	const struct attach_params params = { .first = (uint32_t)first,
					      .n = (uint32_t)n,
					      .settings = *settings };
	struct err ignored;
	int r = agent_layout_set_params(t->t, &t->agent, &params, &ignored);

	return r == 0 ? agent_layout_call(t->t, &t->agent, t->agent.descriptor.forget, &ignored)
		      : r;
}

/* Has the agent map the new trampolines, beside the old ones. */
static int map_trampolines(const struct change *c, struct change_target *t, struct err *err)
{
	const struct attach_params params = { .renew = c->renew };
	int r = agent_layout_setup(t->t, &t->agent, t->agent.descriptor.change, &params,
				   &t->im.setup,
				   (int[]){ t->im.code_fd, t->im.code_fd, t->im.code_fd,
					    t->im.answers_fd },
				   err);

	t->entered = r == 0;
	return r == 0 ? image_check_mapped(&t->im, err) : r;
}

/* Works like stopped_patches_undo, without the count. */
static int undo_patches(struct change_target *t, struct patch *patches, size_t n,
			enum stopped_which which, struct err *err)
{
	int r = stopped_patches_undo(t->t, patches, n, which, err);

	return r < 0 ? r : 0;
}

static const struct patch *look_up_at(const struct patch *patches, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (patches[i].function == PATCH_LOOK_UP && patches[i].address == address)
			return &patches[i];
	return NULL;
}

/* Stubs are on the stacks, so a look-up has to lead to the agent at every moment, even should brace
 * die here. So the new jump replaces the old one directly. `over`: the patch expects the old jump;
 * else the function's own bytes. */
static void expect_old(struct change_target *t, bool over)
{
	for (uint32_t i = 0; i < t->im.setup.n_patches; i++) {
		struct patch *p = &t->im.patches[i];
		const struct patch *old = p->function == PATCH_LOOK_UP
						  ? look_up_at(t->old.at, t->old.n, p->address)
						  : NULL;

		if (old)
			memcpy(p->expected, over ? old->bytes : old->expected, p->length);
	}
}

/* Takes out old look-ups that no new one replaced: the new tracer puts no stubs on stacks. */
static int drop_look_ups(struct change_target *t, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < t->old.n && r == 0; i++)
		if (t->old.at[i].function == PATCH_LOOK_UP &&
		    !look_up_at(t->im.patches, t->im.setup.n_patches, t->old.at[i].address))
			r = undo_patches(t, &t->old.at[i], 1, STOPPED_LOOK_UPS, err);
	return r;
}

/* Puts the new patches into one target. After a failure go_back() restores it. */
static int enter_target(const struct change *c, struct change_target *t, struct err *err)
{
	int r = map_trampolines(c, t, err);

	if (r == 0)
		/* The old trampolines are still mapped: a failure can go back to them. */
		r = undo_patches(t, t->old.at, t->old.n, STOPPED_FUNCTIONS, err);
	expect_old(t, true);
	if (r == 0)
		r = stopped_patches_apply(t->t, &t->maps, t->im.patches, t->im.setup.n_patches,
					  err);
	if (r == 0)
		r = image_check_look_ups(&t->im, err);
	return r == 0 ? drop_look_ups(t, err) : r;
}

/* On a copy: the old patches keep their status, except semaphores, whose bytes do not tell it. */
static void apply_old(struct change_target *t)
{
	struct patch *old = mem_zalloc((t->old.n + 1) * sizeof(*old));
	struct err ignored;

	if (t->old.n)
		memcpy(old, t->old.at, t->old.n * sizeof(*old));
	stopped_patches_apply(t->t, &t->maps, old, t->old.n, &ignored);
	for (size_t i = 0; i < t->old.n; i++)
		if (old[i].function == PATCH_SEMAPHORE)
			t->old.at[i].status = old[i].status;
	free(old);
}

/* Restores the old patches, at whatever step entering failed. */
static void go_back(struct change_target *t)
{
	struct err ignored;

	undo_patches(t, t->im.patches, t->im.setup.n_patches, STOPPED_FUNCTIONS | STOPPED_LOOK_UPS,
		     &ignored);
	apply_old(t);
	forget_regions(t, t->agent.state.n_regions, t->im.setup.n_regions, &t->before);
	t->entered = false;
}

/* Whether nothing leads to the old trampolines any more: brace knows where patches may stand, took
 * those out that did, and nobody else mapped trampolines there meanwhile (a process that shares the
 * memory, clone(CLONE_VM), is a target of its own). */
static bool is_left(const struct change *c, const struct change_target *t)
{
	struct agent_layout now;

	return patch_sites_of(c->sites, t->sites)->n && find_agent(c, t->t, &t->maps, &now) &&
	       now.state.n_regions == t->agent.state.n_regions + t->im.setup.n_regions;
}

/* After success: frees everything of the old that no thread needs. */
static void finish_target(const struct change *c, struct change_target *t, bool quiescent)
{
	/* A thread that stood in an island was sent along the jump there (stopped_patches.c), so
	 * the bytes below new look-ups may be called the functions' own again. */
	expect_old(t, false);
	/* Some thread still uses old trampolines otherwise: they stay mapped. */
	if (quiescent && is_quiescent(c, t, 0) && is_left(c, t))
		forget_regions(t, 0, t->agent.state.n_regions, &t->im.setup.settings);
	thread_blocks_change(t->t, &t->agent.layout, c->renew);
}

/* Releases all targets that are stopped. */
static void release_all(const struct change *c)
{
	for (size_t i = c->n; i-- > 0;) {
		struct change_target *t = &c->targets[i];

		if (t->t)
			agent_layout_release(t->t, c->rep);
		t->t = NULL;
		maps_free(&t->maps);
	}
}

/* Stops all targets. After a failure some stay stopped, for release_all(). */
static int stop_all(const struct change *c, unsigned rounds, bool *quiescent, struct err *err)
{
	int r = 0;

	*quiescent = true;
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = stop_target(c, &c->targets[i], rounds, quiescent, err);
	return r;
}

/* Whether too many old trampolines stay mapped in some target. */
static bool is_crowded(const struct change *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->targets[i].agent.state.n_regions > REGIONS_MANY)
			return true;
	return false;
}

/* Leaves the unwinders' look-ups: stubs are on the stacks. */
static void undo_all(const struct change *c, struct err *err)
{
	for (size_t i = 0; i < c->n; i++)
		undo_patches(&c->targets[i], c->targets[i].old.at, c->targets[i].old.n,
			     STOPPED_FUNCTIONS, err);
}

/* Holds all targets at a moment when no thread is in code of ours. Threads come out of it by
 * themselves once functions are as they were; *undone: they are. */
static int stop_quiescent(const struct change *c, bool *undone, struct err *err)
{
	const struct timespec pause = { 0, QUIESCENT_PAUSE_NS };

	for (int i = 0; i < QUIESCENT_TRIES; i++) {
		bool quiescent;
		/* Rounds grow: waiting is free, letting threads run is not. */
		int r = stop_all(c, !i ? 0 : i < QUIESCENT_PATIENCE ? 4 : 40, &quiescent, err);

		if (r < 0 || quiescent)
			return r;
		if (!*undone)
			undo_all(c, err);
		*undone = true;
		release_all(c);
		nanosleep(&pause, NULL);
	}
	return err_set(err, EAGAIN, "a thread stays inside the agent");
}

/* Changes all stopped targets, or none. */
static int enter_all(const struct change *c, bool quiescent, struct err *err)
{
	int r = 0;

	/* Settings change first: none of the targets runs, and agents see them when they go on. */
	c->commit(c->context, true);
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = enter_target(c, &c->targets[i], err);
	if (r < 0)
		c->commit(c->context, false);
	for (size_t i = 0; i < c->n; i++)
		if (r == 0)
			finish_target(c, &c->targets[i], quiescent);
		else if (c->targets[i].entered)
			go_back(&c->targets[i]);
	return r;
}

/* Undoes undo_all() after a failure between two holds. */
static void put_old_back(const struct change *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct change_target *t = &c->targets[i];
		struct err ignored;

		if (tracee_stop(t->pid, &t->t, &ignored) == 0 &&
		    maps_read(t->pid, &t->maps, &ignored) == 0)
			apply_old(t);
	}
	release_all(c);
}

int change_all(const struct change *c, struct err *err)
{
	bool undone = false, quiescent = true;
	/* Another tracer cannot share stubs with the old one; else threads may stay in the old
	 * code. */
	int r = c->renew || (!c->alone && is_crowded(c)) ? stop_quiescent(c, &undone, err)
							 : stop_all(c, 0, &quiescent, err);

	if (r == 0)
		r = enter_all(c, quiescent, err);
	release_all(c);
	if (r < 0 && undone)
		put_old_back(c);
	for (size_t i = 0; i < c->n; i++)
		vec_free(&c->targets[i].old);
	return r;
}
