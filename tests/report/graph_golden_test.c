/* Every function_graph output of the kernel goes round: its lines are read back into
 * entries and exits with the times and durations they show, and what we print from those
 * must be the file, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "golden.h"
#include "model/option.h"
#include "report/graph.h"

#define CPUS 2
#define DEPTH_MAX 100

struct opened { size_t event; uint32_t fn; uint64_t us; char *line; };

struct thread_state { struct opened open[DEPTH_MAX]; unsigned depth; };

struct reader {
	const struct golden *g;
	struct fixture *f;
	uint32_t running[CPUS];
	struct thread_state threads[64];
	uint64_t now;
	const char *end;         /* where the text that makes events ends */
	struct trace_header header;
	char preempt[16], kernel[32];
};

/* One line, its columns taken apart. */
struct line {
	unsigned cpu;
	uint32_t thread;
	uint64_t us, ns;         /* absolute time; duration */
	bool timed;              /* it has a duration */
	unsigned depth;
	char *start;
	const char *text;
	size_t n;
	bool valued;             /* it says what was returned */
	uint64_t value;
};

static bool on(const struct reader *r, enum trace_option o)
{
	return option_is_set(r->g->options, o);
}

static uint32_t thread_named(struct reader *r, const char *text, size_t n)
{
	char name[32];
	char *dash;

	while (n && *text == ' ')
		text++, n--;
	while (n && text[n - 1] == ' ')
		n--;
	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	dash = strrchr(name, '-');
	assert_non_null(dash);
	*dash = '\0';
	return fixture_thread(r->f, name, (uint32_t)strtoul(dash + 1, NULL, 10));
}

static bool is_switch(const char *line)
{
	const char *arrow = strstr(line, " => ");

	return arrow && arrow < strchr(line, '\n') && *line == ' ' && !strchr("#|", line[1]) &&
	       !memchr(line, '|', (size_t)(arrow - line));
}

/* "0.875", "7917.419", "34474.94", "1200565": nanoseconds. */
static uint64_t nanoseconds(const char *text)
{
	char *end;
	uint64_t ns = 1000 * strtoull(text, &end, 10);

	for (uint64_t unit = 100; *end == '.' || (*end >= '0' && *end <= '9'); end++) {
		if (*end == '.')
			continue;
		ns += unit * (uint64_t)(*end - '0');
		unit /= 10;
	}
	return ns;
}

static const char *after_bar(const char *at)
{
	return strchr(at, '|') + 1;
}

static const char *read_context(struct reader *r, const char *at, struct line *l)
{
	if (on(r, OPTION_GRAPH_ABSTIME)) {
		char *dot;

		l->us = strtoull(at, &dot, 10) * 1000000;
		l->us += strtoull(dot + 1, NULL, 10);
		at = after_bar(at) + 2;
	}
	if (on(r, OPTION_GRAPH_CPU)) {
		l->cpu = (unsigned)strtoul(at, (char **)&at, 10);
		assert_in_range(l->cpu, 0, CPUS - 1);
		at += 2;
	}
	l->thread = r->running[l->cpu];
	if (on(r, OPTION_GRAPH_PROC)) {
		l->thread = thread_named(r, at, (size_t)(strchr(at, '|') - at));
		at = after_bar(at) + 1;
		if (!on(r, OPTION_GRAPH_CPU)) /* no switch lines: each had a CPU of its own */
			l->cpu = l->thread % CPUS;
	}
	if (on(r, OPTION_LATENCY_FORMAT))
		at = after_bar(at) + 1;
	return at;
}

/* " = 0x2f" or " = -22"; the rest of the line is then as without. */
static void read_value(struct line *l)
{
	const char *equals = strstr(l->text, " = "), *leaf = strstr(l->text, "(); /*");

	l->valued = equals && equals < l->text + l->n;
	if (!l->valued)
		return;
	l->value = equals[3] == '-' ? (uint64_t)strtoll(equals + 3, NULL, 10) : strtoull(equals + 3, NULL, 16);
	l->n = leaf && leaf < equals ? (size_t)(leaf - l->text) + 3 : (size_t)(equals - l->text) + 3;
}

static struct line read_line(struct reader *r, char *at)
{
	struct line l = { .start = at, .ns = 500 };
	const char *text = at;

	if (on(r, OPTION_CONTEXT_INFO))
		text = read_context(r, text, &l);
	else
		l.thread = r->running[0];
	if (on(r, OPTION_CONTEXT_INFO) && on(r, OPTION_GRAPH_DURATION)) {
		l.timed = strspn(text + 2, " ") < 8;
		if (l.timed)
			l.ns = nanoseconds(text + 2);
		text = after_bar(text) + 2;
	}
	l.depth = (unsigned)strspn(text, " ") / 2;
	l.text = text + 2 * l.depth;
	l.n = strcspn(l.text, "\n");
	read_value(&l);
	return l;
}

