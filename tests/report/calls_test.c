/* Calls out of records: tail calls, repair after longjmp and exceptions, recursion, lost
 * records. Shown as the graph's text, which says what began, what ended and at what depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "model/option.h"
#include "report/graph.h"

struct expectation {
	const char *what, *events, *text;
	struct calls_counts counts;
};

static const struct expectation bare[] = {
	{ "calls nest, leaves are one line",
	  "main{ f{ }main.f g{ h{ }g.h }main.g }",
	  "main() {\n  f();\n  g() {\n    h();\n  }\n}\n", { 0 } },
	{ "recursion",
	  "f{ f{ f{ }f.f }f.f }",
	  "f() {\n  f() {\n    f();\n  }\n}\n", { 0 } },
	{ "a tail call nests and shares the exit",
	  "main{ f{ g~ }main.f h{ }main.h }",
	  "main() {\n  f() {\n    g();\n  }\n  h();\n}\n", { 0 } },
	{ "a tail call that calls",
	  "main{ f{ g~ h{ }g.h }main.f }",
	  "main() {\n  f() {\n    g() {\n      h();\n    }\n  }\n}\n", { 0 } },
	{ "a chain of tail calls",
	  "main{ f{ g~ h~ }main.f }",
	  "main() {\n  f() {\n    g() {\n      h();\n    }\n  }\n}\n", { 0 } },
	{ "a loop to its own entry is no call",
	  "main{ f{ f~ f~ f~ }main.f }",
	  "main() {\n  f();\n}\n", { 0 } },
	{ "a tail call with nothing below",
	  "f~ g{ }f.g }",
	  "f() {\n  g();\n}\n", { 0 } },
	{ "entry only",
	  "main{ setjmp. f{ fork. }main.f }",
	  "main() {\n  setjmp();\n  f() {\n    fork();\n  }\n}\n", { 0 } },
	{ "longjmp over three calls, seen at the exit of the one that set it",
	  "main{ try{ a{ b{ c{ }main.try d{ }main.d }",
	  "main() {\n  try() {\n    a() {\n      b() {\n        c() {\n        } /* c unwound */\n"
	  "      } /* b unwound */\n    } /* a unwound */\n  }\n  d();\n}\n", { .unwound = 3 } },
	{ "longjmp to main, which calls on: the next exit at a site that is known",
	  "main{ d{ }main.d a{ b{ d{ }main.d }",
	  "main() {\n  d();\n  a() {\n    b() {\n      d();\n    } /* b unwound */\n  } /* a unwound */\n}\n",
	  { .unwound = 2 } },
	{ "the same where the known function tail-calls",
	  "main{ d{ t~ }main.d a{ b{ d{ t~ }main.d }",
	  "main() {\n  d() {\n    t();\n  }\n  a() {\n    b() {\n      d() {\n        t();\n      }\n"
	  "    } /* b unwound */\n  } /* a unwound */\n}\n",
	  { .unwound = 2 } },
	{ "the one that caught calls on: what was made after the longjmp has returned",
	  "main{ try{ a{ longjmp{ h{ }try.h }main.try }",
	  "main() {\n  try() {\n    a() {\n      longjmp() {\n        h();\n      } /* longjmp unwound */\n"
	  "    } /* a unwound */\n  }\n}\n", { .unwound = 2 } },
	{ "the one that caught returns at once: longjmp has not returned",
	  "main{ try{ a{ longjmp{ }main.try }",
	  "main() {\n  try() {\n    a() {\n      longjmp() {\n      } /* longjmp unwound */\n"
	  "    } /* a unwound */\n  }\n}\n", { .unwound = 2 } },
	{ "the first thing a catch does has returned, even with the throw gone from the stack",
	  "main{ try{ a{ b{ __cxa_begin_catch{ }try.__cxa_begin_catch }main.try }",
	  "main() {\n  try() {\n    a() {\n      b() {\n        __cxa_begin_catch();\n      } /* b unwound */\n"
	  "    } /* a unwound */\n  }\n}\n", { .unwound = 2 } },
	{ "unwinding over tail calls",
	  "main{ try{ a{ t~ b{ }main.try }",
	  "main() {\n  try() {\n    a() {\n      t() {\n        b() {\n        } /* b unwound */\n"
	  "      } /* t unwound */\n    } /* a unwound */\n  }\n}\n", { .unwound = 3 } },
	{ "the function that caught had tail-called",
	  "main{ try{ t~ a{ }main.try }",
	  "main() {\n  try() {\n    t() {\n      a() {\n      } /* a unwound */\n    }\n  }\n}\n",
	  { .unwound = 1 } },
	{ "unwind records say it themselves",
	  "main{ a{ b{ *2 c{ }main.c }",
	  "main() {\n  a() {\n    b() {\n    } /* b unwound */\n  } /* a unwound */\n  c();\n}\n",
	  { .unwound = 2 } },
	{ "more unwound than there is",
	  "f{ *9 g{ }",
	  "f() {\n} /* f unwound */\ng();\n", { .unwound = 1 } },
	{ "a callback from a library that is not traced",
	  "main{ sort{ cmp{ }libc.cmp cmp{ }libc.cmp }main.sort }",
	  "main() {\n  sort() {\n    cmp();\n    cmp();\n  }\n}\n", { 0 } },
	{ "a callback from a library function that is known and not hooked",
	  "main{ sort{ cmp{ }unhooked.cmp cmp{ }unhooked.cmp }main.sort }",
	  "main() {\n  sort() {\n    cmp();\n    cmp();\n  }\n}\n", { 0 } },
	{ "exits without entries",
	  "} }a.b f{ }",
	  "f();\n", { .unmatched_exits = 2 } },
	{ "an exit whose entry is missing does not end its caller",
	  "main{ f{ }f.g }main.f }",
	  "main() {\n  f();\n}\n", { .unmatched_exits = 1 } },
	{ "open at the end: no closing brace",
	  "main{ f{ g{ }f.g",
	  "main() {\n  f() {\n    g();\n", { 0 } },
	{ "lost records are told; what was open goes on",
	  "main{ f{ ?12 }main.f }",
	  "main() {\n  f() {\nCPU:0 [LOST 12 EVENTS]\n  }\n}\n", { .lost = 12 } },
	{ "an exit that was lost: found when the caller's comes",
	  "main{ f{ g{ ?2 }main.f h{ }main.h }",
	  "main() {\n  f() {\n    g() {\nCPU:0 [LOST 2 EVENTS]\n    } /* g unwound */\n  }\n  h();\n}\n",
	  { .unwound = 1, .lost = 2 } },
	{ "an entry that was lost: the site is known to call another function",
	  "main{ h{ }main.h f{ ?3 }main.h g{ }f.g }main.f }",
	  "main() {\n  h();\n  f() {\nCPU:0 [LOST 3 EVENTS]\n    g();\n  }\n}\n", { .unmatched_exits = 1, .lost = 3 } },
	{ "threads have stacks of their own",
	  "f{ #1 %1 a{ #0 %0 g{ #1 %1 b{ }a.b #0 %0 }f.g #1 %1 } #0 %0 }",
	  "f() {\na() {\n  g();\n  b();\n}\n}\n", { 0 } },
	{ "a leaf that another thread of the CPU interrupts is none",
	  "f{ #1 g{ } #0 }",
	  "f() {\n ------------------------------------------\n 0)     x-1000     =>     x-1001    \n"
	  " ------------------------------------------\n\ng();\n"
	  " ------------------------------------------\n 0)     x-1001     =>     x-1000    \n"
	  " ------------------------------------------\n\n} /* f */\n", { 0 } },
	{ "a leaf that another CPU's thread overlaps is one",
	  "f{ #1 %1 g{ #0 %0 } #1 %1 }",
	  "f();\ng();\n", { 0 } },
	{ "a call that ends on another CPU is no leaf, and gets its name",
	  "f{ %1 }",
	  "f() {\n} /* f */\n", { 0 } },
};

