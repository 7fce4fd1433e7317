/* SPDX-License-Identifier: MIT */
#include "inject/attach.h"
#include "image/event_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/agent_map.h"
#include "inject/agent_place.h"
#include "inject/held_patches.h"
#include "inject/leftovers.h"
#include "inject/orphans.h"
#include "inject/remote.h"
#include "inject/welcome.h"
#include "tracee/holder.h"
#include "tracee/seccomp.h"

#define PAGE UINT64_C(4096)
#define TRIES 5            /* the process maps memory of its own where we meant to */
#define NAP_NS 20000000    /* in between */

/* --- bringing it in ------------------------------------------------------------------------- */

static int begin_agent(struct tracee *t, const struct agent_place *place, struct shared_memory *memory,
		       const struct image *im, struct err *err)
{
	struct attach_params params = { .tls = place->layout.tls, .key = place->layout.key,
					.flags = place->layout.flags };

	if (place->door)
		snprintf(params.door, sizeof(params.door), "%s", place->door);
	if (place->tracer && strlen(place->path) < sizeof(params.agent)) {
		snprintf(params.tracer, sizeof(params.tracer), "%s", place->tracer);
		snprintf(params.agent, sizeof(params.agent), "%s", place->path);
	}
	return agent_place_welcome(t, place, place->contents.attach, &params, &im->welcome,
				   (int[]){ memory->fd, im->image_fd, im->code_fd }, err);
}

/* Are the places that were chosen while the process ran still free? */
static bool places_free(const struct maps *maps, const struct agent_file *f, const struct agent_place *place,
			const struct image *im)
{
	return (place->there || maps_are_free(maps, place->base, f->span)) && image_places_free(im, maps);
}

static int enter_held(struct tracee *t, const struct maps *maps, const struct agent_file *f, struct agent_place *place,
		      struct shared_memory *memory, struct image *im, struct err *err)
{
	struct err ignored;
	int r = place->there ? 0 : agent_map(t, f, place, err);

	if (r == 0 && place->there)
		leftovers_close_sockets(t, agent_place_params(place) + offsetof(struct attach_params, sockets));
	if (r == 0)
		thread_blocks_clear(t, &place->layout);
	if (r == 0)
		r = begin_agent(t, place, memory, im, err);
	if (r == 0) {
		r = image_check_mapped(im, err);
		if (r == 0)
			r = held_patches_apply(t, maps, im->patches, im->welcome.n_patches, err);
		if (r == 0) {
			r = image_check_look_ups(im, err);
			if (r < 0)
				held_patches_undo(t, im->patches, im->welcome.n_patches, HELD_FUNCTIONS | HELD_LOOK_UPS,
						  &ignored);
		}
		if (r < 0)
			agent_place_call(t, place, place->contents.detach, &ignored);
	}
	if (r < 0 && !place->there)
		remote_unmap(t, place->base, f->span);
	return r;
}

/* The memory that was chosen while the process ran, as the user's that it was then. */
struct users_memory { struct memories *memories; struct shared_memory *memory; };

static int check_user(const struct users_memory *u, pid_t pid, struct err *err)
{
	struct shared_memory *now;
	int r = memories_of_process(u->memories, pid, &now, err);

	if (r == 0 && now != u->memory)
		r = err_set(err, EAGAIN, "process %d changes its user at every try: try again", (int)pid);
	return r;
}

/* -EAGAIN: somebody took a place meanwhile, or it has become another user's. */
static int enter_now(struct tracee *t, const struct agent_file *f, struct agent_place *place,
		     const struct users_memory *users, struct image *im, const leftover_fds *left, struct err *err)
{
	pid_t pid = tracee_pid(t);
	struct maps maps;
	int r = maps_read(pid, &maps, err);

	if (r == 0)
		leftovers_clear(t, left, &maps);
	if (r == 0)
		r = check_user(users, pid, err);
	if (r == 0 && !places_free(&maps, f, place, im))
		r = err_set(err, EAGAIN, "process %d maps memory faster than brace can choose places: try again", (int)pid);
	if (r == 0)
		r = enter_held(t, &maps, f, place, users->memory, im, err);
	maps_free(&maps);
	return r;
}

static int enter(pid_t pid, const struct agent_file *f, struct agent_place *place, const struct users_memory *users,
		 struct image *im, struct attach_report *rep, struct err *err)
{
	leftover_fds left = { 0 };
	struct tracee *t;
	int r;

	held_patches_touch(pid, im->patches, im->welcome.n_patches);
	leftovers_find(pid, &left);
	r = tracee_hold(pid, &t, err);
	if (r == 0) {
		r = enter_now(t, f, place, users, im, &left, err);
		attach_release(t, rep);
	}
	vec_free(&left);
	return r;
}

