/* SPDX-License-Identifier: MIT */
/* Changes settings in programs that run: plans for every process of the session, tried again until
 * none of them has forked or mapped memory between plan and change. Called by the thread that
 * changes settings, and by a planner for a new signal handler; each is alone (turns.h) and works in
 * a holder. A failure leaves everything as it was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "inject/attach.h"
#include "inject/change.h"
#include "session/control_internal.h"
#include "collect/messages.h"
#include "tracee/holder.h"

/* Ten tries with CHANGE_PAUSE_NS (5 ms) between them outlast a burst of forks; a process that forks
 * all the time gets an error instead of a wait without end. */
#define CHANGE_TRIES 10
#define HANDLERS_MAX 512 /* of one process: more of them is nonsense */
#define CHANGE_PAUSE_NS 5000000

enum memory_tracer control_tracer_of(const struct settings *s)
{
	if (settings_scoped(s))
		return MEMORY_GRAPH_STATE;
	if (!s->tracer->exits)
		return MEMORY_FUNCTION;
	return s->max_graph_depth || s->tracing_thresh_ns || s->graph_function.patterns.n ||
			       s->stack_trace
		       ? MEMORY_GRAPH_STATE
		       : MEMORY_GRAPH;
}

struct shared_memory_shape control_shape_of(const struct settings *s, uint64_t thresh_ticks)
{
	static const enum memory_mode modes[BUFFER_MODES_N] = {
		[BUFFER_STREAM] = MEMORY_STREAM,
		[BUFFER_OVERWRITE] = MEMORY_OVERWRITE,
		[BUFFER_BLOCK] = MEMORY_BLOCK,
	};

	struct shared_memory_shape shape = {
		.mode = modes[s->mode], .thread_kb = s->buffer_size_kb, .settings = {
			.tracer = control_tracer_of(s), .max_depth = s->max_graph_depth,
			.graph_functions = !s->tracer->exits ? MEMORY_NO_GRAPH
							     : s->graph_function.patterns.n > 0,
			.record_both = settings_record_both(s), .record_sp = s->stack_trace,
			.values = settings_values(s), .causal = settings_causal(s),
			.tracer_number = s->tracer->number,
			.thresh_ticks = thresh_ticks,
		},
	};

	for (size_t i = 0; i < s->scopes.at.n; i++)
		shape.settings.scope_depths[i] = s->scopes.at.at[i].depth;
	return shape;
}

/* Times without sleeps need returns, which not every tracer has. */
bool control_excludes_sleep(const struct settings *s)
{
	return s->tracer->exits && settings_exclude_sleep(s);
}

/* Whether calls return through stubs of another kind. Those of MEMORY_GRAPH_STATE lead to C code,
 * which looks at the values itself. */
static bool takes_other_stubs(const struct control_request *a, const struct control_request *b)
{
	return a->tracer != b->tracer ||
	       (a->tracer == MEMORY_GRAPH &&
		(settings_values(a->settings) != settings_values(b->settings) ||
		 settings_causal(a->settings) != settings_causal(b->settings)));
}

/* One change, through all its tries. Only keep_settings() takes it over into the control. */
struct changing {
	struct control *c;
	struct control_request req;   /* what c->req becomes */
	VEC(struct change_target) targets;
	VEC(struct image_state) images; /* copies, for the plans to change */
	struct agent_file file;
	struct attach_report *rep;
};

/* The headers of the session memories get these (commit_change). */
static struct memory_settings settings_of(const struct control_request *req)
{
	return control_shape_of(req->settings, req->thresh_ticks).settings;
}

/* Puts the settings into the memories; false: the old ones. None of the processes runs at this
 * moment. */
static void commit_change(void *context, bool these)
{
	const struct changing *ch = context;
	const struct control_request *req = these ? &ch->req : &ch->c->req;
	const struct memory_settings settings = settings_of(req);

	memories_reshape(req->memories, &settings);
}

/* The plans change these copies; keep_settings() makes them the present state. */
static void copy_images(struct changing *ch)
{
	for (size_t i = 0; i < ch->c->images.n; i++) {
		struct image_state copy = { .next_id = ch->c->images.at[i].next_id,
					    .memory = ch->c->images.at[i].memory,
					    .sites = ch->c->images.at[i].sites,
					    .by_hand = ch->c->images.at[i].by_hand };

		image_known_copy(&copy.known, &ch->c->images.at[i].known);
		*vec_add(&ch->images) = copy;
	}
}

/* Frees the copies; the control's own lists are not touched. */
static void drop_images(struct changing *ch)
{
	for (size_t i = 0; i < ch->images.n; i++)
		image_known_free(&ch->images.at[i].known);
	vec_free(&ch->images);
}

