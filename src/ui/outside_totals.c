/* SPDX-License-Identifier: MIT */
/* Called at a session's end, on the command's thread, when all records were looked at. Never
 * fails. */
#include "ui/outside_totals.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/escape.h"
#include "instance/messenger.h"
#include "tree/instance.h"
#include "ui/say.h"

/* Says one trigger's. */
static void say_one(const char *kind, const struct outside *o, bool quiet)
{
	/* Relaxed: numbers that the pump and the messenger count, and nothing is read by them. */
	unsigned long long sent = atomic_load_explicit(&o->sent, memory_order_relaxed),
			   dropped = atomic_load_explicit(&o->dropped, memory_order_relaxed);
	bool command = o->allowed && o->allowed->argv;
	char *to;

	if (!dropped && (quiet || !sent))
		return;
	to = escape_line(o->to);
	say("brace: %s:%s: %llu %s%s", kind, to, sent, command ? "run" : "sent",
	    dropped ? "" : "\n");
	if (dropped)
		say(", %llu dropped: %s\n", dropped,
		    command ? "at most ten a second begin, and four run at a time"
			    : "the receiver was not there, or did not read fast enough");
	free(to);
}

void outside_totals_say(struct tree *tree, bool quiet)
{
	struct settings s;
	bool drained = messenger_drain(MESSENGER_MS);

	instance_settings(instance_top(tree), &s);
	for (size_t e = 0; e < s.events.at.n; e++)
		for (size_t k = 0; k < s.events.at.at[e].triggers.at.n; k++) {
			const struct event_trigger *t = s.events.at.at[e].triggers.at.at[k];

			if (t->kind->action == TRIGGER_NOTIFY || t->kind->action == TRIGGER_EXEC)
				say_one(t->kind->name, t->own, quiet);
		}
	settings_free(&s);
	if (!drained)
		say("brace: a receiver of notify or the file of exec kept brace waiting: messages are left\n");
}
