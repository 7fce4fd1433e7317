/* SPDX-License-Identifier: MIT */
/* Takes the agent out of a process (attach.h). Called by session/control.c, whose caller is alone
 * (session/turns.h), and by attach.c for an agent that a dead brace left; what needs a stop runs in
 * a holder. Taking the agent out has an order: functions first, so that no new stub appears; then
 * stacks; then unwinders' look-ups; then the agent detaches. Each try is a short hold, so that the
 * program runs between two; after LEAVE_MS, and LATE_TRIES more, the rest stays for the next
 * attach. A process that may not be stopped, or is gone, is -errno and a sentence. */
#include "inject/attach.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/monotonic.h"
#include "inject/agent_layout.h"
#include "inject/standing_patches.h"
#include "inject/stopped_patches.h"
#include "inject/stopped_stacks.h"
#include "inject/runs.h"
#include "inject/unwinder.h"
#include "tracee/holder.h"

/* A thread that is not out of the agent's code by then stays inside: see the head of this file. */
#define LEAVE_MS 5000
#define LEAVE_WAIT_MS 25 /* at most, between two tries */
/* On a busy machine a stop may take a second, and the turn of a thread is as long in coming: the
 * time is over then before anybody could leave. */
#define LATE_TRIES 10
#define LATE_WAIT_MS 1000

typedef VEC(struct stopped_range) range_list;

/* One leave, through all its tries: steps that are done are not done again. */
struct leaving {
	const struct agent_file *file;
	const char *agent_path;
	const struct attach_patches *known;
	struct patch_list patches;   /* those that stand in it, once `looked` */
	bool looked;
	unsigned tries, late; /* late: of them, those after LEAVE_MS */
	enum stopped_which undone;   /* already as before the attach */
	struct stopped_unwinder unwinder;
	VEC(pid_t) clean;         /* threads without stubs on their stacks */
	/* Threads that have to run before another try makes sense. */
	struct runs others;
	struct attach_report *rep;
};

/* Only once for each kind: a second time would count changes twice. */
static int undo_patches(struct leaving *l, struct tracee *t, enum stopped_which which,
			struct err *err)
{
	int r;

	if (l->undone & which)
		return 0;
	r = stopped_patches_undo(t, l->patches.at, l->patches.n, which, err);
	if (r >= 0)
		l->undone |= which;
	l->rep->changed += r > 0 ? (uint32_t)r : 0;
	return r < 0 ? r : 0;
}

/* Lists the agent's code and the trampolines. */
static void list_code(const struct maps *maps, const struct agent_file *f,
		      const struct agent_layout *agent, range_list *out)
{
	for (size_t i = 0; i < maps->at.n; i++) {
		const struct map *m = &maps->at.at[i];

		if (maps_is_trampolines(m))
			*vec_add(out) = (struct stopped_range){ m->start, m->end };
	}
	*vec_add(out) =
		(struct stopped_range){ agent->base, agent->base + f->segments[0].memory_bytes };
}

/* From this try on threads get more rounds to run out (patience_rounds). */
#define PATIENT_TRIES 40

static bool is_patient(const struct leaving *l)
{
	return l->tries >= PATIENT_TRIES || l->late;
}

static bool is_clean(const struct leaving *l, pid_t tid)
{
	for (size_t i = 0; i < l->clean.n; i++)
		if (l->clean.at[i] == tid)
			return true;
	return false;
}

#define UNWIND_NS 50000

/* Since functions are as before, no stack gets new stubs: a cleaned thread stays clean. A thread
 * that unwinds is left to a later try, when it will have gone on. */
static bool clean_stacks(struct leaving *l, struct tracee *t, const struct maps *maps,
			 const struct stopped_arena *arena)
{
	bool all = true, *unwinding = mem_zalloc(tracee_threads(t) + 1);

	for (size_t i = 0; i < tracee_threads(t); i++) {
		if (is_clean(l, tracee_tid(t, i)))
			continue;
		unwinding[i] =
			stopped_is_unwinding(t, i, maps, &l->unwinder, is_patient(l));
		all &= !unwinding[i];
		if (unwinding[i])
			continue;
		stopped_unstub(t, i, maps, arena, l->unwinder.n || l->unwinder.in_program);
		*vec_add(&l->clean) = tracee_tid(t, i);
	}
	/* The first try only looks: a moment later most threads have left by themselves. */
	if (!all && l->tries)
		tracee_let_run(t, unwinding, UNWIND_NS);
	free(unwinding);
	return all;
}

/* Threads that run leave by themselves, and waiting for that costs the program nothing: so few
 * rounds at first. */
static unsigned patience_rounds(const struct leaving *l)
{
	return l->tries == 0 ? 0 : is_patient(l) ? 40 : 4;
}

static bool is_outside(const struct leaving *l, struct tracee *t, const struct maps *maps,
		       const range_list *code)
{
	return stopped_run_out(t, code->at, code->n, patience_rounds(l)) &&
	       !stopped_is_inside(t, maps, code->at, code->n);
}

/* Whether no thread is in code of ours, or will come back there. */
static bool is_quiescent(struct leaving *l, struct tracee *t, const struct maps *maps,
			 range_list *code, const struct stopped_arena *arena)
{
	*vec_add(code) = (struct stopped_range){ arena->begin, arena->end };
	return is_outside(l, t, maps, code) && clean_stacks(l, t, maps, arena);
}

/* Has the agent unmap its memories. Where a filter kills the process for that, the memories stay,
 * and the agent is told that nobody traces. The filter may have come while threads ran out. */