/* Frees plans that did not become the present state. keep_settings() leaves none. */
static void drop_plans(struct changing *ch)
{
	for (size_t i = 0; i < ch->targets.n; i++)
		if (ch->targets.at[i].ready) {
			image_update_free(&ch->targets.at[i].im.update);
			image_close(&ch->targets.at[i].im);
		}
	ch->targets.n = 0;
	drop_images(ch);
}

/* Plans one target. Sets t->gone if there is no agent in it any more. */
static int plan_target(struct changing *ch, const struct change *change, struct change_target *t,
		       struct err *err)
{
	uint32_t image = 0;
	int r = change_look(change, t, &image, err);

	if (r == 0 && !t->gone)
		handlers_join(handlers_of(&ch->c->handlers, t->pid), &t->handlers);
	vec_free(&t->handlers);
	/* A process that is gone is no target; its plan was not begun. */
	if (r < 0 || t->gone)
		return r;
	if (image >= ch->images.n)
		return err_set(err, EPROTO, "process %d spoiled what brace keeps in it",
			       (int)t->pid);
	t->told = patch_lists_of(&ch->c->patches, t->pid);
	t->sites = ch->images.at[image].sites;
	t->req = (struct image_request){
		.index = image, .first_id = ch->images.at[image].next_id,
		.known = &ch->images.at[image].known,
		.settings = ch->req.settings, .agent_path = ch->req.agent_path,
		.tracer = ch->req.tracer,
		.events = &ch->req.events, .handlers = handlers_of(&ch->c->handlers, t->pid),
		.distance = MMAP_AWAY, .socket = ch->images.at[image].by_hand ? ch->c->way : NULL,
	};
	t->before = settings_of(&ch->c->req);
	r = change_plan(t, err);
	t->im.setup.settings = settings_of(&ch->req);
	if (r == 0)
		patch_sites_add(&ch->c->sites, t->sites, t->im.patches, t->im.setup.n_patches);
	if (r == 0)
		ch->images.at[image].next_id = t->im.next_id;
	return r;
}

/* Refuses a change by whose conditions no function would be traced that they are about. */
static int check_conditions(const struct changing *ch, struct err *err)
{
	struct argument_count all = { 0 };

	for (size_t i = 0; i < ch->targets.n; i++)
		argument_count_add(&all, &ch->targets.at[i].im.count.arguments);
	if (!all.unfit || all.conditional)
		return 0;
	*err = all.fault;
	return -err->code;
}

/* Plans all targets; *change gets those that are not gone. -EINVAL if no function of any would be
 * traced. */
static int plan_all(struct changing *ch, struct change *change, const pid_t *pids, size_t n,
		    struct err *err)
{
	uint32_t selected = 0;
	size_t kept = 0;

	copy_images(ch);
	for (size_t i = 0; i < n; i++)
		/* From now on a forked child has its own list. */
		patch_lists_add(&ch->c->patches, pids[i], NULL, NULL, 0);
	for (size_t i = 0; i < n; i++)
		*vec_add(&ch->targets) = (struct change_target){ .pid = pids[i] };
	for (size_t i = 0; i < n; i++) {
		struct change_target t = ch->targets.at[i];
		int r = plan_target(ch, change, &t, err);

		if (t.gone)
			continue;
		ch->targets.at[kept++] = t;
		if (r < 0) {
			ch->targets.n = kept;
			return r;
		}
		/* The targets moved: req.hello points into its own target again. */
		ch->targets.at[kept - 1].req.hello = &ch->targets.at[kept - 1].hello;
		selected += t.im.selected;
	}
	ch->targets.n = kept;
	change->targets = ch->targets.at;
	change->n = kept;
	if (selected || !kept || !ch->req.settings->tracer->functions)
		return check_conditions(ch, err);
	return image_none_selected(&ch->targets.at[0].im, ch->req.settings, err);
}

/* NULL: the process has ended. */
static const struct shared_memory *memory_of(struct control *c, pid_t pid)
{
	struct shared_memory *memory;
	struct err ignored;

	return memories_of_process(c->memories, pid, &memory, &ignored) == 0 ? memory : NULL;
}

/* Arguments that agents kept for the returns of events that are no longer recorded are void: more
 * calls may have been made when they are recorded again. */
static void end_generations(const struct event_set *before, const struct event_set *now)
{
	uint32_t n = before->catalogue ? events_n(before->catalogue) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (event_set_armed(before, i) && !event_set_armed(now, i))
			events_switched_off(before->catalogue, events_at(before->catalogue, i));
}

