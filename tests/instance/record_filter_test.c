/* Out of records made for several instances: those that the program would have made for one
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../report/fixture.h"
#include "base/mem.h"
#include "instance/record_filter.h"
#include "shared/record.h"

typedef VEC(uint64_t) words;

/* --- words ---------------------------------------------------------------------------- */

static void add_event(words *w, uint64_t tsc, enum record_event type, uint64_t payload)
{
	*vec_add(w) = record_word(tsc, record_event_id(1, type), RECORD_EVENT);
	*vec_add(w) = payload;
}

static void add(words *w, const struct event *e)
{
	switch (e->kind) {
	case EVENT_ENTRY:
		*vec_add(w) = record_word(e->tsc, e->fn, RECORD_ENTRY);
		break;
	case EVENT_TAIL:
		*vec_add(w) = record_word(e->tsc, e->fn, RECORD_TAIL);
		break;
	case EVENT_EXIT:
		*vec_add(w) = record_word(e->tsc, e->site | (e->flags & EVENT_VALUE ? RECORD_EXIT_VALUE : 0), RECORD_EXIT);
		if (e->flags & EVENT_VALUE)
			*vec_add(w) = e->value;
		break;
	case EVENT_CALL:
		add_event(w, e->tsc, RECORD_EVENT_CALL, e->fn | (uint64_t)e->site << 32);
		break;
	case EVENT_ENTRY_ONLY:
		add_event(w, e->tsc, RECORD_EVENT_ENTRY_ONLY, e->fn | (uint64_t)e->site << 32);
		break;
	case EVENT_UNWIND:
		add_event(w, e->tsc, RECORD_EVENT_UNWIND, e->count);
		break;
	default:
		fail_msg("no word for kind %d", e->kind);
	}
}

static struct chunk *chunk_of(const words *w)
{
	const struct drain_run run = { .words = w->at, .n = w->n, .near_tsc = w->n ? record_tsc(w->at[0], 0) : 0 };
	struct chunk *c = chunk_new(&run);

	c->resolved = true;
	return c;
}

static void same(const struct chunk *c, const words *expected)
{
	size_t n = c ? c->n : 0;

	for (size_t i = 0; i < n && i < expected->n; i++)
		if (c->words[i] != expected->at[i])
			fail_msg("word %zu is %llx, not %llx", i, (unsigned long long)c->words[i],
				 (unsigned long long)expected->at[i]);
	assert_int_equal(n, expected->n);
}

static struct record_filter *record_filter_for(const char *tracer, const char *filter, const char *options)
{
	struct settings s;
	struct record_filter *v;
	struct err err;

	settings_init_tree(&s);
	assert_int_equal(settings_write(&s, "current_tracer", tracer, false, &err), 0);
	assert_int_equal(settings_write(&s, "set_ftrace_filter", filter, false, &err), 0);
	if (*options)
		assert_int_equal(settings_write(&s, "trace_options", options, false, &err), 0);
	v = record_filter_new(&s, false);
	settings_free(&s);
	return v;
}

/* --- said in words -------------------------------------------------------------------- */

/* From each `all` word the records of the same number of the fixture's language; in `ours` a dot
 * stands for what is left out. */
static void check_with(const char *options, const char *filter, const char *all, const char *ours)
{
	struct fixture *f = fixture_new();
	struct record_filter *v = record_filter_for("function_graph", filter, options);
	words given = { 0 }, expected = { 0 };
	struct chunk *c, *got;
	size_t n;

	fixture_thread(f, "x", 1);
	fixture_parse(f, all);
	n = f->events.n;
	for (size_t i = 0; i < n; i++)
		add(&given, &f->events.at[i]);
	fixture_parse(f, ours);
	for (size_t i = n; i < f->events.n; i++) { /* the same moments */
		f->events.at[i].tsc = f->events.at[i - n].tsc;
		if (f->events.at[i].kind != EVENT_ENTRY_ONLY)
			add(&expected, &f->events.at[i]);
	}
	c = chunk_of(&given);
	got = record_filter_chunk(v, f->info, c);
	same(got, &expected);
	chunk_put(got);
	chunk_put(c);
	vec_free(&given);
	vec_free(&expected);
	record_filter_free(v);
	fixture_free(f);
}

static void check(const char *filter, const char *all, const char *ours)
{
	check_with("", filter, all, ours);
}

static void what_is_returned_only_if_it_is_wanted(void **state)
{
	check_with("", "f", "g{ f{ h{ }f.h=1 }g.f=2 }m.g=3", "_. f{ _. _. }g.f _.");
	check_with("funcgraph-retval", "f", "g{ f{ h{ }f.h=1 }g.f=2 }m.g=3", "_. f{ _. _. }g.f=2 _.");
	check_with("funcgraph-retval", "f", "g{ f{ h{ }f.h }g.f }m.g", "_. f{ _. _. }g.f _.");
}

static void a_call_and_its_end(void **state)
{
	check("f", "g{ f{ h{ }f.h }g.f }m.g", "_. f{ _. _. }g.f _.");
}

static void a_tail_call_from_anothers_is_an_entry(void **state)
{
	check("f", "g{ h{ f~ }g.f", "_. _. f{ }g.f");
	check("f g", "g{ h~ f~ }m.g", "g{ _. f~ }m.g");
	check("g", "g{ h~ f~ }m.g", "g{ _. _. }m.g");
}

