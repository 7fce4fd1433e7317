/* `report` against a slow and obvious count over random traces, alike with any number of
 * workers; its JSON read back by Python. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "base/histogram.h"
#include "report/summary.h"

/* --- threads' events in memory ---------------------------------------------------------- */

typedef VEC(struct event) events;

struct memory {
	struct trace_info *info;
	VEC(events) threads;
	size_t fail_at; /* events of a thread after which reading fails; 0 = never */
	VEC(events *) parts; /* made by memory_open_part() */
	unsigned lie;        /* what that tells wrongly; 0: nothing */
	unsigned again;      /* parts that were asked for a second time */
};

struct memory_cursor { const struct memory *m; const events *e; size_t at; };

static void *memory_open(void *of, uint32_t thread)
{
	struct memory *m = of;
	struct memory_cursor *c;

	if (!m->threads.at[thread].n)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	*c = (struct memory_cursor){ m, &m->threads.at[thread], 0 };
	return c;
}

static int memory_next(void *cursor, struct event *out, size_t n, struct err *err)
{
	struct memory_cursor *c = cursor;
	size_t left = c->e->n - c->at, take = left < n ? left : n;

	if (c->m->fail_at && c->at >= c->m->fail_at)
		return err_set(err, EIO, "the disk is gone");
	take = take > 700 ? 700 : take; /* batches that are not full occur */
	memcpy(out, c->e->at + c->at, take * sizeof(*out));
	c->at += take;
	return (int)take;
}

/* The calls that are open behind the first n events, as their entries. */
static void tell_open(events *out, const events *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *o = &e->at[i];
		bool tail = o->kind == EVENT_EXIT;

		if (o->kind == EVENT_ENTRY || o->kind == EVENT_TAIL)
			*vec_add(out) = *o;
		while (tail)
			tail = out->at[--out->n].kind == EVENT_TAIL;
	}
}

static void tell_wrongly(events *told, unsigned how)
{
	if (how == 1 && told->n)
		told->n--;
	if (how == 2 && told->n)
		told->at[told->n / 2].tsc--;
	if (how == 3)
		*vec_add(told) = (struct event){ .kind = EVENT_ENTRY, .fn = 3, .tsc = 77 };
	if (how == 4 && told->n)
		told->at[0].fn ^= 1;
}

static void *memory_open_part(void *of, uint32_t thread, unsigned part, unsigned parts, bool bare,
			      size_t *told)
{
	struct memory *m = of;
	const events *all = &m->threads.at[thread];
	const size_t share = all->n / parts, from = share * part;
	const size_t to = part + 1 < parts ? from + share : all->n;
	struct memory_cursor *c = mem_zalloc(sizeof(*c));
	events *mine = mem_zalloc(sizeof(*mine));

	*vec_add(&m->parts) = mine;
	if (!bare)
		tell_open(mine, all, from);
	if (!bare && part)
		tell_wrongly(mine, m->lie);
	m->again += bare;
	*told = mine->n;
	for (size_t i = from; i < to; i++)
		*vec_add(mine) = all->at[i];
	*c = (struct memory_cursor){ m, mine, 0 };
	return c;
}

static struct summary_input input_of(struct memory *m)
{
	return (struct summary_input){ m->info, m, memory_open, memory_next, free };
}

/* --- random traces ----------------------------------------------------------------------- */

#define FUNCTIONS 12
#define HZ 2900000000u

static uint64_t seed;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* Two images of one program, the second with its functions' ids shifted. */
static struct trace_info *info_new(unsigned threads)
{
	struct fixture *f = fixture_new();
	struct trace_info *info = f->info;
	struct trace_module *m;

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		char name[16];

