/* SPDX-License-Identifier: MIT */
/* Called for a process that runs (attach_process) or was launched by hand (attach_stopped), on the
 * thread that starts the session; the work is done in a holder (tracee/holder.h), by whoever is
 * alone (session/turns.h). A failure before the end undoes every step, so the process runs on
 * untraced. A change of its mappings under the plan costs another try, at most TRIES. The user may
 * give up (tracee_give_up) until the process stands still for the entry. */
#include "inject/attach.h"
#include "image/providers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/aside.h"
#include "inject/agent_map.h"
#include "inject/agent_layout.h"
#include "inject/stopped_patches.h"
#include "inject/stale_agent.h"
#include "inject/stale_patches.h"
#include "inject/remote.h"
#include "inject/setup_reply.h"
#include "tracee/holder.h"
#include "tracee/seccomp.h"

#define TRIES 20           /* retried: the process mapped memory where we meant to */
#define NAP_NS 20000000    /* between two tries */

/* --- bringing it in --------------------------------------------------------------------------- */

/* Has the agent begin: it maps the memories that the setup reply names. */
static int begin_agent(struct tracee *t, const struct agent_layout *agent,
		       struct shared_memory *memory, const struct image *im, struct err *err)
{
	struct attach_params params = { .tls = agent->layout.tls, .key = agent->layout.key,
					.flags = agent->layout.flags };

	if (agent->agent_socket)
		snprintf(params.agent_socket, sizeof(params.agent_socket), "%s",
			 agent->agent_socket);
	if (agent->tracer && strlen(agent->path) < sizeof(params.agent)) {
		snprintf(params.tracer, sizeof(params.tracer), "%s", agent->tracer);
		snprintf(params.agent, sizeof(params.agent), "%s", agent->path);
	}
	return agent_layout_setup(t, agent, agent->descriptor.attach, &params, &im->setup,
				   (int[]){ memory->fd, im->image_fd, im->code_fd,
					    im->answers_fd },
				   err);
}

/* Whether the addresses that were chosen while the process ran are still free. */
static bool addresses_free(const struct maps *maps, const struct agent_file *f,
			   const struct agent_layout *agent, const struct image *im)
{
	return (agent->there || maps_are_free(maps, agent->base, f->span)) &&
	       image_addresses_free(im, maps);
}

/* Everything that happens while the process stands still. A failure undoes its steps. */
static int enter_stopped(struct tracee *t, const struct maps *maps, const struct agent_file *f,
			 struct agent_layout *agent, struct shared_memory *memory, struct image *im,
			 struct err *err)
{
	struct err ignored;
	int r = agent->there ? 0 : agent_map(t, f, agent, err);

	/* A former tracer may have died between making the sockets and the agent's closing them. */
	if (r == 0 && agent->there)
		stale_agent_close_sockets(t, agent_layout_params(agent) +
						     offsetof(struct attach_params, sockets));
	if (r == 0)
		thread_blocks_clear(t, &agent->layout);
	if (r == 0)
		r = begin_agent(t, agent, memory, im, err);
	if (r == 0) {
		/* From here on the agent has the memories: a failure has to detach it. */
		r = image_check_mapped(im, err);
		if (r == 0)
			r = stopped_patches_apply(t, maps, im->patches, im->setup.n_patches, err);
		if (r == 0) {
			/* Unwinders' look-ups have to be hooked, or stubs on stacks would break
			 * exceptions. */
			r = image_check_look_ups(im, err);
			if (r < 0)
				stopped_patches_undo(t, im->patches, im->setup.n_patches,
						     STOPPED_FUNCTIONS | STOPPED_LOOK_UPS,
						     &ignored);
		}
		if (r < 0)
			agent_layout_call(t, agent, agent->descriptor.detach, &ignored);
	}
	if (r < 0 && !agent->there)
		remote_unmap(t, agent->base, f->span);
	return r;
}

/* The memory that was chosen while the process ran, for the user that it had then. */
struct users_memory { struct memories *memories; struct shared_memory *memory; };

/* The user may have changed between plan and hold: its memory would then be another user's. */
static int check_user(const struct users_memory *u, pid_t pid, struct err *err)
{
	struct shared_memory *now;
	int r = memories_of_process(u->memories, pid, &now, err);

	if (r == 0 && now != u->memory)
		r = err_set(err, EAGAIN, "process %d changes its user at every try: try again",
			    (int)pid);
	return r;
}