static const struct expectation timed[] = {
	{ "durations of tail calls and unwound calls",
	  "main{ f{ g~ }main.f try{ a{ +250 }main.try }",
	  " 0)               |  main() {\n"
	  " 0)               |    f() {\n"
	  " 0)   1.000 us    |      g();\n"
	  " 0)   2.000 us    |    }\n"
	  " 0)               |    try() {\n"
	  " 0)               |      a() {\n"
	  " 0)   1.250 us    |      } /* a unwound */\n"
	  " 0)   2.250 us    |    }\n"
	  " 0)   7.250 us    |  }\n", { .unwound = 1 } },
	{ "what was slept is no part of the calls that were open",
	  "main{ f{ +5000 /4000 }main.f g{ }main.g }",
	  " 0)               |  main() {\n"
	  " 0)   2.000 us    |    f();\n"
	  " 0)   1.000 us    |    g();\n"
	  " 0)   6.000 us    |  }\n", { 0 } },
	{ "nor of what its caller did itself, twice; nor another thread's",
	  "main{ #1 %1 x{ y{ }x.y #0 %0 f{ +2000 /1500 g{ +700 /600 }f.g }main.f } #1 %1 }",
	  " 0)               |  main() {\n"
	  " 1)               |  x() {\n"
	  " 1)   1.000 us    |    y();\n"
	  " 0)               |    f() {\n"
	  " 0)   1.100 us    |      g();\n"
	  " 0)   3.600 us    |    }\n"
	  " 0)   8.600 us    |  }\n"
	  " 1) + 10.700 us   |  }\n", { 0 } },
	{ "of what was slept before or while a call began only what is in it, and no time is negative",
	  "f{ /1500 }",
	  " 0)   0.000 us    |  f();\n", { 0 } },
	{ "what is told twice counts once, and what cannot be does not",
	  "f{ +3000 /2000 /2000 /2500 /0 }",
	  " 0)   2.000 us    |  f();\n", { 0 } },
	{ "entry only has no duration",
	  "setjmp.",
	  " 0)               |  setjmp();\n", { 0 } },
};

