/* SPDX-License-Identifier: MIT */
/* Plans note outcomes on their own threads; whoever patched tells them. Nothing fails: a place that
 * cannot be probed is left out, and its event named. session/ and image.c ask. */
#include "image/probe_outcomes.h"

#include <stdio.h>

#include "shared/probe.h"

/* Notes one place; system calls' and handlers' have messages of their own. */
static void plan_place(const struct module *mod, const struct probe_point *p,
		       struct event_catalogue *c, struct image *im)
{
	const struct event_entry *e = events_at(c, p->event);
	struct probe_plan *plan = vec_add(&im->probes);

	*plan = (struct probe_plan){ .reason = REASON_NONE };
	if (p->plan.kind == HOOK_NONE)
		plan->reason = p->plan.reason ? p->plan.reason : REASON_NO_ROOM;
	else
		plan->patch = mod->base + p->plan.vaddr - p->plan.before;
	snprintf(plan->name, sizeof(plan->name), "%s:%s", e->format->system, e->format->name);
}

void probe_outcomes_plan(const struct image_request *req, const struct modules *m, struct image *im)
{
	for (size_t i = 0; i < m->at.n; i++) {
		const struct module *mod = &m->at.at[i];

		for (size_t k = 0; k < mod->probes.n; k++)
			if (mod->probes.at[k].kind == PROBE_FETCH ||
			    mod->probes.at[k].kind == PROBE_ENTRY)
				plan_place(mod, &mod->probes.at[k], req->events->catalogue, im);
	}
}

void probe_outcomes_tell(const struct image *im, pid_t pid, struct memory_messages *messages)
{
	for (size_t i = 0; i < im->probes.n; i++) {
		const struct probe_plan *p = &im->probes.at[i];
		enum hook_reason reason =
			p->patch ? image_patch_reason(im, p->patch) : (enum hook_reason)p->reason;

		if (reason)
			messages_add_probe(messages, reason, pid, p->name);
	}
}
