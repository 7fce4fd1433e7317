/* SPDX-License-Identifier: MIT */
/* One image brought under trace, for the peer that asked: what it is planned from, the plan, the session's news of it, the
 * welcome, and what became of it. The door calls these in their order (door.c); only setup_plan takes long, and is called
 * by a planner. The news come before the welcome, so that nothing recorded names an image that the session does not know;
 * what did not go in comes after. A plan that fails leaves the program untraced. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "session/control_internal.h"
#include "image/event_sites.h"
#include "collect/notes.h"
#include "collect/switches.h"
#include "inject/welcome.h"
#include "shared/points.h"

bool setup_begins(const struct peer *p)
{
	return p->hello.request == PROTOCOL_HELLO || p->hello.request == PROTOCOL_DLOPEN || p->hello.request == PROTOCOL_USER;
}

bool setup_begin(struct control *c, struct peer *p)
{
	struct image_state *state;

	p->first_id = 1;
	if (p->hello.request != PROTOCOL_HELLO) {
		if (p->hello.image >= c->images.n)
			return false;
		p->image = p->hello.image;
		state = &c->images.at[p->image];
		if (!memories_allow(c->memories, p->pid, state->memory))
			return false; /* a program of somebody else's: nothing is added to that */
		state->planned |= p->hello.request == PROTOCOL_DLOPEN;
		patch_lists_add(&c->patches, p->pid, NULL, NULL, 0); /* while it has the memory of whom it was forked from */
		p->first_id = state->next_id;
		known_modules_of(&p->known, &state->known, p->pid);
	}
	event_set_copy(&p->events, &c->req.events);
	return true;
}

static struct image_request request_of(struct control *c, struct peer *p)
{
	return (struct image_request){
		.index = p->image, .first_id = p->first_id, .known = &p->known, .pid = p->pid, .hello = &p->hello,
		.settings = c->req.settings, .agent_path = c->req.agent_path, .tracer = c->req.tracer, .events = &p->events,
	};
}

static int check_selected(struct control *c, struct peer *p, struct err *err)
{
	if (!p->first)
		return 0;
	if (p->im.selected || c->req.settings->nop)
		return event_sites_check(&p->events, err);
	return image_none_selected(&p->im, c->req.settings, err);
}

void setup_plan(struct control *c, struct peer *p)
{
	const struct image_request req = request_of(c, p);
	int r = p->hello.request == PROTOCOL_USER ? image_copy(p->pid, p->hello.image, &p->im, &p->err)
						  : image_prepare(&req, &p->im, &p->err);

	if (r == 0)
		r = memories_of_peer(c->req.memories, p->fd, &p->memory, &p->err);
	if (r == 0 && p->hello.request == PROTOCOL_HELLO)
		r = check_selected(c, p, &p->err);
	if (r == 0 && p->hello.request == PROTOCOL_HELLO)
		r = control_follow(c, &p->events, p->pid, &p->err);
	POINT(image_prepared);
	p->result = r;
}

/* --- what the session is told ------------------------------------------------------------ */

static void keep_kinds(struct peer *p)
{
	for (size_t i = 0; i < p->im.news.modules.n; i++) {
		const struct trace_module *m = &p->im.news.modules.at[i];

		for (size_t k = 0; k < m->functions.n; k++) {
			size_t at = m->first_id - p->first_id + k;

			while (p->kinds.n <= at)
				*vec_add(&p->kinds) = HOOK_NONE;
			p->kinds.at[at] = m->functions.at[k].hook;
		}
	}
}

/* The counts of the launched program are shown: those of functions that were to be hooked, and are not. */
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

static void tell_refused(struct control *c, struct peer *p)
{
	struct image_news news = { .image = p->image, .addition = true };

	image_refused(&p->im, &news.refused);
	count_refused(p, &news.refused);
	if (news.refused.n)
		control_tell(c, &news);
}

/* --- the steps after the plan -------------------------------------------------------------- */