/* With funcgraph-retval. */
static const struct expectation valued[] = {
	{ "a leaf and a call with others in it",
	  "main{ f{ }main.f=0x2f }=0",
	  "main() {\n  f(); /* = 0x2f */\n} /* main = 0x0 */\n", { 0 } },
	{ "error codes, of a long and of an int, and what is none",
	  "f{ }=-1 f{ }=-4095 f{ }=-4096 f{ }=0xfffffffe f{ }=0xfffff001 f{ }=0xfffff000 f{ }=0x1fffffffe f{ }=4095",
	  "f(); /* = -1 */\nf(); /* = -4095 */\nf(); /* = 0xfffffffffffff000 */\nf(); /* = -2 */\n"
	  "f(); /* = -4095 */\nf(); /* = 0xfffff000 */\nf(); /* = 0x1fffffffe */\nf(); /* = 0xfff */\n", { 0 } },
	{ "a tail call returns for its caller too",
	  "main{ f{ g~ }main.f=7 }=8",
	  "main() {\n  f() {\n    g(); /* = 0x7 */\n  } /* f = 0x7 */\n} /* main = 0x8 */\n", { 0 } },
	{ "what ended without returning has none, nor what was recorded without",
	  "main{ try{ a{ b{ }main.try=1 }",
	  "main() {\n  try() {\n    a() {\n      b() {\n      } /* b unwound */\n    } /* a unwound */\n"
	  "  } /* try = 0x1 */\n}\n", { .unwound = 2 } },
};

static char *graph_text(const char *events, uint64_t options, bool flush_always, struct calls_counts *counts)
{
	struct fixture *f = fixture_new();
	struct text text = { 0 };
	struct out out;
	struct graph *g;

	fixture_parse(f, events);
	out_init(&out, text_flush, &text);
	g = graph_new(f->info, options, &out);
	for (size_t i = 0; i < f->events.n; i++) {
		graph_event(g, &f->events.at[i]);
		if (flush_always)
			graph_flush(g);
	}
	graph_flush(g);
	*counts = graph_counts(g);
	assert_int_equal(out_flush(&out), 0);
	graph_free(g);
	out_free(&out);
	fixture_free(f);
	text_end(&text);
	return text.bytes.at;
}