		fixture_function(f, name, (size_t)snprintf(name, sizeof(name), "f%u", i));
	}
	for (uint32_t site = 0; site < FUNCTIONS * FUNCTIONS; site++)
		assert_int_equal(fixture_site(f, site / FUNCTIONS, site % FUNCTIONS), site + 1);
	*vec_add(&info->images) = (struct trace_image){ .pid = 2 };
	for (size_t i = 0; i < info->images.at[0].sites.n; i++)
		*vec_add(&info->images.at[1].sites) = info->images.at[0].sites.at[i];
	m = vec_add(&info->modules);
	*m = info->modules.at[0];
	m->image = 1;
	m->first_id = 100;
	m->path = mem_strdup(m->path);
	m->name = mem_strdup(m->name);
	memset(&m->functions, 0, sizeof(m->functions));
	memset(&m->strings, 0, sizeof(m->strings));
	for (size_t i = 0; i < info->modules.at[0].functions.n; i++)
		*vec_add(&m->functions) = info->modules.at[0].functions.at[i];
	for (size_t i = 0; i < info->modules.at[0].strings.n; i++)
		*vec_add(&m->strings) = info->modules.at[0].strings.at[i];
	for (unsigned i = 0; i < threads; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .tid = i, .image = i % 2 };
	info->clock.hz = HZ;
	f->info = NULL;
	fixture_free(f);
	return info;
}

/* A walk up and down a call tree, with recursion and tail calls; it may stop inside calls. */
static void make_thread(events *e, uint32_t thread, uint32_t shift, size_t n)
{
	uint32_t stack[64] = { 0 };
	bool tail[64] = { false };
	unsigned depth = 0;
	uint64_t tsc = 1000 + any(1000);

	for (size_t i = 0; i < n; i++) {
		struct event o = { .thread = thread };
		bool down = !depth || (depth < 60 && any(100) < 50);

		tsc += any(4) ? any(300) : any(1 << any(24));
		o.tsc = tsc;
		if (down) {
			o.fn = (uint32_t)(any(3) ? any(FUNCTIONS) : stack[depth ? depth - 1 : 0] % FUNCTIONS);
			tail[depth] = depth && any(8) == 0 && o.fn != stack[depth - 1];
			stack[depth] = o.fn;
			o.kind = tail[depth++] ? EVENT_TAIL : EVENT_ENTRY;
			if (any(10) == 0) {
				o.kind = EVENT_ENTRY_ONLY;
				depth--;
			}
			o.fn += shift;
		} else {
			o.kind = EVENT_EXIT;
			while (tail[--depth])
				;
			o.site = depth ? stack[depth - 1] * FUNCTIONS + stack[depth] + 1 : 0;
		}
		*vec_add(e) = o;
	}
}

static struct memory *memory_new(unsigned threads, size_t n)
{
	struct memory *m = mem_zalloc(sizeof(*m));

	m->info = info_new(threads);
	for (unsigned i = 0; i < threads; i++) {
		*vec_add(&m->threads) = (events){ 0 };
		make_thread(&m->threads.at[i], i, i % 2 ? 100 : 0, any(3) ? n : any(n + 1));
		m->info->threads.at[i].records = m->threads.at[i].n;
	}
	return m;
}

static void memory_free(struct memory *m)
{
	for (size_t i = 0; i < m->threads.n; i++)
		vec_free(&m->threads.at[i]);
	for (size_t i = 0; i < m->parts.n; i++) {
		vec_free(m->parts.at[i]);
		free(m->parts.at[i]);
	}
	vec_free(&m->parts);
	vec_free(&m->threads);
	trace_info_free(m->info);
	free(m);
}

/* --- the slow count ---------------------------------------------------------------------- */

struct span { uint64_t from, to; uint32_t thread; };
struct count {
	uint64_t calls, self, sum;
	VEC(struct span) spans;
};
struct open { uint32_t fn; uint64_t from, inside; bool tail; };

static void close_call(struct count *counts, struct open *stack, unsigned *depth, uint64_t to, uint32_t thread)
{
	struct open *o = &stack[--*depth];
	struct count *c = &counts[o->fn % 100];

	c->calls++;
	c->self += to - o->from - o->inside;
	c->sum += to - o->from;
	*vec_add(&c->spans) = (struct span){ o->from, to, thread };
	if (*depth)
		stack[*depth - 1].inside += to - o->from;
}

