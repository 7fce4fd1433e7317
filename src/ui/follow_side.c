/* SPDX-License-Identifier: MIT */
/* Shared by cmd/follow.c, of the kernel's objects alone, and follow_border.c, of those that a
 * program's lead to; each calls it on its thread. What the kernel refuses is the command's
 * error. */
#include "ui/follow_side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/monotonic.h"
#include "ui/follow_output.h"
#include "ui/say.h"
#include "ui/summary.h"

#define LIMIT_USUAL 200u

/* Objects without a type are a program's. */
int follow_side_read(struct follow_side *s, const char *text, const char *show, struct err *err)
{
	int e = follow_preset_read(text, &s->preset, err);

	if (!e)
		e = follow_expression_parse(s->preset.text, &s->expression, err);
	if (e)
		/* A preset (packet, fd:3) stands for an expression that the user has not written:
		 * the fault is put into his own words. */
		follow_preset_blame(&s->preset, err);
	if (!e && s->expression.by_value)
		e = err_set(err, EINVAL, "%s: objects of the kernel have types: struct sk_buff, for example", text);
	if (!e && show)
		e = follow_shown_parse(show, &s->shown, err);
	if (e)
		return e;
	follow_preset_ends(&s->preset, s->expression.type);
	s->type = s->preset.buffer_bytes      ? mem_strdup("buffer's address or iterator, a packet, page or folio")
		  : s->preset.descriptor >= 0 ? mem_strdup("file, inode, socket or packet of a descriptor")
					      : mem_printf("struct %s", s->expression.type);
	return 0;
}

int follow_side_open(struct follow_side *s, const struct invocation *inv,
		     const struct settings *lists, const char *const *ends, bool some,
		     struct err *err)
{
	struct follow_spec spec = {
		.expression = &s->expression, .shown = &s->shown, .some = some,
		.descriptor = s->preset.descriptor, .buffer = s->preset.buffer,
		.buffer_bytes = s->preset.buffer_bytes, .packets = s->preset.filter,
		.filter = &lists->filter,
		.notrace = &lists->notrace, .modules = &lists->modules,
		.limit = inv->limit ? inv->limit : LIMIT_USUAL, .ends_usual = !ends,
		.ends = ends ? ends : s->preset.ends, .way = inv->of_follow.attach,
	};
	int e = follow_output_by(inv, &spec.by_identity, err);

	if (!e)
		e = follow_output_lists(lists, err);
	if (!e)
		e = follow_kernel_open(&spec, &s->kernel, err);
	if (e)
		follow_preset_blame(&s->preset, err);
	return e;
}

/* The kernel waits until no CPU is in the program. */
void follow_side_detach(struct follow_side *s)
{
	uint64_t began = monotonic_ms();

	follow_kernel_detach(s->kernel);
	s->detach_ms = monotonic_ms() - began;
}

/* Other types that the functions may take, for the sentence behind the type itself. */
static const char *also_taken(const struct follow_side *s)
{
	if (!follow_kernel_plan(s->kernel)->io.is_wanted)
		return "";
	return strcmp(s->expression.type, "bio") ? ", or a bio or request with its data,"
						 : ", or a request with one,";
}

/* Always said, also if all are watched: an object that is not seen may have been in one of the
 * others. */
void follow_side_say_functions(const struct follow_side *s)
{
	const struct follow_census *c = follow_kernel_census(s->kernel);
	const char *before = "; not watched: ";
	char watched[32], takes[32];

	say("brace: %s of %s functions that take a %s%s watched by %s, attached in %.2f s, detached in %.2f s",
	    summary_grouped(c->watched, watched), summary_grouped(c->takes, takes), s->type,
	    also_taken(s), follow_kernel_way_name(follow_kernel_way(s->kernel)),
	    (double)s->attach_ms / 1000,
	    (double)s->detach_ms / 1000);
	follow_output_say_count(c->untraceable, "not traceable", &before);
	follow_output_say_count(c->beyond, "that take it on the stack", &before);
	follow_output_say_count(c->ambiguous, "whose name is not unique", &before);
	follow_output_say_count(c->unchosen, "not chosen", &before);
	follow_output_say_count(c->refused, "refused by the kernel", &before);
	say("\n");
}

/* All three counters, always. */
void follow_side_say_losses(const struct follow_losses *l)
{
	const char *before = "; also ";
	char full[32], missed[32], recursed[32];

	say("brace: lost: %s events (buffer full), %s calls (missed by the kernel), %s calls (another BPF program ran)",
	    summary_grouped(l->full, full),
	    l->known_missed ? summary_grouped(l->missed, missed) : "unknown",
	    summary_grouped(l->recursed, recursed));
	follow_output_say_count(l->deep, "returns of calls that lay too deep", &before);
	follow_output_say_count(l->crowded, "objects (too many at once)", &before);
	say("\n");
}

/* A reader of the lines has nothing else: the sentences go to the terminal, or with -q nowhere. */
void follow_side_print_json(const struct follow_side *s, const struct follow_losses *l,
			    struct out *to)
{
	const struct follow_census *c = follow_kernel_census(s->kernel);

	out_str(to, "{\"summary\":\"kernel\",\"type\":");
	json_string(to, s->type);
	out_printf(to, ",\"way\":\"%s\",\"takes\":%u,\"watched\":%u,\"not_traceable\":%u,\"on_stack\":%u"
		       ",\"not_unique\":%u,\"not_chosen\":%u,\"refused\":%u",
		   follow_kernel_way_name(follow_kernel_way(s->kernel)), c->takes, c->watched,
		   c->untraceable, c->beyond, c->ambiguous, c->unchosen, c->refused);
	out_printf(to, ",\"lost_events\":%" PRIu64 ",\"missed_calls\":", l->full);
	if (l->known_missed)
		out_printf(to, "%" PRIu64, l->missed);
	else
		out_str(to, "null");
	out_printf(to, ",\"recursed_calls\":%" PRIu64 ",\"lost_returns\":%" PRIu64
		       ",\"lost_objects\":%" PRIu64 "}\n",
		   l->recursed, l->deep, l->crowded);
}

void follow_side_free(struct follow_side *s)
{
	follow_kernel_close(s->kernel);
	follow_shown_free(&s->shown);
	follow_preset_free(&s->preset);
	free(s->type);
}