static void an_unwinder_leaves_only_ours(void **state)
{
	check("a c", "a{ b{ c{ d{ *3", "a{ _. c{ _. *1");
	check("d", "a{ b{ c{ d{ *3", "_. _. _. d{ *1");
	check("a", "a{ b{ c{ d{ *3 }m.a", "a{ _. _. _. _. }m.a");
}

/* --- a program that calls at random ---------------------------------------------------- */

#define FUNCTIONS 9
#define STEPS 3000

struct program {
	struct fixture *f;
	words all, alone; /* as it records for all, and for one */
	struct { uint32_t fn, site; bool tail; } open[64];
	size_t depth;
	uint64_t now;
	unsigned random, ours; /* ours: a bit a function */
	bool graph;
};

static unsigned draw(struct program *p, unsigned n)
{
	p->random = p->random * 1103515245u + 12345u;
	return (p->random >> 16) % n;
}

static bool is_ours(const struct program *p, uint32_t fn)
{
	return p->ours >> fn & 1;
}

/* Is there one of ours among those that share an exit with the innermost? */
static bool group_is_ours(const struct program *p)
{
	bool found = false;

	for (size_t i = p->depth; i-- > 0;) {
		found = found || is_ours(p, p->open[i].fn);
		if (!p->open[i].tail)
			break;
	}
	return found;
}

static void record(struct program *p, uint8_t kind, uint32_t fn, uint32_t site, bool ours, uint8_t our_kind)
{
	struct event e = { .tsc = ++p->now, .kind = kind, .fn = fn, .site = site };

	add(&p->all, &e);
	e.kind = our_kind;
	if (ours)
		add(&p->alone, &e);
}

static void call(struct program *p)
{
	uint32_t fn = draw(p, FUNCTIONS);
	uint32_t caller = p->depth ? p->open[p->depth - 1].fn : FIXTURE_OUTSIDE;
	bool tail = p->depth && fn != caller && draw(p, 4) == 0;
	uint32_t site = tail ? p->open[p->depth - 1].site : fixture_site(p->f, caller, fn);

	record(p, EVENT_CALL, fn, site, is_ours(p, fn) && !p->graph, EVENT_CALL);
	record(p, tail ? EVENT_TAIL : EVENT_ENTRY, fn, site, is_ours(p, fn) && p->graph,
	       tail && group_is_ours(p) ? EVENT_TAIL : EVENT_ENTRY);
	p->open[p->depth].fn = fn;
	p->open[p->depth].site = site;
	p->open[p->depth++].tail = tail;
}

static void end_call(struct program *p)
{
	bool tail;

	record(p, EVENT_EXIT, 0, p->open[p->depth - 1].site, group_is_ours(p) && p->graph, EVENT_EXIT);
	do
		tail = p->open[--p->depth].tail;
	while (tail);
}

/* In pieces, as they come. */
static void pass_through(struct program *p, struct record_filter *v)
{
	words got = { 0 };
	size_t at = 0;

	while (at < p->all.n) {
		words piece = { 0 };
		struct chunk *c, *out;

		for (size_t n = 1 + draw(p, 200); at < p->all.n && (n > 0); n--) {
			size_t length = 1 + record_payload(p->all.at[at]);

			while (length--)
				*vec_add(&piece) = p->all.at[at++];
		}
		c = chunk_of(&piece);
		out = record_filter_chunk(v, p->f->info, c);
		for (size_t i = 0; out && i < out->n; i++)
			*vec_add(&got) = out->words[i];
		chunk_put(out);
		chunk_put(c);
		vec_free(&piece);
	}
	assert_int_equal(got.n, p->alone.n);
	assert_memory_equal(got.at, p->alone.at, got.n * sizeof(*got.at));
	vec_free(&got);
}

static void run(unsigned seed, bool graph)
{
	struct program p = { .f = fixture_new(), .random = seed, .graph = graph };
	char filter[4 * FUNCTIONS] = "";
	struct record_filter *v;

	fixture_thread(p.f, "x", 1);
	p.ours = 1 + draw(&p, (1u << FUNCTIONS) - 1);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[4] = { 'f', (char)('a' + i), ' ' };

		fixture_function(p.f, name, 2);
		if (is_ours(&p, i))
			strcat(filter, name);
	}
	v = record_filter_for(graph ? "function_graph" : "function", filter, "");
	for (int i = 0; i < STEPS; i++)
		if (p.depth && (p.depth == 63 || draw(&p, 2)))
			end_call(&p);
		else
			call(&p);
	assert_true(p.alone.n > 0);
	pass_through(&p, v);
	record_filter_free(v);
	vec_free(&p.all);
	vec_free(&p.alone);
	fixture_free(p.f);
}

static void a_program_of_calls(void **state)
{
	for (unsigned seed = 1; seed <= 60; seed++)
		run(seed, seed % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_and_its_end),
		cmocka_unit_test(a_tail_call_from_anothers_is_an_entry),
		cmocka_unit_test(an_unwinder_leaves_only_ours),
		cmocka_unit_test(what_is_returned_only_if_it_is_wanted),
		cmocka_unit_test(a_program_of_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
