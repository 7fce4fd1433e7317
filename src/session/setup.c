/* SPDX-License-Identifier: MIT */
/* Brings one image under trace, for the peer that asked: notes what the plan is made from,
 * plans, tells the session, sends the setup reply, and takes the outcome. The socket thread
 * calls the steps in this order (agent_socket.c); only setup_plan() takes long, and a planner
 * calls it. The image update comes before the setup reply, so that no record names an image that
 * the session does not know; refusals come after. A plan that fails leaves the program
 * untraced. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "session/control_internal.h"
#include "image/providers.h"
#include "collect/messages.h"
#include "inject/setup_reply.h"
#include "shared/points.h"

bool setup_is_asked(const struct peer *p)
{
	return p->hello.request == PROTOCOL_HELLO || p->hello.request == PROTOCOL_DLOPEN ||
	       p->hello.request == PROTOCOL_USER;
}

bool setup_begin(struct control *c, struct peer *p)
{
	struct image_state *state;

	p->first_id = 1;
	if (p->hello.request != PROTOCOL_HELLO) {
		if (p->hello.image >= c->images.n || p->hello.image < c->req.first_image)
			return false;
		p->image = p->hello.image;
		state = &c->images.at[p->image];
		if (!memories_allow(c->memories, p->pid, state->memory))
			return false; /* another user's program: nothing is added to that */
		state->planned |= p->hello.request == PROTOCOL_DLOPEN;
		/* Now, while it still has the memory of the process that forked it. */
		patch_lists_add(&c->patches, p->pid, NULL, NULL, 0);
		p->first_id = state->next_id;
		image_known_of(&p->known, &state->known, p->pid);
	}
	event_set_copy(&p->events, &c->req.events);
	return true;
}

/* Points into the control and the peer: valid while the peer is inside. */
static struct image_request request_of(struct control *c, struct peer *p)
{
	return (struct image_request){
		.index = p->image, .first_id = p->first_id, .known = &p->known, .pid = p->pid,
		.hello = &p->hello,
		.settings = c->req.settings, .agent_path = c->req.agent_path,
		.tracer = c->req.tracer, .events = &p->events, .ends = c->req.image_ends,
	};
}

/* Filters and events that match nothing are an error for the launched program alone: a process that
 * comes later may well have none of the functions. */
static int check_selected(struct control *c, struct peer *p, struct err *err)
{
	if (!p->first)
		return 0;
	if (p->im.selected || !c->req.settings->tracer->functions)
		return providers_check(&p->events, err);
	return image_none_selected(&p->im, c->req.settings, err);
}

void setup_plan(struct control *c, struct peer *p)
{
	const struct image_request req = request_of(c, p);
	int r = p->hello.request == PROTOCOL_USER
			? image_copy(p->pid, p->hello.image, c->req.image_ends, &p->im,
				     &p->err)
			: image_prepare(&req, &p->im, &p->err);

	if (r == 0)
		r = memories_of_peer(c->req.memories, p->fd, &p->memory, &p->err);
	if (r == 0 && p->hello.request == PROTOCOL_HELLO)
		r = check_selected(c, p, &p->err);
	if (r == 0 && p->hello.request == PROTOCOL_HELLO)
		/* Before it runs: from its first switch on. */
		r = control_follow(c, &p->events, p->pid, &p->err);
	POINT(image_prepared);
	p->result = r;
}

/* --- what the session is told ----------------------------------------------------------------- */

/* Notes how each function was to be hooked, for count_refused(). */
static void keep_kinds(struct peer *p)
{
	for (size_t i = 0; i < p->im.update.modules.n; i++) {
		const struct trace_module *m = &p->im.update.modules.at[i];

		for (size_t k = 0; k < m->functions.n; k++) {
			size_t at = m->first_id - p->first_id + k;

			while (p->kinds.n <= at)
				*vec_add(&p->kinds) = HOOK_NONE;
			p->kinds.at[at] = m->functions.at[k].hook;
		}
	}
}

/* The launched program's counts are shown: lowers them by functions that were to be hooked, and are
 * not. */
static void count_refused(struct peer *p, const image_refusals *refused)
{
	struct image_count *count = &p->im.count;

	for (size_t i = 0; i < refused->n; i++) {
		size_t at = refused->at[i].function - p->first_id;

		if (at >= p->kinds.n || p->kinds.at[at] == HOOK_NONE)
			continue;
		count->hooked--;
		count->by_kind[p->kinds.at[at]]--;
		count->by_reason[refused->at[i].reason]++;
		p->kinds.at[at] = HOOK_NONE;
	}
}

/* Refusals come as an addition to the image's update. */
static void tell_refused(struct control *c, struct peer *p)
{
	struct image_update update = { .image = p->image, .addition = true };

	image_refused(&p->im, &update.refused);
	count_refused(p, &update.refused);
	if (update.refused.n)
		control_tell(c, &update);
}

/* --- the steps after the plan ----------------------------------------------------------------- */