static struct event event_of(const struct line *l, enum event_kind kind, uint64_t tsc)
{
	return (struct event){ .tsc = tsc, .thread = l->thread, .cpu = (uint16_t)l->cpu, .kind = (uint8_t)kind };
}

static void put_entry(struct reader *r, const struct line *l, const char *name, size_t n)
{
	struct thread_state *t = &r->threads[l->thread];
	struct event e = event_of(l, EVENT_ENTRY, on(r, OPTION_GRAPH_ABSTIME) ? 1000 * l->us + 500 : r->now++);

	assert_int_equal(t->depth, l->depth);
	assert_true(t->depth < DEPTH_MAX);
	e.fn = fixture_function(r->f, name, n);
	t->open[t->depth++] = (struct opened){ fixture_event(r->f, e), e.fn, l->us, l->start };
}

/* Times are printed without their last digits: picks an entry time that fits both lines. The
 * kernel reads the clock for a line's time and for the duration apart from each other; where
 * the two contradict each other, the time in the `{` line gives way, by a few microseconds. */
static void fit_entry(struct reader *r, const struct opened *o, const struct line *l)
{
	uint64_t *tsc = &r->f->events.at[o->event].tsc;
	int64_t lo = (int64_t)(1000 * l->us) - (int64_t)(1000 * o->us) - (int64_t)l->ns, hi = lo + 999;
	char time[32];

	if (lo <= 999 && hi >= 0) {
		*tsc = 1000 * o->us + (uint64_t)((lo < 0 ? 0 : lo) + (hi > 999 ? 999 : hi)) / 2;
		return;
	}
	assert_in_range(lo + 20000, 0, 40000);
	*tsc = 1000 * l->us + 500 - l->ns;
	snprintf(time, sizeof(time), "%5lu.%06lu", *tsc / 1000000000, *tsc / 1000 % 1000000);
	memcpy(o->line, time, strlen(time));
}

static void tell_value(struct event *e, const struct line *l)
{
	e->flags = l->valued ? EVENT_VALUE : 0;
	e->value = l->value;
}

static void put_exit(struct reader *r, const struct line *l, bool leaf)
{
	struct thread_state *t = &r->threads[l->thread];
	struct opened *o = &t->open[--t->depth];
	struct event e;

	assert_int_equal(t->depth, l->depth);
	if (on(r, OPTION_GRAPH_ABSTIME) && l->timed && !leaf)
		fit_entry(r, o, l);
	e = event_of(l, EVENT_EXIT, r->f->events.at[o->event].tsc + l->ns);
	if (on(r, OPTION_GRAPH_ABSTIME) && !l->timed)
		e.tsc = 1000 * l->us + 999;
	tell_value(&e, l);
	e.site = fixture_site(r->f, t->depth ? t->open[t->depth - 1].fn : FIXTURE_OUTSIDE, o->fn);
	fixture_event(r->f, e);
	r->now = e.tsc > r->now ? e.tsc : r->now;
}

/* "} / * name * /" of a call whose beginning is not in the file: a whole call. */
static void put_span(struct reader *r, const struct line *l, const char *name, size_t n)
{
	struct event e = event_of(l, EVENT_SPAN, r->now += l->ns);

	assert_int_equal(l->depth, 0);
	e.begin = e.tsc - l->ns;
	e.fn = fixture_function(r->f, name, n);
	tell_value(&e, l);
	fixture_event(r->f, e);
}

/* An interrupt between a call's return and the kernel taking its depth back shows one level
 * too deep. Our depth follows from the calls: the comparison ends here. */
static bool cut_at_odd_depth(struct reader *r, const struct line *l)
{
	unsigned depth = r->threads[l->thread].depth;

	if (depth == l->depth + (*l->text == '}') || (*l->text == '}' && !depth))
		return false;
	*l->start = '\0';
	printf("%s: compared up to where the kernel's depth jumps from %u to %u\n", r->g->name, depth,
	       l->depth);
	return true;
}

static void read_call(struct reader *r, char *at)
{
	struct line l = read_line(r, at);
	size_t name = strcspn(l.text, "(");

	if (cut_at_odd_depth(r, &l))
		return;

	if (*l.text == '}') {
		const char *comment = l.text + strlen("} /* ");

		if (r->threads[l.thread].depth)
			put_exit(r, &l, false);
		else
			put_span(r, &l, comment, l.n - strlen("} /*  */"));
		return;
	}
	assert_in_range(name, 1, l.n - 1);
	put_entry(r, &l, l.text, name);
	if (l.text[l.n - 1] == ';')
		put_exit(r, &l, true);
}