static void count_thread(struct count *counts, const events *e, uint32_t thread)
{
	struct open stack[64];
	unsigned depth = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct event *o = &e->at[i];
		bool tail = true;

		if (o->kind == EVENT_ENTRY_ONLY)
			counts[o->fn % 100].calls++;
		if (o->kind == EVENT_ENTRY || o->kind == EVENT_TAIL)
			stack[depth++] = (struct open){ o->fn, o->tsc, 0, o->kind == EVENT_TAIL };
		while (o->kind == EVENT_EXIT && tail) {
			tail = stack[depth - 1].tail;
			close_call(counts, stack, &depth, o->tsc, thread);
		}
	}
	while (depth)
		close_call(counts, stack, &depth, e->at[e->n - 1].tsc, thread);
}

/* Time in which at least one of the spans runs, thread by thread. */
static uint64_t covered(const struct span *s, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		bool inner = false;

		for (size_t j = 0; j < n && !inner; j++)
			inner = s[j].thread == s[i].thread && j != i && s[j].from <= s[i].from &&
				s[j].to >= s[i].to && (s[j].to - s[j].from > s[i].to - s[i].from || j > i);
		sum += inner ? 0 : s[i].to - s[i].from;
	}
	return sum;
}

static int shorter(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->to - x->from < y->to - y->from ? -1 : x->to - x->from > y->to - y->from;
}

static uint64_t ns(uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * 1000000000 / HZ);
}

static void assert_within_1_percent(uint64_t got, uint64_t ticks)
{
	double want = (double)ticks * 1e9 / HZ;

	assert_true(fabs((double)got - want) <= want / 100 + 1);
}

static void check_row(const struct summary_row *r, struct count *c)
{
	size_t n = c->spans.n;

	assert_int_equal(r->value[SUMMARY_CALLS], c->calls);
	assert_int_equal(r->value[SUMMARY_SELF], ns(c->self));
	assert_int_equal(r->value[SUMMARY_TOTAL], ns(covered(c->spans.at, n)));
	if (!n)
		return;
	qsort(c->spans.at, n, sizeof(*c->spans.at), shorter);
#define TICKS(i) (c->spans.at[i].to - c->spans.at[i].from)
	assert_int_equal(r->value[SUMMARY_MEAN], ns(c->sum / n));
	assert_int_equal(r->value[SUMMARY_MIN], ns(TICKS(0)));
	assert_int_equal(r->value[SUMMARY_MAX], ns(TICKS(n - 1)));
	assert_within_1_percent(r->value[SUMMARY_P50], TICKS((n * 50 + 99) / 100 - 1));
	assert_within_1_percent(r->value[SUMMARY_P99], TICKS((n * 99 + 99) / 100 - 1));
#undef TICKS
}

static void test_against_slow_count(void **state)
{
	for (unsigned round = 1; round <= 60; round++) {
		struct count counts[100] = { 0 };
		struct summary_input in;
		struct memory *m;
		struct summary s;
		size_t rows = 0;

		seed = round * UINT64_C(0x9E3779B97F4A7C15);
		m = memory_new(1 + (unsigned)any(9), 1 + any(1500));
		in = input_of(m);
		for (uint32_t i = 0; i < m->threads.n; i++)
			if (m->threads.at[i].n)
				count_thread(counts, &m->threads.at[i], i);
		assert_int_equal(summary_make(&in, 0, &s, NULL), 0);
		for (size_t i = 0; i < s.rows.n; i++)
			check_row(&s.rows.at[i], &counts[atoi(s.rows.at[i].name + 1)]);
		for (size_t i = 0; i < FUNCTIONS; i++) {
			rows += counts[i].calls > 0;
			vec_free(&counts[i].spans);
		}
		assert_int_equal(s.rows.n, rows);
		summary_free(&s);
		memory_free(m);
	}
}