static void expect(const struct expectation *e, uint64_t options)
{
	struct calls_counts counts;
	char *got = graph_text(e->events, options, false, &counts);

	if (strcmp(got, e->text))
		printf("%s:\n%s\n", e->what, e->events);
	assert_string_equal(got, e->text);
	assert_int_equal(counts.unwound, e->counts.unwound);
	assert_int_equal(counts.unmatched_exits, e->counts.unmatched_exits);
	assert_int_equal(counts.lost, e->counts.lost);
	free(got);
}

static void test_shapes(void **state)
{
	uint64_t options = options_default() & ~OPTION_BIT(OPTION_CONTEXT_INFO);

	for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++)
		expect(&bare[i], options);
}

static void test_durations(void **state)
{
	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
		expect(&timed[i], options_default());
}

static void test_values(void **state)
{
	uint64_t options = options_default() & ~OPTION_BIT(OPTION_CONTEXT_INFO);
	struct calls_counts counts;
	char *got;

	for (size_t i = 0; i < sizeof(valued) / sizeof(valued[0]); i++)
		expect(&valued[i], options | OPTION_BIT(OPTION_GRAPH_RETVAL));
	got = graph_text("f{ }=-1", options | OPTION_BIT(OPTION_GRAPH_RETVAL) | OPTION_BIT(OPTION_GRAPH_RETVAL_HEX), false, &counts);
	assert_string_equal(got, "f(); /* = 0xffffffffffffffff */\n");
	free(got);
	got = graph_text("f{ }=-1", options, false, &counts);
	assert_string_equal(got, "f();\n");
	free(got);
}