/* Makes the plan the image's present state. A new image gets its number here. */
static void keep_state(struct control *c, struct peer *p)
{
	struct err ignored;

	control_forget_ended(c);
	if (p->hello.request == PROTOCOL_USER) {
		const struct image_state copy = { .next_id = p->first_id,
						  .memory = p->memory,
						  .known = p->known,
						  .sites = c->images.at[p->image].sites,
						  .by_hand = c->images.at[p->image].by_hand };

		patch_sites_share(&c->sites, copy.sites);
		p->image = (uint32_t)c->images.n;
		*vec_add(&c->images) = copy;
		p->known = (struct known_modules){ 0 };
		return;
	}
	if (p->hello.request == PROTOCOL_HELLO) {
		p->image = (uint32_t)c->images.n;
		*vec_add(&c->images) =
			(struct image_state){ .known = p->known, .memory = p->memory,
					      .sites = patch_sites_begin(&c->sites) };
		p->known = (struct known_modules){ 0 };
	} else {
		image_known_replace(&c->images.at[p->image].known, p->pid, &p->known);
	}
	c->images.at[p->image].next_id = p->im.next_id;
	/* Before it is told to write them: one that it forks meanwhile may have some. */
	patch_sites_add(&c->sites, c->images.at[p->image].sites, p->im.patches,
			p->im.setup.n_patches);
	if (c->req.events.catalogue)
		event_set_grow(&c->req.events, &ignored); /* as its copy did */
}

/* A failed plan of the first program fails the session. Any other program runs untraced, which is
 * noted unless it has ended. */
static void tell_failed(struct control *c, struct peer *p, const char *exe)
{
	struct pollfd gone = { .fd = p->fd, .events = POLLRDHUP };

	if (p->first)
		control_failed(c, &p->err);
	else if (p->hello.request == PROTOCOL_HELLO && poll(&gone, 1, 0) == 0)
		messages_add(control_messages(c), MESSAGE_UNPLANNED, p->pid, exe);
}

bool setup_reply(struct control *c, struct peer *p)
{
	const char *exe = p->im.update.about.exe ? p->im.update.about.exe : "",
		   *last = strrchr(exe, '/');

	if (p->hello.request == PROTOCOL_DLOPEN)
		c->images.at[p->image].planned = false;
	if (p->result < 0) {
		tell_failed(c, p, exe);
		return false;
	}
	snprintf(p->exe, sizeof(p->exe), "%s", last ? last + 1 : exe);
	keep_state(c, p);
	image_number(&p->im, p->image);
	p->im.update.addition = p->hello.request == PROTOCOL_DLOPEN;
	shared_memory_setup(p->memory, &p->im.setup);
	if (p->pid == c->first_pid)
		keep_kinds(p);
	/* Before the setup reply: no record may name an unknown image. */
	control_tell(c, &p->im.update);
	POINT(image_published);
	/* Without trampolines there is no code file, and nothing to answer: the third and the
	 * fourth descriptor only fill the sites. */
	if (setup_reply_send(p->fd, &p->im.setup,
			     (int[]){ p->memory->fd, p->im.image_fd,
				      p->im.code_fd < 0 ? p->im.image_fd : p->im.code_fd,
				      p->im.code_fd < 0 ? p->im.image_fd : p->im.answers_fd })) {
		POINT(setup_sent);
		return true;
	}
	if (p->first) {
		err_set(&p->err, EPIPE, "%s ended before it could be hooked", p->exe);
		control_failed(c, &p->err);
	}
	return false;
}

void setup_finish(struct control *c, struct peer *p, const struct protocol_done *done)
{
	/* NULL if the process died: the patches that it had written by then are marked in the
	 * answer memory (image_hear). */
	if (done && done->note > MESSAGE_NONE && done->note < MESSAGE_KINDS)
		messages_add(control_messages(c), done->note, p->pid, p->exe);
	POINT(done_heard);
	/* The process wrote the answer memory: brace notes what cannot be, and takes those patches
	 * as not written. */
	if (!image_hear(&p->im))
		messages_add(control_messages(c), MESSAGE_FORGED, p->pid, p->exe);
	image_forget_unmapped(&p->im, &c->images.at[p->image].known, p->pid);
	if (p->hello.request == PROTOCOL_HELLO) {
		patch_lists_begin(&c->patches, p->pid);
		handlers_begin(&c->handlers, p->pid);
	}
	handlers_tell(&p->im, p->pid, control_messages(c));
	probe_outcomes_tell(&p->im, p->pid, control_messages(c));
	image_tell_unread(&p->im, p->pid, control_messages(c));
	patch_lists_add(&c->patches, p->pid, p->memory, p->im.patches, p->im.setup.n_patches);
	tell_refused(c, p);
	control_done(c, p->pid, &p->im.count, p->hello.request != PROTOCOL_HELLO);
}

void setup_free(struct peer *p)
{
	image_known_free(&p->known);
	event_set_free(&p->events);
	image_update_free(&p->im.update);
	image_close(&p->im);
	vec_free(&p->kinds);
}