static void read_switch(struct reader *r, const char *at, bool first_only)
{
	unsigned cpu = (unsigned)strtoul(at, (char **)&at, 10);
	const char *from = at + 2, *arrow = strstr(from, " => "), *to = arrow + 4;

	assert_in_range(cpu, 0, CPUS - 1);
	if (first_only)
		r->running[cpu] = thread_named(r, from, (size_t)(arrow - from));
	else
		r->running[cpu] = thread_named(r, to, strcspn(to, "\n"));
}

/* The task that ran first on each CPU, as the first switch line of the CPU says. */
static void read_first_threads(struct reader *r)
{
	bool seen[CPUS] = { false };

	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		r->running[cpu] = fixture_thread(r->f, "x", 1 + cpu);
	for (const char *at = r->g->text; *at; at = strchr(at, '\n') + 1) {
		unsigned cpu = (unsigned)strtoul(at, NULL, 10);

		if (!is_switch(at) || cpu >= CPUS || seen[cpu])
			continue;
		read_switch(r, at, true);
		seen[cpu] = true;
	}
}

static void read_header_line(struct reader *r, const char *at)
{
	unsigned long long entries, written;

	sscanf(at, "# function_graph latency trace v1.1.5 on %31s", r->kernel);
	if (sscanf(at, "# latency: 0 us, #%llu/%llu, CPU#%u | (M:%15[^ ]", &entries, &written,
		   &r->header.cpu, r->preempt) == 4) {
		r->header.entries = entries;
		r->header.written = written;
	}
}

static void read_events(struct reader *r)
{
	read_first_threads(r);
	for (char *at = r->g->text, *next; *at; at = next) {
		next = strchr(at, '\n') + 1;
		if (*at == '#')
			read_header_line(r, at);
		else if (is_switch(at))
			read_switch(r, at, false);
		else if (*at != '\n' && strncmp(at, " ---", 4) && strncmp(at, " (Overruns", 10))
			read_call(r, at);
		if (!*at)
			break;
	}
	r->header.preempt = r->preempt;
	r->f->info->kernel = mem_strdup(r->kernel);
}

/* A file that was cut inside a task switch needs one more call to make it appear. */
static bool ends_in_switch(const struct golden *g)
{
	size_t n = strlen(g->text);

	return n > 5 && (!strcmp(g->text + n - 4, "---\n") || !strcmp(g->text + n - 5, "---\n\n"));
}

static void add_call_after_switch(struct reader *r)
{
	const char *last = r->g->text;
	struct line l = { 0 };

	for (const char *at = r->g->text; *at; at = strchr(at, '\n') + 1)
		if (is_switch(at))
			last = at;
	l.cpu = (unsigned)strtoul(last, NULL, 10);
	l.thread = r->running[l.cpu];
	put_entry(r, &l, "next", 4);
}

static void print_events(struct reader *r, struct text *text)
{
	struct out out;
	struct graph *graph;

	out_init(&out, text_flush, text);
	graph = graph_new(r->f->info, r->g->options, &out);
	if (r->g->text[0] == '#')
		graph_header(graph, &r->header);
	for (size_t i = 0; i < r->f->events.n; i++)
		graph_event(graph, &r->f->events.at[i]);
	graph_flush(graph);
	assert_int_equal(graph_counts(graph).unmatched_exits, 0);
	assert_int_equal(graph_counts(graph).unwound, 0);
	assert_int_equal(out_flush(&out), 0);
	graph_free(graph);
	out_free(&out);
}

static bool round_trip(const struct golden *g)
{
	struct reader r = { .g = g, .f = fixture_new(), .now = 1000000 };
	struct text text = { 0 };
	bool same;

	read_events(&r);
	if (ends_in_switch(g))
		add_call_after_switch(&r);
	print_events(&r, &text);
	same = golden_same(g, text_end(&text), ends_in_switch(g));
	vec_free(&text.bytes);
	fixture_free(r.f);
	return same;
}

static void test_round_trips(void **state)
{
	golden_list list = { 0 };
	unsigned same = 0, differ = 0;

	golden_load(&list, GOLDEN, "function_graph");
	for (size_t i = 0; i < list.n; i++) {
		const struct golden *g = &list.at[i];

		if (!g->text)
			printf("left out: %s: %s\n", g->path + strlen(GOLDEN) + 1, golden_refused(g->name));
		else if (round_trip(g))
			same++;
		else
			differ++;
	}
	printf("%u files reproduced\n", same);
	assert_int_equal(differ, 0);
	assert_in_range(same, 70, 100);
	golden_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trips) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