/* Over a threshold, not at it. */
static void test_marks(void **state)
{
	static const struct { uint64_t ns; char mark; } cases[] = {
		{ 10000, ' ' }, { 10001, '+' }, { 100000, '+' }, { 100001, '!' }, { 1000000, '!' },
		{ 1000001, '#' }, { 10000000, '#' }, { 10000001, '*' }, { 100000000, '*' },
		{ 100000001, '@' }, { 1000000000, '@' }, { 1000000001, '$' }, { UINT64_MAX, '$' },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(format_mark(cases[i].ns), cases[i].mark);
}

/* A live reader that has nothing more to read shows what it has. */
static void test_flush(void **state)
{
	uint64_t options = options_default() & ~OPTION_BIT(OPTION_CONTEXT_INFO);
	struct calls_counts counts;
	char *got = graph_text("main{ f{ }main.f }", options, true, &counts);

	assert_string_equal(got, "main() {\n  f() {\n  }\n}\n");
	free(got);
}

/* An entry waits for its end behind at most GRAPH_LOOKAHEAD steps of other CPUs. */
static void test_window(void **state)
{
	for (int fits = 0; fits < 2; fits++) {
		struct fixture *f = fixture_new();
		uint32_t fn = fixture_function(f, "f", 1), a = fixture_thread(f, "a", 1), b = fixture_thread(f, "b", 2);
		size_t others = (GRAPH_LOOKAHEAD - (fits ? 2 : 0)) / 2;
		struct event e = { .tsc = 1, .fn = fn, .thread = a, .kind = EVENT_ENTRY };
		struct text text = { 0 };
		struct out out;
		struct graph *g;

		out_init(&out, text_flush, &text);
		g = graph_new(f->info, options_default() & ~OPTION_BIT(OPTION_CONTEXT_INFO), &out);
		graph_event(g, &e);
		for (size_t i = 0; i < 2 * others; i++) {
			struct event o = { .tsc = 2 + i, .fn = fn, .thread = b, .cpu = 1,
					   .kind = i % 2 ? EVENT_EXIT : EVENT_ENTRY };

			graph_event(g, &o);
		}
		e.kind = EVENT_EXIT;
		graph_event(g, &e);
		graph_flush(g);
		out_flush(&out);
		assert_int_equal(strncmp(text_end(&text), fits ? "f();\n" : "f() {\n", 5), 0);
		assert_int_equal(text.bytes.n, 5 * others + (fits ? 5 : 6 + 2));
		graph_free(g);
		out_free(&out);
		vec_free(&text.bytes);
		fixture_free(f);
	}
}

/* A call may be its function's last instruction: what it returns to is the next function. */
static void test_site_at_end(void **state)
{
	struct fixture *f = fixture_new();
	uint32_t caller = fixture_function(f, "caller", 6), next = fixture_function(f, "next", 4);
	uint32_t site = fixture_site(f, caller, next), image = 0;
	const struct trace_module *m = &f->info->modules.at[0];
	struct sites sites;

	f->info->images.at[image].sites.at[site] = m->base + m->functions.at[next].vaddr;
	sites_init(&sites, f->info);
	for (int again = 0; again < 2; again++)
		assert_int_equal(site_caller(f->info, sites_map(&sites, image), image, site, 1), caller);
	sites_free(&sites);
	fixture_free(f);
}

static void count_step(void *arg, const struct call_step *s)
{
	*(uint64_t *)arg += s->kind == CALL_LEAVE;
}

/* Callbacks deep in a recursion: looking for their callers all the way down each time would take
 * minutes. */
static void test_callbacks_deep_down(void **state)
{
	enum { DEPTH = 1000000 };
	struct fixture *f = fixture_new();
	struct event e = { .thread = fixture_thread(f, "a", 1), .fn = fixture_function(f, "f", 1) };
	uint32_t site = fixture_site(f, fixture_function(f, "unhooked", 8), e.fn);
	struct calls calls;
	struct sites sites;
	uint64_t left = 0;

	sites_init(&sites, f->info);
	calls_init(&calls, f->info, sites_map(&sites, 0), 0);
	for (unsigned i = 0; i < 2 * DEPTH; i++) {
		e.tsc++;
		e.kind = i < DEPTH ? EVENT_ENTRY : EVENT_EXIT;
		e.site = site;
		calls_feed(&calls, &e, count_step, &left);
	}
	assert_int_equal(left, DEPTH);
	calls_free(&calls);
	sites_free(&sites);
	fixture_free(f);
}

static void feed(struct calls *c, enum event_kind kind, uint32_t fn, uint32_t site)
{
	struct event e = { .kind = (uint8_t)kind, .fn = fn, .site = site, .tsc = 1 };
	uint64_t left = 0;

	calls_feed(c, &e, count_step, &left);
}

/* Exits of calls that a function made which is open nowhere, or only as what tail-called, and gaps,
 * on a deep stack: a walk down for each would take minutes. */
static void test_foreign_exits_deep_down(void **state)
{
	enum { DEPTH = 300000 };
	struct fixture *f = fixture_new();
	const uint32_t fn = fixture_function(f, "f", 1), tailing = fixture_function(f, "tailing", 7);
	const uint32_t sites_of[] = { fixture_site(f, fixture_function(f, "absent", 6), fn), fixture_site(f, tailing, fn) };
	struct calls calls;
	struct sites sites;

	sites_init(&sites, f->info);
	calls_init(&calls, f->info, sites_map(&sites, 0), 0);
	feed(&calls, EVENT_ENTRY, tailing, 0);
	feed(&calls, EVENT_TAIL, fixture_function(f, "jumped_to", 9), 0);
	for (unsigned i = 0; i < DEPTH; i++)
		feed(&calls, EVENT_ENTRY, fn, 0);
	for (unsigned i = 0; i < DEPTH; i++) {
		feed(&calls, EVENT_ENTRY, fn, 0);
		feed(&calls, EVENT_EXIT, 0, sites_of[i % 2]);
		feed(&calls, EVENT_LOST, 0, 0);
		assert_int_equal(calls.n, DEPTH + 2);
	}
	calls_free(&calls);
	sites_free(&sites);
	fixture_free(f);
}

static size_t first_of_group(const struct calls *c, size_t i)
{
	while (i && c->at[i].flags & CALL_TAIL)
		i--;
	return i;
}

/* How many calls are open behind an exit of a call that `caller` made, by a walk. */
static size_t left_by_walk(const struct calls *c, uint32_t caller)
{
	size_t group = c->n ? first_of_group(c, c->n - 1) : 0;

	if (!c->n || (group && c->at[group - 1].fn == caller) || c->at[c->n - 1].fn != caller)
		for (size_t i = group; c->n; i = first_of_group(c, i - 1)) {
			if (i && c->at[i - 1].fn == caller)
				return i;
			if (!i)
				return group;
		}
	return c->n;
}

/* The index of a deep stack finds what a walk finds, whatever comes and goes. */
static void test_index(void **state)
{
	enum { FUNCTIONS = 40, STEPS = 100000 };
	struct fixture *f = fixture_new();
	uint32_t site[FUNCTIONS], random = 1;
	struct calls calls;
	struct sites sites;
	size_t deep = 0, wanted;

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		const char name[] = { 'a' + (char)(i / 8), 'a' + (char)(i % 8) };

		assert_int_equal(fixture_function(f, name, 2), i);
	}
	for (unsigned i = 0; i < FUNCTIONS; i++)
		site[i] = fixture_site(f, i, 0);
	sites_init(&sites, f->info);
	calls_init(&calls, f->info, sites_map(&sites, 0), 0);
	for (unsigned i = 0; i < STEPS; i++) {
		random = random * 1664525 + 1013904223;
		/* the last ten functions are never open; few exits lead far down */
		const uint32_t what = random >> 28, fn = (random >> 8) % FUNCTIONS;

		if (what < 10) {
			feed(&calls, what < 2 ? EVENT_TAIL : EVENT_ENTRY, fn % 30, 0);
			continue;
		}
		const uint32_t caller = what == 15 && !(random >> 24 & 15) ? fn : 30 + fn % 10;

		wanted = left_by_walk(&calls, caller);
		deep += calls.n > 64;
		feed(&calls, EVENT_EXIT, 0, site[caller]);
		assert_int_equal(calls.n, wanted);
		for (size_t n = calls.n; random >> 20 & 1; n--)
			if (!n || calls.at[n - 1].fn == fn) {
				assert_int_equal(calls_find(&calls, fn), n - 1);
				break;
			}
	}
	assert_true(deep > STEPS / 100);
	calls_free(&calls);
	sites_free(&sites);
	fixture_free(f);
}