/* A thread that several cores add up: the sums are the same, also where what was open at the
 * beginning of a part was told wrongly. */
static void test_parts_against_slow_count(void **state)
{
	for (unsigned round = 1; round <= 60; round++) {
		struct count counts[100] = { 0 };
		struct summary_input in;
		struct memory *m;
		struct summary s;
		size_t rows = 0;

		seed = round * UINT64_C(0x9E3779B97F4A7C15);
		m = memory_new(1, 500 + any(3000));
		m->lie = round % 5;
		in = input_of(m);
		in.open_part = memory_open_part;
		count_thread(counts, &m->threads.at[0], 0);
		assert_int_equal(summary_make(&in, 2 + round % 4, &s, NULL), 0);
		for (size_t i = 0; i < s.rows.n; i++)
			check_row(&s.rows.at[i], &counts[atoi(s.rows.at[i].name + 1)]);
		for (size_t i = 0; i < FUNCTIONS; i++) {
			rows += counts[i].calls > 0;
			vec_free(&counts[i].spans);
		}
		assert_int_equal(s.rows.n, rows);
		assert_true(m->parts.n >= 2 + round % 4);
		assert_true(m->lie == 3 ? m->again : m->lie || !m->again);
		summary_free(&s);
		memory_free(m);
	}
}

/* All of a thread's calls as one: its total is the time in which any of them runs. */
static void check_thread(const struct summary_row *r, const events *e)
{
	struct count counts[100] = { 0 };
	uint64_t calls = 0, self = 0, sum = 0, timed = 0;

	count_thread(counts, e, r->thread);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		calls += counts[i].calls;
		self += counts[i].self;
		sum += counts[i].sum;
		timed += counts[i].spans.n;
		vec_free(&counts[i].spans);
	}
	assert_int_equal(r->value[SUMMARY_CALLS], calls);
	assert_int_equal(r->value[SUMMARY_SELF], ns(self));
	assert_int_equal(r->value[SUMMARY_TOTAL], ns(self));
	assert_int_equal(r->value[SUMMARY_MEAN], timed ? ns(sum / timed) : 0);
}

static void test_threads_against_slow_count(void **state)
{
	for (unsigned round = 1; round <= 60; round++) {
		struct summary_input in;
		struct memory *m;
		struct summary s;
		size_t rows = 0;

		seed = round * UINT64_C(0x9E3779B97F4A7C15);
		m = memory_new(1 + (unsigned)any(9), 1 + any(1500));
		in = input_of(m);
		in.by_thread = true;
		assert_int_equal(summary_make(&in, 1 + round % 5, &s, NULL), 0);
		for (size_t i = 0; i < s.rows.n; i++)
			check_thread(&s.rows.at[i], &m->threads.at[s.rows.at[i].thread]);
		for (size_t i = 0; i < m->threads.n; i++)
			rows += m->threads.at[i].n > 0;
		assert_int_equal(s.rows.n, rows);
		summary_free(&s);
		memory_free(m);
	}
}

static char *json_of(struct memory *m, unsigned workers, bool by_thread)
{
	struct summary_input in = input_of(m);
	struct text text = { 0 };
	struct summary s;
	struct out out;

	in.by_thread = by_thread;
	out_init(&out, text_flush, &text);
	assert_int_equal(summary_make(&in, workers, &s, NULL), 0);
	summary_sort(&s, SUMMARY_TOTAL, false);
	summary_print_json(&s, 0, &out);
	assert_int_equal(out_flush(&out), 0);
	summary_free(&s);
	out_free(&out);
	text_end(&text);
	return text.bytes.at;
}

