/* SPDX-License-Identifier: MIT */
/* Shared by cmd/follow.c, of the kernel's objects, and follow_program.c; each calls it on the
 * thread that reads the events. An option that is wrong is -EINVAL and a sentence. */
#include "ui/follow_output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ui/say.h"
#include "ui/summary.h"

/* struct follow_readers.function, in the names of whoever opened the output. */
static const struct follow_function *function_of(void *context, uint32_t n)
{
	struct follow_output *o = context;

	return o->print.function(o->print.context, n);
}

/* Without --json objects are printed as they end. */
static void print_object(void *context, const struct follow_object *object)
{
	struct follow_output *o = context;

	follow_print_object(&o->print, object);
}

/* With --json each line is printed as it comes. */
static void print_line(void *context, const struct follow_object *object,
		       const struct follow_line *l)
{
	struct follow_output *o = context;

	follow_print_json_line(&o->print, object, l);
}

void follow_output_open(struct follow_output *o, struct invocation *inv,
			const struct follow_print *print)
{
	struct follow_readers readers = {
		.line = inv->json ? print_line : NULL, .object = inv->json ? NULL : print_object,
		.function = function_of, .context = o,
	};

	/* The file of -o was made before the program ran: this gives it its name. */
	screen_open_begun(&o->screen, inv, SCREEN_PLAIN, inv->json ? NULL : paint_graph);
	o->print = *print;
	o->json = inv->json;
	follow_output_by(inv, &o->by_identity, NULL);
	o->print.to = &o->screen.text;
	o->objects = follow_objects_new(&readers);
	if (inv->json)
		follow_print_json_head(&o->print);
}

/* A follow_sink. output: a struct follow_output. */
void follow_output_event(void *output, const struct follow_event *e)
{
	struct follow_output *o = output;

	/* A buffer is followed by its address: calls that took its bytes elsewhere untold are
	 * counted (follow/copies.h). */
	if (o->by_identity)
		follow_copies_event(&o->copies, e, function_of(o, e->function));
	follow_objects_event(o->objects, e);
}

/* All objects that are left are printed. */
void follow_output_end(struct follow_output *o)
{
	follow_objects_end(o->objects);
}

void follow_output_print_totals(struct follow_output *o)
{
	struct follow_totals t;

	if (!o->json)
		return;
	t = follow_objects_totals(o->objects);
	out_printf(&o->screen.text,
		   "{\"summary\":\"objects\",\"objects\":%" PRIu64 ",\"calls\":%" PRIu64
		   ",\"returns\":%" PRIu64,
		   t.objects, t.calls, t.returns);
	if (o->copies.buffer)
		out_printf(&o->screen.text, ",\"lost_sight\":%" PRIu64,
			   follow_copies_calls(&o->copies));
	out_str(&o->screen.text, "}\n");
}

/* Calls after which the buffer's bytes are somewhere, and nobody tells where. */
static void say_copies(const struct follow_copies *c)
{
	char n[32];

	for (size_t i = 0; i < c->rows.n; i++)
		say("%s%s (%s call%s)", i ? ", " : "brace: bytes of the buffer went where they are not followed: by ",
		    c->rows.at[i].function, summary_grouped(c->rows.at[i].calls, n),
		    c->rows.at[i].calls == 1 ? "" : "s");
	if (c->rows.n)
		say("\n");
}

void follow_output_say_totals(const struct follow_output *o)
{
	struct follow_totals t = follow_objects_totals(o->objects);
	char objects[32], calls[32], returns[32];

	say("brace: %s object%s, %s call%s, %s returned\n", summary_grouped(t.objects, objects),
	    t.objects == 1 ? "" : "s", summary_grouped(t.calls, calls), t.calls == 1 ? "" : "s",
	    summary_grouped(t.returns, returns));
	say_copies(&o->copies);
}

/* *before is what separates it from the text so far; 0 is not told. */
void follow_output_say_count(uint64_t n, const char *what, const char **before)
{
	char text[32];

	if (!n)
		return;
	say("%s%s %s", *before, summary_grouped(n, text), what);
	*before = ", ";
}

/* Also where nothing was opened. Returns the status, or that of the output's failure. */
int follow_output_close(struct follow_output *o, int status)
{
	if (o->objects)
		follow_objects_free(o->objects);
	o->objects = NULL;
	follow_copies_free(&o->copies);
	return screen_close(&o->screen, status);
}

/* --by identity, which is the usual one, or field. 0, or -EINVAL and *err. */
int follow_output_by(const struct invocation *inv, bool *identity, struct err *err)
{
	*identity = !inv->by || !strcmp(inv->by, "identity");
	if (*identity || !strcmp(inv->by, "field"))
		return 0;
	return err_at(err, EINVAL, inv->by, 0, "--by: there are identity and field, not %s", inv->by);
}

/* Refuses lists with conditions on arguments. */
int follow_output_lists(const struct settings *lists, struct err *err)
{
	if (!function_list_has_conditions(&lists->filter) &&
	    !function_list_has_conditions(&lists->notrace))
		return 0;
	return err_set(err, EINVAL, "-l: follow takes no conditions on arguments: what is followed has its own");
}