/* The stack has an end; what lies beyond is counted, so that exits still fit. */
static void test_deep(void **state)
{
	struct fixture *f = fixture_new();
	uint32_t fn = fixture_function(f, "f", 1), thread = fixture_thread(f, "a", 1);
	struct calls calls;
	struct sites sites;
	struct event e = { .tsc = 1, .fn = fn, .thread = thread, .kind = EVENT_ENTRY };
	uint64_t left = 0;

	sites_init(&sites, f->info);
	calls_init(&calls, f->info, sites_map(&sites, 0), 0);
	for (size_t i = 0; i < CALLS_DEPTH_MAX + 10; i++)
		calls_feed(&calls, &e, count_step, &left);
	assert_int_equal(calls.n, CALLS_DEPTH_MAX);
	e.kind = EVENT_EXIT;
	for (size_t i = 0; i < CALLS_DEPTH_MAX + 10; i++)
		calls_feed(&calls, &e, count_step, &left);
	assert_int_equal(calls.n, 0);
	assert_int_equal(calls.counts.unmatched_exits, 0);
	assert_int_equal(left, CALLS_DEPTH_MAX);
	calls_free(&calls);
	sites_free(&sites);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes), cmocka_unit_test(test_durations), cmocka_unit_test(test_values), cmocka_unit_test(test_marks),
		cmocka_unit_test(test_flush), cmocka_unit_test(test_window), cmocka_unit_test(test_site_at_end), cmocka_unit_test(test_deep), cmocka_unit_test(test_callbacks_deep_down),
		cmocka_unit_test(test_foreign_exits_deep_down), cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