/* -EAGAIN: the process mapped memory where we meant to, or changed its user. */
static int enter_now(struct tracee *t, const struct agent_file *f, struct agent_layout *agent,
		     const struct users_memory *users, struct image *im,
		     const stale_agent_fds *left, struct err *err)
{
	pid_t pid = tracee_pid(t);
	struct maps maps;
	int r = maps_read(pid, &maps, err);

	if (r == 0)
		r = tracee_check_dispatch(t, err);
	if (r == 0)
		stale_agent_clear(t, left, &maps);
	if (r == 0)
		r = check_user(users, pid, err);
	if (r == 0 && !addresses_free(&maps, f, agent, im))
		r = err_set(err, EAGAIN,
			    "process %d maps memory faster than brace can choose places: try again",
			    (int)pid);
	if (r == 0)
		r = enter_stopped(t, &maps, f, agent, users->memory, im, err);
	maps_free(&maps);
	return r;
}

/* Slow work comes before the hold: copying pages, and reading the list of descriptors. */
static int enter_process(pid_t pid, const struct agent_file *f, struct agent_layout *agent,
			 const struct users_memory *users, struct image *im,
			 struct attach_report *rep, struct err *err)
{
	stale_agent_fds left = { 0 };
	struct tracee *t;
	int r;

	stopped_patches_touch(pid, im->patches, im->setup.n_patches);
	stale_agent_find(pid, &left);
	r = tracee_stop_unless_given_up(pid, &t, err);
	if (r == 0) {
		r = enter_now(t, f, agent, users, im, &left, err);
		agent_layout_release(t, rep);
	}
	vec_free(&left);
	return r;
}

/* The gap is only chosen here: enter_now() looks again while the process is stopped. */
static int choose_base(const struct agent_file *f, struct agent_layout *agent, pid_t pid,
		       struct err *err)
{
	struct maps maps;
	int r = maps_read(pid, &maps, err);

	if (r < 0)
		return r;
	agent->base = maps_find_gap(&maps, f->span);
	agent->descriptor_at = agent->base + f->descriptor;
	maps_free(&maps);
	return agent->base ? 0
			   : err_set(err, ENOMEM,
				     "process %d has no %llu MiB of address space for the agent",
				     (int)pid, (unsigned long long)(f->span >> 20));
}

/* Plans for the address space as it is now. req refers to *hello from here on. */
static int plan_attach(struct image_request *req, const struct agent_file *f,
		       struct agent_layout *agent, struct shared_memory *memory,
		       struct protocol_hello *hello, struct image *out, struct err *err)
{
	int r = agent->there ? 0 : choose_base(f, agent, req->pid, err);

	if (r < 0)
		return r;
	agent_layout_hello(agent, hello);
	req->hello = hello;
	req->taken_from = agent->there ? 0 : agent->base;
	req->taken_bytes = agent->there ? 0 : f->span;
	r = image_prepare(req, out, err);
	/* A process that ended meanwhile has no program. */
	if (r == 0 && !out->update.about.exe[0])
		r = tracee_check(req->pid, err); /* the process ended meanwhile */
	if (r == 0 && !out->selected && req->settings->tracer->functions)
		r = image_none_selected(out, req->settings, err);
	if (r == 0 && req->events)
		r = providers_check(req->events, err);
	shared_memory_setup(memory, &out->setup);
	out->setup.lacks = seccomp_lacks(req->pid);
	return r;
}

/* plan_attach() until tracee_give_up(): what is planned then may lack parts, and does not count. */
static int plan_unless_given_up(struct image_request *req, const struct agent_file *f,
				struct agent_layout *agent, struct shared_memory *memory,
				struct protocol_hello *hello, struct image *out, struct err *err)
{
	int r, given_up;

	aside_until(tracee_given_up());
	r = plan_attach(req, f, agent, memory, hello, out, err);
	aside_until(NULL);
	given_up = tracee_check_given_up(req->pid, err);
	return given_up ? given_up : r;
}

/* Tries once: plans, then holds and enters. -EAGAIN: the plan is out of date. */
static int attempt_attach(struct image_request *req, const struct agent_file *f,
			  struct agent_layout *agent, struct memories *memories, struct image *out,
			  struct attach_report *rep, struct err *err)
{
	struct protocol_hello hello;
	struct users_memory users = { .memories = memories };
	int r = memories_of_process(memories, req->pid, &users.memory, err);