static void test_any_number_of_workers(void **state)
{
	seed = 42;
	for (unsigned round = 0; round < 8; round++) {
		const bool by_thread = round % 2;
		struct memory *m = memory_new(1 + round / 2 * 13, 20000);
		char *one = json_of(m, 1, by_thread);

		assert_true(strlen(one) > (by_thread ? 200 : 500));
		for (unsigned workers = 2; workers < 9; workers += 3) {
			char *many = json_of(m, workers, by_thread);

			assert_string_equal(one, many);
			free(many);
		}
		free(one);
		memory_free(m);
	}
}

/* With tracing_thresh calls come as spans, at their ends: the same rows must come out, but that
 * self time is not known. */
static void test_spans(void **state)
{
	static const struct event spans[] = {
		/* f0 { f1 { f0 {} } f2 {} }  f1 {} */
		{ .begin = 300, .tsc = 400, .fn = 0, .kind = EVENT_SPAN },
		{ .begin = 200, .tsc = 500, .fn = 1, .kind = EVENT_SPAN },
		{ .begin = 600, .tsc = 700, .fn = 2, .kind = EVENT_SPAN },
		{ .begin = 100, .tsc = 900, .fn = 0, .kind = EVENT_SPAN },
		{ .begin = 1000, .tsc = 1010, .fn = 1, .kind = EVENT_SPAN },
	};
	static const struct { uint64_t calls, total; } want[] = { { 2, 800 }, { 2, 310 }, { 1, 100 } };
	struct memory *m = memory_new(1, 1);
	struct summary_input in = input_of(m);
	struct summary s;

	m->info->clock.hz = 1000000000;
	m->threads.at[0].n = 0;
	for (size_t i = 0; i < 5; i++)
		*vec_add(&m->threads.at[0]) = spans[i];
	assert_int_equal(summary_make(&in, 1, &s, NULL), 0);
	summary_sort(&s, SUMMARY_NAME, false);
	assert_int_equal(s.rows.n, 3);
	assert_true(s.cut);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(s.rows.at[i].value[SUMMARY_CALLS], want[i].calls);
		assert_int_equal(s.rows.at[i].value[SUMMARY_TOTAL], want[i].total);
		assert_int_equal(s.rows.at[i].value[SUMMARY_SELF], 0);
	}
	summary_free(&s);
	memory_free(m);
}

static void test_error(void **state)
{
	for (unsigned workers = 1; workers < 4; workers++) {
		struct memory *m;
		struct summary_input in;
		struct summary s;
		struct err err = { 0 };

		seed = 7;
		m = memory_new(1, 20000); /* with two workers or more it is decoded beside */
		m->fail_at = m->threads.at[0].n / 2;
		in = input_of(m);
		assert_true(m->fail_at > 1000);
		assert_int_equal(summary_make(&in, workers, &s, &err), -EIO);
		assert_string_equal(err.text, "the disk is gone");
		assert_int_equal(s.rows.n, 0);
		summary_free(&s);
		memory_free(m);
	}
}

static void test_histogram_error(void **state)
{
	for (uint64_t v = 1; v < UINT64_MAX / 3; v += v / 37 + 1) {
		struct histogram_pool pool = { 0 };
		struct histogram h = { 0 };
		uint64_t got;

		histogram_add(&h, &pool, v);
		got = histogram_percentile(&h, 1, 50);
		assert_true(fabs((double)got - (double)v) <= (double)v / 128);
		histogram_free(&h);
		histogram_pool_free(&pool);
	}
}

/* Counts beyond a byte are carried, and survive merging. */
static void test_histogram_counts(void **state)
{
	struct histogram_pool pool = { 0 };
	struct histogram h = { 0 }, sum = { 0 };

	for (unsigned i = 0; i < 1000; i++)
		histogram_add(&h, &pool, i < 700 ? 5 : 5000);
	assert_int_equal(histogram_percentile(&h, 1000, 70), 5);
	assert_in_range(histogram_percentile(&h, 1000, 71), 4960, 5040);
	histogram_merge(&sum, &h);
	histogram_merge(&sum, &h);
	assert_int_equal(histogram_percentile(&sum, 2000, 70), 5);
	assert_in_range(histogram_percentile(&sum, 2000, 71), 4960, 5040);
	assert_in_range(histogram_percentile(&sum, 2000, 100), 4960, 5040);
	histogram_free(&h);
	histogram_free(&sum);
	histogram_pool_free(&pool);
}