static int choose_base(const struct agent_file *f, struct agent_place *place, pid_t pid, struct err *err)
{
	struct maps maps;
	int r = maps_read(pid, &maps, err);

	if (r < 0)
		return r;
	place->base = maps_find_gap(&maps, f->span);
	place->contents_at = place->base + f->contents;
	maps_free(&maps);
	return place->base ? 0 : err_set(err, ENOMEM, "process %d has no %llu MiB of address space for the agent", (int)pid,
					 (unsigned long long)(f->span >> 20));
}

/* For the address space as it is now. *hello is what req refers to from here on. */
static int plan(struct image_request *req, const struct agent_file *f, struct agent_place *place,
		struct shared_memory *memory, struct protocol_hello *hello, struct image *out, struct err *err)
{
	int r = place->there ? 0 : choose_base(f, place, req->pid, err);

	if (r < 0)
		return r;
	agent_place_hello(place, hello);
	req->hello = hello;
	req->taken_from = place->there ? 0 : place->base;
	req->taken_bytes = place->there ? 0 : f->span;
	r = image_prepare(req, out, err);
	if (r == 0 && !out->news.about.exe[0])
		r = tracee_check(req->pid, err); /* it ended meanwhile */
	if (r == 0 && !out->selected && !req->settings->nop)
		r = image_none_selected(out, req->settings, err);
	if (r == 0 && req->events)
		r = event_sites_check(req->events, err);
	shared_memory_welcome(memory, &out->welcome);
	out->welcome.lacks = seccomp_lacks(req->pid);
	return r;
}

static int attempt(struct image_request *req, const struct agent_file *f, struct agent_place *place,
		   struct memories *memories, struct image *out, struct attach_report *rep, struct err *err)
{
	struct protocol_hello hello;
	struct users_memory users = { .memories = memories };
	int r = memories_of_process(memories, req->pid, &users.memory, err);

	if (r == 0)
		r = plan(req, f, place, users.memory, &hello, out, err);
	if (r == 0)
		r = enter(req->pid, f, place, &users, out, rep, err);
	out->memory = users.memory;
	req->hello = NULL;
	if (r == 0)
		image_settle(out, req);
	return r;
}

static void forget_attempt(struct image_request *req, struct image *out)
{
	image_close(out);
	image_news_free(&out->news);
	known_modules_free(req->known);
}

/* Its tracer died, or could not leave. */
static int leave_orphan(pid_t pid, const char *agent_path, struct attach_report *rep, struct err *err)
{
	struct patch_list list = { 0 };
	int r = orphans_find(pid, &list, err);

	if (r == 0)
		r = attach_leave(pid, agent_path, &list, rep, err);
	vec_free(&list);
	return r;
}

struct attaching {
	struct image_request *req;
	struct memories *memories;
	struct image *out;
	struct attach_report *rep;
	struct err *err;
};

static int try_patiently(const struct attaching *a, const struct agent_file *f)
{
	const struct timespec nap = { 0, NAP_NS };
	struct image_request *req = a->req;
	struct agent_place place;
	int r = 0;

	for (int i = 0; i < TRIES; i++) {
		r = agent_place_look(req->pid, f, req->agent_path, &place, a->rep, a->err);
		place.door = req->door;
		if (r == 0 && place.there && place.state.memory)
			r = leave_orphan(req->pid, req->agent_path, a->rep, a->err);
		if (r == 0)
			r = attempt(req, f, &place, a->memories, a->out, a->rep, a->err);
		if (r != -EAGAIN)
			break;
		forget_attempt(req, a->out);
		nanosleep(&nap, NULL);
	}
	return r;
}

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

int attach_process(struct image_request *req, struct memories *memories, struct image *out,
		   struct attach_report *rep, struct err *err)
{
	struct attaching a = { req, memories, out, rep, err };

	return holder_run(attach_there, &a, err);
}

int attach_held(struct image_request *req, struct tracee *t, struct memories *memories, struct image *out,
		struct err *err)
{
	struct shared_memory *memory;
	struct agent_place place = { .layout = thread_layout_of(t), .door = req->door, .tracer = req->socket, .path = req->agent_path };
	struct protocol_hello hello;
	struct agent_file f;
	struct maps maps;
	int r = agent_file_open(req->agent_path, &f, err);

	if (r < 0)
		return r;
	place.contents = *agent_file_contents(&f);
	r = memories_of_process(memories, req->pid, &memory, err);
	if (r == 0)
		r = plan(req, &f, &place, memory, &hello, out, err);
	if (r == 0)
		r = maps_read(req->pid, &maps, err);
	if (r == 0) {
		r = enter_held(t, &maps, &f, &place, memory, out, err);
		out->memory = memory;
		maps_free(&maps);
	}
	req->hello = NULL;
	if (r == 0)
		image_settle(out, req);
	agent_file_close(&f);
	return r;
}