/* Makes the plans the present state: all processes are changed and run on. */
static void keep_settings(struct changing *ch)
{
	struct control *c = ch->c;

	end_generations(&c->req.events, &ch->req.events);
	event_set_free(&c->req.events);
	c->req = ch->req;
	ch->req.events = (struct event_set){ 0 };
	for (size_t i = 0; i < ch->targets.n; i++) {
		struct change_target *t = &ch->targets.at[i];

		image_note_refused(&t->im, &t->req);
		patch_lists_begin(&c->patches, t->pid);
		patch_lists_add(&c->patches, t->pid, memory_of(c, t->pid), t->im.patches,
				t->im.setup.n_patches);
		handlers_tell(&t->im, t->pid, control_messages(c));
		probe_outcomes_tell(&t->im, t->pid, control_messages(c));
		image_tell_unread(&t->im, t->pid, control_messages(c));
	}
	for (size_t i = 0; i < c->images.n; i++) {
		image_known_free(&c->images.at[i].known);
		c->images.at[i] = ch->images.at[i];
	}
	ch->images.n = 0;
	for (size_t i = 0; i < ch->targets.n; i++) {
		control_publish(c, &ch->targets.at[i].im, ch->targets.at[i].pid);
		image_close(&ch->targets.at[i].im);
	}
	ch->targets.n = 0;
}

typedef VEC(pid_t) pid_vec;

/* Has processes followed for the request's events and these settings. */
static int follow_pids(const struct control_request *req, const struct settings *settings,
		       const pid_vec *pids, struct err *err)
{
	const struct follow_request follow = { .events = &req->events,
					       .sleeps = control_excludes_sleep(settings),
					       .pids = pids->at,
					       .n = pids->n };

	return producers_follow(req->producers, &follow, err);
}

/* Has the targets' processes followed as *req wants. */
static int follow_all(struct changing *ch, const struct control_request *req, struct err *err)
{
	pid_vec pids = { 0 };
	int r;

	for (size_t i = 0; i < ch->targets.n; i++)
		*vec_add(&pids) = ch->targets.at[i].pid;
	r = follow_pids(req, req->settings, &pids, err);
	vec_free(&pids);
	return r;
}

/* The pids and the children that they forked. */
static void find_all(const struct memories *memories, const pid_t *pids, size_t n, bool alone,
		     pid_vec *all)
{
	pid_t *children = NULL;
	size_t more = alone ? 0 : attach_find_children(memories, pids, n, &children);

	for (size_t i = 0; i < n; i++)
		*vec_add(all) = pids[i];
	for (size_t i = 0; i < more; i++)
		*vec_add(all) = children[i];
	free(children);
}

/* Tries the change once. -EAGAIN: some process changed between plan and hold. */
static int change_once(struct changing *ch, struct change *change, const pid_t *pids, size_t n,
		       struct err *err)
{
	pid_vec all = { 0 };
	struct err ignored;
	int r;

	find_all(ch->req.memories, pids, n, change->alone, &all);
	r = plan_all(ch, change, all.at, all.n, err);
	/* First: a sleep or event that begins with the change is not missed. */
	if (r == 0)
		r = follow_all(ch, &ch->req, err);
	if (r == 0)
		r = change_all(change, err);
	if (r == 0)
		keep_settings(ch);
	else
		/* Back to what the present settings follow. */
		follow_all(ch, &ch->c->req, &ignored);
	drop_plans(ch);
	vec_free(&all);
	return r;
}

struct patience {
	struct changing *ch;
	struct change *change;
	const pid_t *pids;
	size_t n;
	struct err *err;
};

/* In a holder: one thread holds and releases in all tries. */
static int be_patient(void *of)
{
	const struct patience *p = of;
	const struct timespec pause = { 0, CHANGE_PAUSE_NS };
	int r = -EAGAIN;

	for (int i = 0; i < CHANGE_TRIES && r == -EAGAIN; i++) {
		if (i)
			nanosleep(&pause, NULL);
		r = change_once(p->ch, p->change, p->pids, p->n, p->err);
	}
	if (r == -EAGAIN)
		r = err_set(
			p->err, EAGAIN,
			"the processes fork, map memory or stay inside the agent at every try: nothing was changed");
	return r;
}

/* On the holder's thread, because ptrace belongs to the thread that attached. */
static int change_patiently(struct changing *ch, struct change *change, const pid_t *pids, size_t n,
			    struct err *err)
{
	struct patience p = { ch, change, pids, n, err };

	return holder_run(be_patient, &p, err);
}

/* The members that are the session's. *ch outlives it. */
static struct change change_of(struct changing *ch)
{
	return (struct change){ .file = &ch->file,
				.agent_path = ch->c->req.agent_path,
				.memories = ch->c->req.memories,
				.sites = &ch->c->sites,
				.commit = commit_change,
				.context = ch,
				.rep = ch->rep };
}