static int end_agent(struct tracee *t, const struct agent_layout *agent, struct err *err)
{
	uint64_t at = agent->descriptor_at + (uint64_t)(int64_t)agent->descriptor.state;
	const uint64_t none = 0;
	struct agent_state now;
	int r = tracee_read(t, at, &now, sizeof(now), err);

	if (r < 0)
		return r;
	return now.forbidden & FORBIDS_LEAVE
		       ? tracee_write(t, at, &none, sizeof(none), err)
		       : agent_layout_call(t, agent, agent->descriptor.detach, err);
}

/* Reads which patches stand in the process. Once: each is taken out once. */
static void look_at_patches(struct leaving *l, struct tracee *t, const struct maps *maps,
			    const struct agent_layout *agent)
{
	const struct attach_patches *k = l->known;

	if (!l->looked)
		l->rep->changed += standing_patches_find(
			t, maps, k->sites(k->context, agent->state.image), k->told, &l->patches);
	l->looked = true;
}

/* Tries once, on the stopped process. -EBUSY: some thread is not out yet. */
static int detach_agent(struct leaving *l, struct tracee *t, const struct maps *maps,
			struct agent_layout *agent, struct err *err)
{
	const struct stopped_arena arena = agent_layout_arena(agent);
	range_list code = { 0 };
	int r;

	look_at_patches(l, t, maps, agent);
	r = undo_patches(l, t, STOPPED_FUNCTIONS, err);
	list_code(maps, l->file, agent, &code);
	if (r == 0 && !is_quiescent(l, t, maps, &code, &arena))
		r = -EBUSY;
	if (r == 0)
		r = undo_patches(l, t, STOPPED_LOOK_UPS, err);
	/* taking a jump out may have sent a thread along it */
	if (r == 0 && !is_outside(l, t, maps, &code))
		r = -EBUSY;
	if (r == 0) {
		agent->layout = (struct thread_layout){ agent->state.tls, agent->state.key,
							agent->state.flags };
		thread_blocks_clear(t, &agent->layout);
		r = end_agent(t, agent, err);
	}
	vec_free(&code);
	return r;
}

/* Tries once, on a stopped process. An agent that is gone, or does not record, needs none. */
static int detach_stopped(struct leaving *l, struct tracee *t, struct err *err)
{
	struct agent_layout agent = { 0 };
	struct maps maps;
	int r = maps_read(tracee_pid(t), &maps, err);

	if (r == 0 && agent_layout_find(t, l->file, &maps, l->agent_path, &agent) &&
	    agent.state.memory)
		r = detach_agent(l, t, &maps, &agent, err);
	maps_free(&maps);
	return r;
}

static void note_others(struct leaving *l, struct tracee *t)
{
	for (size_t i = 0; i < tracee_threads(t); i++)
		if (!is_clean(l, tracee_tid(t, i)))
			runs_note(&l->others, tracee_tid(t, i));
}

/* Stops the process and tries once. -EBUSY and *err if another try makes sense. */
static int try_to_detach(struct leaving *l, pid_t pid, struct err *err)
{
	struct tracee *t;
	int r = tracee_stop(pid, &t, err);

	if (r < 0)
		/* A process that ended has nothing left to take out. */
		return kill(pid, 0) < 0 && errno == ESRCH ? 0 : r;
	r = detach_stopped(l, t, err);
	l->tries++;
	/* Killed while it was stopped. */
	if (!tracee_alive(t))
		r = 0;
	if (r == -EBUSY) {
		note_others(l, t);
		err_set(err, EBUSY,
			"a thread of process %d stays inside the agent: its functions are as before, the "
			"agent's memory stays until the next attach",
			(int)pid);
	}
	agent_layout_release(t, l->rep);
	return r;
}

/* Whether the time is over, and the late tries are. A process that could not even be stopped gets
 * none: l->tries is what it was before. */
static bool gives_up(struct leaving *l, unsigned tries, uint64_t until)
{
	return monotonic_ms() > until && (l->tries == tries || l->late++ == LATE_TRIES);
}

/* Tries until the process is left, or there is no more time. */
static int detach_patiently(struct leaving *l, pid_t pid, struct err *err)
{
	const uint64_t until = monotonic_ms() + LEAVE_MS;

	for (;;) {
		const unsigned tries = l->tries;
		const int r = try_to_detach(l, pid, err);

		if (r != -EBUSY || gives_up(l, tries, until))
			return r;
		runs_wait(&l->others, l->late ? LATE_WAIT_MS : LEAVE_WAIT_MS);
	}
}

struct detach_request {
	pid_t pid;
	const char *agent_path;
	const struct attach_patches *known;
	struct attach_report *rep;
	struct err *err;
};

/* In a holder. */
static int detach_there(void *of)
{
	const struct detach_request *q = of;
	struct agent_file f;
	struct leaving l = { .file = &f,
			     .agent_path = q->agent_path,
			     .known = q->known,
			     .rep = q->rep,
			     .others.pid = q->pid };
	struct maps maps;
	int r = agent_file_open(q->agent_path, &f, q->err);

	if (r == 0 && maps_read(q->pid, &maps, q->err) == 0) {
		unwinder_find(q->pid, &maps, &l.unwinder);
		maps_free(&maps);
	}
	if (r == 0)
		r = detach_patiently(&l, q->pid, q->err);
	runs_free(&l.others);
	vec_free(&l.clean);
	vec_free(&l.patches);
	agent_file_close(&f);
	return r;
}

/* The holder's thread does the work: ptrace belongs to the thread that stopped the process. */
int attach_detach(pid_t pid, const char *agent_path, const struct attach_patches *known,
		  struct attach_report *rep, struct err *err)
{
	struct detach_request q = { pid, agent_path, known, rep, err };

	return holder_run(detach_there, &q, err);
}