	if (r == 0)
		r = plan_unless_given_up(req, f, agent, users.memory, &hello, out, err);
	if (r == 0)
		r = enter_process(req->pid, f, agent, &users, out, rep, err);
	out->memory = users.memory;
	/* *hello is on the caller's stack frame. */
	req->hello = NULL;
	if (r == 0)
		image_note_refused(out, req);
	return r;
}

/* Frees the plan of a failed try. */
static void forget_attempt(struct image_request *req, struct image *out)
{
	image_update_free(&out->update);
	image_close(out);
	image_known_free(req->known);
}

/* The dead tracer's notes are lost: stale_patches_find() has what stands in the process. */
static const struct patch_list *no_sites(const void *context, uint32_t image)
{
	static const struct patch_list none;

	(void)context;
	(void)image;
	return &none;
}

/* Takes out the patches of a tracer that died, or could not leave. */
static int detach_stale(pid_t pid, const char *agent_path, struct attach_report *rep,
			struct err *err)
{
	struct patch_list list = { 0 };
	const struct attach_patches known = { .told = &list, .sites = no_sites };
	int r = stale_patches_find(pid, &list, err);

	if (r == 0)
		r = attach_detach(pid, agent_path, &known, rep, err);
	vec_free(&list);
	return r;
}

/* Arguments of attach_process(), for the holder's thread; *err is the caller's. */
struct attaching {
	struct image_request *req;
	struct memories *memories;
	struct image *out;
	struct attach_report *rep;
	struct err *err;
};

/* Tries again while the address space changes under the plan. */
static int try_patiently(const struct attaching *a, const struct agent_file *f)
{
	const struct timespec nap = { 0, NAP_NS };
	struct image_request *req = a->req;
	struct agent_layout agent;
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		r = agent_layout_look(req->pid, f, req->agent_path, &agent, a->rep, a->err);
		agent.agent_socket = req->agent_socket;
		if (r == 0 && agent.there && agent.state.memory)
			r = detach_stale(req->pid, req->agent_path, a->rep, a->err);
		if (r == 0)
			r = attempt_attach(req, f, &agent, a->memories, a->out, a->rep, a->err);
		/* Anything but a changed address space fails again at the next try. */
		if (r != -EAGAIN)
			break;
		forget_attempt(req, a->out);
		nanosleep(&nap, NULL);
	}
	return r;
}

/* In a holder. */
static int attach_there(void *of)
{
	const struct attaching *a = of;
	struct agent_file f;
	int r = tracee_check(a->req->pid, a->err);

	if (r == 0)
		r = agent_file_open(a->req->agent_path, &f, a->err);
	if (r < 0)
		return r;
	r = try_patiently(a, &f);
	agent_file_close(&f);
	return r;
}

/* Another thread does the work, because ptrace belongs to the thread that seized. */
int attach_process(struct image_request *req, struct memories *memories, struct image *out,
		   struct attach_report *rep, struct err *err)
{
	struct attaching a = { req, memories, out, rep, err };

	return holder_run(attach_there, &a, err);
}

/* The program has run nothing of its own: no stubs, no threads, no stale agent. */
int attach_stopped(struct image_request *req, struct tracee *t, struct memories *memories,
		   struct image *out, struct err *err)
{
	struct shared_memory *memory;
	struct agent_layout agent = { .layout = thread_layout_of(t),
				      .agent_socket = req->agent_socket,
				      .tracer = req->socket,
				      .path = req->agent_path };
	struct protocol_hello hello;
	struct agent_file f;
	struct maps maps;
	int r = agent_file_open(req->agent_path, &f, err);

	if (r < 0)
		return r;
	agent.descriptor = *agent_file_descriptor(&f);
	r = memories_of_process(memories, req->pid, &memory, err);
	if (r == 0)
		r = plan_attach(req, &f, &agent, memory, &hello, out, err);
	if (r == 0)
		r = maps_read(req->pid, &maps, err);
	if (r == 0) {
		r = enter_stopped(t, &maps, &f, &agent, memory, out, err);
		out->memory = memory;
		maps_free(&maps);
	}
	req->hello = NULL;
	if (r == 0)
		image_note_refused(out, req);
	agent_file_close(&f);
	return r;
}
