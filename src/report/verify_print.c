/* SPDX-License-Identifier: MIT */
/* Prints what verify.c found, after its last event. The command calls, on its thread; nothing fails
 * but the output, whose error stays in it. Names of the model are the user's, and are escaped. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "report/losses.h"
#include "report/location.h"
#include "report/verify_internal.h"

/* A name of the model, with control characters escaped: it goes to a terminal. */
static void print_word(struct out *o, const char *s)
{
	out_foreign(o, s, strlen(s));
}

/* The place behind the call. False: it is not known. Events have no call, and so no place. tsc
 * chooses among modules that were mapped at one address one after the other. */
static bool find_site(const struct verify *v, const struct verify_fault *f, struct location *p)
{
	if (!f->called || !f->site)
		return false;
	*p = location_of_site(v->info, v->info->threads.at[f->thread].image, f->site, f->tsc);
	return p->address;
}

/* The states that the object may have been in: "a", or "a or b". The caller frees the text. A set
 * is one bit a state (AUTOMATON_MOST); each round takes its lowest one away. */
static char *states_text(const struct verify *v, uint64_t states)
{
	char *text = mem_strdup("");

	for (; states; states &= states - 1) {
		char *longer = mem_printf("%s%s%s", text, *text ? " or " : "",
					  v->a->states.at[__builtin_ctzll(states)]);

		free(text);
		text = longer;
	}
	return text;
}

/* --- text ------------------------------------------------------------------------------------ */

static void print_object(const struct verify *v, const struct verify_fault *f, struct out *o)
{
	if (v->b->keyed)
		out_printf(o, "0x%" PRIx64 ": ", f->key);
}

/* The kernel's sentence, behind time and thread as `trace` has them. Microseconds, as everything
 * that `trace` prints: a line of this can be looked for there. */
static void print_fault(struct verify *v, const struct verify_fault *f, struct out *o)
{
	const struct trace_thread *t = &v->info->threads.at[f->thread];
	const uint64_t us = trace_clock_ns(&v->info->clock, f->tsc) / 1000;
	char *states = states_text(v, f->states);
	struct location p;

	out_printf(o, "%6" PRIu64 ".%06" PRIu64 ": ", us / 1000000, us % 1000000);
	out_name(o, trace_thread_name_at(t, f->tsc), TRACE_COMM);
	out_printf(o, "-%" PRIu32 ": ", t->tid);
	print_object(v, f, o);
	out_str(o, "event ");
	print_word(o, v->a->events.at[f->event].name);
	out_str(o, " not expected in the state ");
	print_word(o, states);
	if (find_site(v, f, &p)) {
		out_str(o, ", in ");
		location_print(o, &v->names, t->image, &p, true, false);
	}
	out_char(o, '\n');
	free(states);
}

/* "1 fault", "2 faults". */
static void print_count(uint64_t n, const char *what, struct out *o)
{
	out_printf(o, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* n 0: all that were kept. verify.all_faults counts those, too, for which there was no room. */
static size_t shown_of(const struct verify *v, size_t n)
{
	return n && n < v->faults.n ? n : v->faults.n;
}

/* The parts that are missing in the verdict, each in a line. They make the verdict weaker in one
 * direction only: a fault that is printed is one, but there may be others. */
static void print_doubts(const struct verify *v, struct out *o)
{
	if (v->doubtful)
		out_printf(o, "# %" PRIu64 " more may be none: records were lost about them\n",
			   v->doubtful);
	if (v->unknown) {
		out_str(o, "# ");
		print_count(v->unknown, "event", o);
		out_str(o, " had no object that is known: after each, any state is possible\n");
	}
	if (v->unwatched) {
		out_str(o, "# ");
		print_count(v->unwatched, "event", o);
		out_str(o, " had objects that were not watched: there are too many\n");
	}
}

/* The sums stand last, behind a possibly long list, where a terminal shows them; losses stand
 * first, because all that follows depends on them. */
void verify_print_text(struct verify *v, size_t n, struct out *o)
{
	losses_print(v->info, o);
	for (size_t i = 0; i < shown_of(v, n); i++)
		print_fault(v, &v->faults.at[i], o);
	print_doubts(v, o);
	out_str(o, "# ");
	print_word(o, v->a->name);
	out_str(o, ": ");
	print_count(v->all_faults, "fault", o);
	out_str(o, " in ");
	print_count(verify_events(v), "event", o);
	out_str(o, " of ");
	print_count(v->n_objects, "object", o);
	if (v->a->final)
		out_printf(o, "; %" PRIu64 " ended in no final state", verify_unfinished(v));
	out_char(o, '\n');
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* The site goes into memory first, because a string of JSON is escaped as a whole. */
static void print_json_site(struct verify *v, const struct verify_fault *f, struct out *o)
{
	struct out_text t = { NULL, 0 };
	struct location p;
	struct out to;

	if (!find_site(v, f, &p)) {
		out_str(o, "null");
		return;
	}
	out_init_raw(&to, out_keep_text, &t);
	location_print(&to, &v->names, v->info->threads.at[f->thread].image, &p, true, false);
	json_string(o, out_text_end(&to));
	free(t.at);
}

/* A name of TRACE_COMM characters has no NUL in its array, and json_string() wants one: hence the
 * copy. The key is a string, since readers of JSON keep 53 bits of a number. */
static void print_json_fault(struct verify *v, const struct verify_fault *f, struct out *o)
{
	const struct trace_thread *t = &v->info->threads.at[f->thread];
	char comm[TRACE_COMM + 1] = "", *states = states_text(v, f->states);

	memcpy(comm, trace_thread_name_at(t, f->tsc), TRACE_COMM);
	out_printf(o, "{\"time_ns\":%" PRIu64 ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"comm\":",
		   trace_clock_ns(&v->info->clock, f->tsc), t->pid, t->tid);
	json_string(o, comm);
	if (v->b->keyed)
		out_printf(o, ",\"object\":\"0x%" PRIx64 "\"", f->key);
	out_str(o, ",\"event\":");
	json_string(o, v->a->events.at[f->event].name);
	out_str(o, ",\"state\":");
	json_string(o, states);
	out_str(o, ",\"site\":");
	print_json_site(v, f, o);
	out_str(o, "}\n");
	free(states);
}

/* `unfinished` is null for a model without final states: 0 would say that all objects ended in
 * one. */
void verify_print_json(struct verify *v, size_t n, struct out *o)
{
	out_str(o, "{\"schema\":\"brace-rv\",\"version\":1,\"model\":");
	json_string(o, v->a->name);
	losses_print_json(v->info, o);
	out_printf(o, ",\"faults\":%" PRIu64 ",\"events\":%" PRIu64 ",\"objects\":%zu,\"unfinished\":",
		   v->all_faults, verify_events(v), v->n_objects);
	if (v->a->final)
		out_printf(o, "%" PRIu64, verify_unfinished(v));
	else
		out_str(o, "null");
	out_printf(o, ",\"doubtful\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"unwatched\":%" PRIu64 "}\n",
		   v->doubtful, v->unknown, v->unwatched);
	for (size_t i = 0; i < shown_of(v, n); i++)
		print_json_fault(v, &v->faults.at[i], o);
}
