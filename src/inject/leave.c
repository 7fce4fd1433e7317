/* SPDX-License-Identifier: MIT */
#include "inject/attach.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "inject/agent_place.h"
#include "inject/held_patches.h"
#include "inject/held_stacks.h"
#include "inject/runs.h"
#include "inject/unwinder.h"
#include "tracee/holder.h"

#define LEAVE_MS 5000
#define LEAVE_WAIT_MS 25 /* between two, at most */

typedef VEC(struct held_range) range_list;

struct leaving {
	const struct agent_file *file;
	const char *agent_path;
	const struct patch_list *patches;
	unsigned tries;
	enum held_which undone;   /* what is as before */
	struct held_unwinder unwinder;
	VEC(pid_t) clean;         /* threads without stubs on their stacks */
	struct runs others;
	struct attach_report *rep;
};

static int undo(struct leaving *l, struct tracee *t, enum held_which which, struct err *err)
{
	int r;

	if (l->undone & which)
		return 0;
	r = held_patches_undo(t, l->patches->at, l->patches->n, which, err);
	if (r >= 0)
		l->undone |= which;
	l->rep->changed += r > 0 ? (uint32_t)r : 0;
	return r < 0 ? r : 0;
}

/* The agent's code and the trampolines. */
static void list_code(const struct maps *maps, const struct agent_file *f, const struct agent_place *place,
		      range_list *out)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (m->exec && strncmp(m->path, "/memfd:brace-code", 17) == 0)
			*vec_add(out) = (struct held_range){ m->start, m->end };
	}
	*vec_add(out) = (struct held_range){ place->base, place->base + f->segments[0].memory_bytes };
}

#define PATIENT_TRIES 40

static bool is_clean(const struct leaving *l, pid_t tid)
{
	for (size_t i = 0; i < l->clean.n; i++)
		if (l->clean.at[i] == tid)
			return true;
	return false;
}

#define UNWIND_NS 50000

/* Since the functions are as before no stack gets new stubs: a thread that was cleaned stays so. One that unwinds
 * is left for the next time, when it will have gone on. */
static bool clean_stacks(struct leaving *l, struct tracee *t, const struct maps *maps, const struct held_arena *arena)
{
	bool all = true, *unwinding = mem_zalloc(tracee_threads(t) + 1);

	for (size_t i = 0; i < tracee_threads(t); i++) {
		if (is_clean(l, tracee_tid(t, i)))
			continue;
		unwinding[i] = held_is_unwinding(t, i, maps, &l->unwinder, l->tries >= PATIENT_TRIES);
		all &= !unwinding[i];
		if (unwinding[i])
			continue;
		held_unstub(t, i, maps, arena, l->unwinder.n || l->unwinder.in_program);
		*vec_add(&l->clean) = tracee_tid(t, i);
	}
	if (!all && l->tries)
		tracee_let_run(t, unwinding, UNWIND_NS);
	free(unwinding);
	return all;
}

/* Threads that run leave by themselves: to wait for that costs the program nothing. */
static unsigned rounds(const struct leaving *l)
{
	return l->tries == 0 ? 0 : l->tries < PATIENT_TRIES ? 4 : 40;
}

static bool is_outside(const struct leaving *l, struct tracee *t, const struct maps *maps, const range_list *code)
{
	return held_run_out(t, code->at, code->n, rounds(l)) && !held_is_inside(t, maps, code->at, code->n);
}

/* No thread is in code of ours, nor will it come back there. */
static bool is_quiet(struct leaving *l, struct tracee *t, const struct maps *maps, range_list *code,
		     const struct held_arena *arena)
{
	*vec_add(code) = (struct held_range){ arena->begin, arena->end };
	return is_outside(l, t, maps, code) && clean_stacks(l, t, maps, arena);
}

static int leave_place(struct leaving *l, struct tracee *t, const struct maps *maps, struct agent_place *place,
		       struct err *err)
{
	const struct held_arena arena = agent_place_arena(place);
	range_list code = { 0 };
	int r = undo(l, t, HELD_FUNCTIONS, err);

	list_code(maps, l->file, place, &code);
	if (r == 0 && !is_quiet(l, t, maps, &code, &arena))
		r = -EBUSY;
	if (r == 0)
		r = undo(l, t, HELD_LOOK_UPS, err);
	if (r == 0 && !is_outside(l, t, maps, &code)) /* taking a jump out may have sent a thread along it */
		r = -EBUSY;
	if (r == 0) {
		place->layout = (struct thread_layout){ place->state.tls, place->state.key, place->state.flags };
		thread_blocks_clear(t, &place->layout);
		r = agent_place_call(t, place, place->contents.detach, err);
	}
	vec_free(&code);
	return r;
}

static int leave_held(struct leaving *l, struct tracee *t, struct err *err)
{
	struct agent_place place = { 0 };
	struct maps maps;
	int r = maps_read(tracee_pid(t), &maps, err);

	if (r == 0 && agent_place_find(t, l->file, &maps, l->agent_path, &place) && place.state.memory)
		r = leave_place(l, t, &maps, &place, err);
	maps_free(&maps);
	return r;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void note_others(struct leaving *l, struct tracee *t)
{
	for (size_t i = 0; i < tracee_threads(t); i++)
		if (!is_clean(l, tracee_tid(t, i)))
			runs_note(&l->others, tracee_tid(t, i));
}

/* One look: -EBUSY and *err if it is worth another. */
static int try_to_leave(struct leaving *l, pid_t pid, struct err *err)
{
	struct tracee *t;
	int r = tracee_hold(pid, &t, err);

	if (r < 0)
		return kill(pid, 0) < 0 && errno == ESRCH ? 0 : r;
	r = leave_held(l, t, err);
	l->tries++;
	if (!tracee_alive(t))
		r = 0;
	if (r == -EBUSY) {
		note_others(l, t);
		err_set(err, EBUSY, "a thread of process %d stays inside the agent: its functions are as before, the "
			"agent's memory stays until the next attach", (int)pid);
	}
	attach_release(t, l->rep);
	return r;
}

static int leave_patiently(struct leaving *l, pid_t pid, struct err *err)
{
	int r;

	for (uint64_t until = now_ms() + LEAVE_MS;;) {
		r = try_to_leave(l, pid, err);
		if (r != -EBUSY || now_ms() > until)
			return r;
		runs_wait(&l->others, LEAVE_WAIT_MS);
	}
}

struct leave_request {
	pid_t pid;
	const char *agent_path;
	const struct patch_list *patches;
	struct attach_report *rep;
	struct err *err;
};

static int leave_there(void *of)
{
	const struct leave_request *q = of;
	struct agent_file f;
	struct leaving l = { .file = &f, .agent_path = q->agent_path, .patches = q->patches, .rep = q->rep, .others.pid = q->pid };
	struct maps maps;
	int r = agent_file_open(q->agent_path, &f, q->err);

	if (r == 0 && maps_read(q->pid, &maps, q->err) == 0) {
		unwinder_find(q->pid, &maps, &l.unwinder);
		maps_free(&maps);
	}
	if (r == 0)
		r = leave_patiently(&l, q->pid, q->err);
	runs_free(&l.others);
	vec_free(&l.clean);
	agent_file_close(&f);
	return r;
}

int attach_leave(pid_t pid, const char *agent_path, const struct patch_list *patches, struct attach_report *rep, struct err *err)
{
	struct leave_request q = { pid, agent_path, patches, rep, err };

	return holder_run(leave_there, &q, err);
}