static void test_order(void **state)
{
	struct memory *m;
	struct summary_input in;
	struct summary s;

	seed = 99;
	m = memory_new(4, 3000);
	in = input_of(m);
	assert_int_equal(summary_make(&in, 0, &s, NULL), 0);
	for (unsigned c = 0; c < SUMMARY_NUMBERS; c++) {
		assert_int_equal(summary_column_find(summary_column_words[c]), c);
		for (int reverse = 0; reverse < 2; reverse++) {
			summary_sort(&s, c, reverse);
			for (size_t i = 1; i < s.rows.n; i++) {
				uint64_t a = s.rows.at[i - 1].value[c], b = s.rows.at[i].value[c];

				assert_true(reverse ? a <= b : a >= b);
			}
		}
	}
	assert_int_equal(summary_column_find("totals"), SUMMARY_COLUMNS_N);
	summary_free(&s);
	memory_free(m);
}

/* Python's json reads every line, finds exactly our keys, and the names survive. */
static void test_json(void **state)
{
	static const char check[] =
		"import json,sys\n"
		"head,*rows=[json.loads(l) for l in sys.stdin]\n"
		"assert head=={'schema':'brace-report','version':1,'records':7,'lost':5,'lost_by':"
		"[{'pid':1,'tid':3,'comm':'c\"','records':1,'lost':3},{'pid':1,'tid':2,'comm':'b','records':2,'lost':2}],'threshold_ns':0},head\n"
		"keys=['name','module','calls','total_ns','self_ns','min_ns','mean_ns','p50_ns','p99_ns','max_ns','self_percent']\n"
		"assert all(list(r)==keys for r in rows)\n"
		"assert [r['name'] for r in rows]==['q\"b\\\\n\\n\\x01','\\u00e9\\u20ac\\U0001F600','\\ufffdx\\ufffd\\ufffd'],"
		"[r['name'] for r in rows]\n"
		"assert rows[0]['calls']==18446744073709551615 and rows[0]['module']=='m'\n";
	static struct trace_thread threads[] = {
		{ .pid = 1, .tid = 1, .comm = "a", .records = 4 }, { .pid = 1, .tid = 2, .comm = "b", .records = 2, .lost = 2 },
		{ .pid = 1, .tid = 3, .comm = "c\"", .records = 1, .lost = 3 },
	};
	const struct trace_info info = { .threads = { threads, 3, 3 } };
	struct summary s = { .info = &info };
	static char *const names[] = { "q\"b\\n\n\x01", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xffx\xed\xa0" };
	struct text text = { 0 };
	struct out out;
	FILE *python;

	for (size_t i = 0; i < 3; i++)
		*vec_add(&s.rows) = (struct summary_row){ .name = names[i], .module = "m",
							  .value = { [SUMMARY_CALLS] = UINT64_MAX } };
	out_init(&out, text_flush, &text);
	summary_print_json(&s, 0, &out);
	out_flush(&out);
	setenv("CHECK", check, 1);
	python = popen("/usr/bin/python3 -c 'import os; exec(os.environ[\"CHECK\"])'", "w");
	assert_non_null(python);
	fwrite(text.bytes.at, 1, text.bytes.n, python);
	assert_int_equal(pclose(python), 0);
	out_free(&out);
	vec_free(&text.bytes);
	vec_free(&s.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_slow_count), cmocka_unit_test(test_parts_against_slow_count), cmocka_unit_test(test_threads_against_slow_count),
		cmocka_unit_test(test_any_number_of_workers),
		cmocka_unit_test(test_spans), cmocka_unit_test(test_error), cmocka_unit_test(test_histogram_error), cmocka_unit_test(test_histogram_counts),
		cmocka_unit_test(test_order), cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