/* The agent's file is opened first, before anybody has to wait: it is needed in every process.
 * `renew`: stubs of another kind take the place of those that exist (takes_other_stubs). */
int control_change(struct control *c, const struct settings *settings, uint64_t thresh_ticks,
		   const pid_t *pids, size_t n, struct attach_report *rep, struct err *err)
{
	struct changing ch = { .c = c, .rep = rep };
	struct change change = change_of(&ch);
	int r = agent_file_open(c->req.agent_path, &ch.file, err);

	if (r < 0)
		return r;
	control_begin_alone(c);
	ch.req = c->req;
	ch.req.settings = settings;
	event_set_copy(&ch.req.events, &settings->events);
	ch.req.thresh_ticks = thresh_ticks;
	ch.req.tracer = control_tracer_of(settings);
	change.renew = takes_other_stubs(&ch.req, &c->req);
	change.signals = handlers_wanted(&ch.req.events);
	r = change_patiently(&ch, &change, pids, n, err);
	for (size_t i = 0; i < n && r == 0 && change.signals; i++)
		control_look_for_handlers(c, pids[i]);
	control_end_alone(c);
	event_set_free(&ch.req.events);
	vec_free(&ch.targets);
	agent_file_close(&ch.file);
	return r;
}

/* --- handlers of signals ---------------------------------------------------------------------- */

/* Plans one process anew, with unchanged settings. The thread that asked for it waits in the agent,
 * where it holds nothing that others need. */
static int plan_again(struct control *c, pid_t pid)
{
	struct attach_report ignored_report = { 0 };
	struct changing ch = { .c = c, .req = c->req, .rep = &ignored_report };
	struct change change = change_of(&ch);
	struct err ignored;
	int r = agent_file_open(c->req.agent_path, &ch.file, &ignored);

	if (r < 0)
		return r;
	change.alone = change.signals = true;
	ch.req.events = (struct event_set){ 0 };
	event_set_copy(&ch.req.events, &c->req.events);
	r = change_patiently(&ch, &change, &pid, 1, &ignored);
	event_set_free(&ch.req.events);
	vec_free(&ch.targets);
	agent_file_close(&ch.file);
	return r;
}

/* 0 and 1 are SIG_DFL and SIG_IGN, which are no code. A handler that is known, or one too many,
 * changes nothing. */
void control_handler(struct control *c, pid_t pid, uint64_t handler)
{
	handler_list *l;

	if (!handlers_wanted(&c->req.events) || handler <= 1)
		return;
	l = handlers_of(&c->handlers, pid);
	if (handlers_have(l, handler) || l->n >= HANDLERS_MAX)
		return;
	*vec_add(l) = handler;
	/* The note says that this handler is not probed. */
	if (plan_again(c, pid) != 0)
		control_handler_missed(c, pid, handler);
}

/* The function has no name here yet: the address and the process tell it. */
void control_handler_missed(struct control *c, pid_t pid, uint64_t handler)
{
	char name[MESSAGE_NAME];

	snprintf(name, sizeof(name), "0x%llx of process %d", (unsigned long long)handler, (int)pid);
	messages_add_handler(control_messages(c), MESSAGE_NOT_HELD, pid, name);
}

/* Called alone, after an attach or a change: a handler that was set between the look and the hooks
 * was told by nobody. */
void control_look_for_handlers(struct control *c, pid_t pid)
{
	handler_list now = { 0 };
	size_t known;

	if (!handlers_wanted(&c->req.events))
		return;
	handlers_look(pid, &now);
	known = handlers_of(&c->handlers, pid)->n;
	handlers_join(handlers_of(&c->handlers, pid), &now);
	if (handlers_of(&c->handlers, pid)->n > known)
		plan_again(c, pid);
	vec_free(&now);
}

/* --- sleeps of threads ------------------------------------------------------------------------ */

/* For changes that concern no process: later plans are made with the new settings. */
void control_keep(struct control *c, const struct settings *settings)
{
	control_begin_alone(c);
	c->req.settings = settings;
	control_end_alone(c);
}

/* Sleeps come from the kernel: no process is held for this, and no patches change, so the events
 * stay those of the control's request. A failure goes back to what was followed before. */
int control_change_sleeps(struct control *c, const struct settings *settings, const pid_t *pids,
			  size_t n, struct err *err)
{
	pid_vec all = { 0 };
	struct err ignored;
	int r;

	control_begin_alone(c);
	find_all(c->req.memories, pids, n, false, &all);
	r = follow_pids(&c->req, settings, &all, err);
	if (r == 0)
		c->req.settings = settings;
	else
		follow_pids(&c->req, c->req.settings, &all, &ignored);
	control_end_alone(c);
	vec_free(&all);
	return r;
}