static void keep_state(struct control *c, struct peer *p)
{
	struct err ignored;

	if (p->hello.request == PROTOCOL_USER) {
		const struct image_state copy = { .next_id = p->first_id, .memory = p->memory, .known = p->known,
						  .by_hand = c->images.at[p->image].by_hand };

		p->image = (uint32_t)c->images.n;
		*vec_add(&c->images) = copy;
		p->known = (struct known_modules){ 0 };
		return;
	}
	if (p->hello.request == PROTOCOL_HELLO) {
		p->image = (uint32_t)c->images.n;
		*vec_add(&c->images) = (struct image_state){ .known = p->known, .memory = p->memory };
		p->known = (struct known_modules){ 0 };
	} else {
		known_modules_replace(&c->images.at[p->image].known, p->pid, &p->known);
	}
	c->images.at[p->image].next_id = p->im.next_id;
	if (c->req.events.catalogue)
		event_set_grow(&c->req.events, &ignored); /* as its copy did */
}

/* The first program's plan decides on the session; another runs untraced, which is said unless it has gone. */
static void tell_failed(struct control *c, struct peer *p, const char *exe)
{
	struct pollfd gone = { .fd = p->fd, .events = POLLRDHUP };

	if (p->first)
		control_failed(c, &p->err);
	else if (p->hello.request == PROTOCOL_HELLO && poll(&gone, 1, 0) == 0)
		notes_add(control_notes(c), NOTE_UNPLANNED, p->pid, exe);
}

bool setup_welcome(struct control *c, struct peer *p)
{
	const char *exe = p->im.news.about.exe ? p->im.news.about.exe : "", *last = strrchr(exe, '/');

	if (p->hello.request == PROTOCOL_DLOPEN)
		c->images.at[p->image].planned = false;
	if (p->result < 0) {
		tell_failed(c, p, exe);
		return false;
	}
	snprintf(p->exe, sizeof(p->exe), "%s", last ? last + 1 : exe);
	keep_state(c, p);
	image_number(&p->im, p->image);
	p->im.news.addition = p->hello.request == PROTOCOL_DLOPEN;
	shared_memory_welcome(p->memory, &p->im.welcome);
	if (p->pid == c->first_pid)
		keep_kinds(p);
	control_tell(c, &p->im.news);
	POINT(image_published);
	if (welcome_send(p->fd, &p->im.welcome, (int[]){ p->memory->fd, p->im.image_fd, p->im.code_fd < 0 ? p->im.image_fd : p->im.code_fd })) {
		POINT(welcome_sent);
		return true;
	}
	if (p->first) {
		err_set(&p->err, EPIPE, "%s ended before it could be hooked", p->exe);
		control_failed(c, &p->err);
	}
	return false;
}

void setup_settle(struct control *c, struct peer *p, const struct protocol_done *done)
{
	/* Or it died: what was patched until then stands in the patches. */
	if (done && done->note > NOTE_NONE && done->note < NOTE_KINDS)
		notes_add(control_notes(c), done->note, p->pid, p->exe);
	POINT(done_heard);
	if (!image_hear(&p->im))
		notes_add(control_notes(c), NOTE_FORGED, p->pid, p->exe);
	image_forget_unmapped(&p->im, &c->images.at[p->image].known, p->pid);
	if (p->hello.request == PROTOCOL_HELLO) {
		patch_lists_begin(&c->patches, p->pid);
		handlers_begin(&c->handlers, p->pid);
	}
	handlers_tell(&p->im, p->pid, control_notes(c));
	image_tell_unread(&p->im, p->pid, control_notes(c));
	patch_lists_add(&c->patches, p->pid, p->memory, p->im.patches, p->im.welcome.n_patches);
	tell_refused(c, p);
	control_done(c, p->pid, &p->im.count, p->hello.request != PROTOCOL_HELLO);
}

void setup_free(struct peer *p)
{
	known_modules_free(&p->known);
	event_set_free(&p->events);
	image_news_free(&p->im.news);
	image_close(&p->im);
	vec_free(&p->kinds);
}
