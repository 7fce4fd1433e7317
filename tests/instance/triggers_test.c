/* Triggers over many threads' records, which come in pieces and late: what is left is what a plain
 * walk through all of them, sorted by time, leaves. And what the stream, the spans and the cut are
 * made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collect/clock.h"
#include "instance/buffer.h"
#include "instance/merge.h"
#include "shared/record.h"

static const struct event_provider programs = { .name = "program", .can_enable = true };

#define THREADS 5
#define RECORDS 3000
#define EVENTS 3
#define ROUNDS 150
#define LATE 40 /* how much later than its time a record may come, in ticks */

static uint64_t seed;

static unsigned random_below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* --- what is recorded ----------------------------------------------------------------- */

struct made { uint64_t tsc, n; unsigned thread, event; };

static struct event_catalogue *catalogue;
static const struct event_entry *events[EVENTS];
static struct trace_info *info;
static struct made made[RECORDS];

static int set_up(void **state)
{
	static const struct event_field fields[] = { { "unsigned long", "n", 8, 8, false } };

	catalogue = events_new();
	info = trace_info_new();
	for (unsigned i = 0; i < EVENTS; i++) {
		char name[] = { 'e', (char)('0' + i), '\0' };
		const struct event_format f = { "test", name, 0, fields, 1, "\"%lu\", REC->n" };
		struct err err;

		assert_int_equal(events_add_format(catalogue, &programs, &f, &events[i], &err), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		*vec_add(&info->threads) = (struct trace_thread){ .pid = 1, .tid = i + 1 };
	return 0;
}

static int tear_down(void **state)
{
	trace_info_free(info);
	events_free(catalogue);
	return 0;
}

static void make_records(void)
{
	uint64_t tsc = 1000;

	for (unsigned i = 0; i < RECORDS; i++) {
		tsc += 1 + random_below(4);
		made[i] = (struct made){ tsc, i, random_below(THREADS), random_below(EVENTS) };
	}
}

static struct chunk *chunk_of(unsigned thread, const uint64_t *words, size_t n, uint64_t tsc)
{
	const struct drain_run run = { .slot = thread, .words = words, .n = n, .near_tsc = tsc, .records = n / 2 };
	struct chunk *c = chunk_new(&run);

	c->resolved = true;
	return c;
}

/* A pass at time `until`: each thread's records up to then, but what is still on its way; `most`
 * are looked at. */
static void pass(struct buffer *b, size_t *next, uint64_t until, size_t most)
{
	uint64_t words[2 * RECORDS];

	for (unsigned t = 0; t < THREADS; t++) {
		uint64_t upto = until - random_below(LATE), tsc = 0;
		size_t n = 0;
		struct chunk *c;

		for (; next[t] < RECORDS && made[next[t]].tsc < upto; next[t]++) {
			const struct made *m = &made[next[t]];

			if (m->thread != t)
				continue;
			tsc = n ? tsc : m->tsc;
			words[n++] = record_word(m->tsc, record_event_id(1, RECORD_EVENT_TRACE + events[m->event]->index),
						 RECORD_EVENT);
			words[n++] = m->n;
		}
		if (!n)
			continue;
		c = chunk_of(t, words, n, tsc);
		buffer_offer(b, c, (pid_t)t + 1);
		chunk_put(c);
	}
	buffer_run(b, info, until - LATE, most);
}

/* --- what is to be left ---------------------------------------------------------------- */

struct plan {
	enum trigger_action action;
	unsigned at, target;     /* events */
	unsigned long count, used;
	uint64_t from, upto;     /* n; all if both are 0 */
};

struct model {
	struct plan plans[6];
	unsigned n;
	bool tracing, on[EVENTS];
	uint64_t filter[EVENTS]; /* n at least; 0: none */
	VEC(uint64_t) left, shot; /* in the buffer, in the snapshot */
};

static bool is_conditional(const struct model *m, unsigned event)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->plans[i].at == event && m->plans[i].upto)
			return true;
	return false;
}

static bool fits(const struct plan *p, const struct made *r)
{
	return p->at == r->event && (!p->upto || (r->n >= p->from && r->n < p->upto));
}

static bool is_so(const struct model *m, const struct plan *p, bool tracing)
{
	switch (p->action) {
	case TRIGGER_TRACEON: return tracing;
	case TRIGGER_TRACEOFF: return !tracing;
	case TRIGGER_ENABLE: return m->on[p->target];
	case TRIGGER_DISABLE: return !m->on[p->target];
	default: return false;
	}
}

static void snapshot(struct model *m)
{
	m->shot.n = 0;
	for (size_t i = 0; i < m->left.n; i++)
		*vec_add(&m->shot) = m->left.at[i];
	m->left.n = 0;
}

static void walk(struct model *m, const struct made *r)
{
	bool conditional = is_conditional(m, r->event), before = m->tracing, shoots = false;

	for (unsigned i = m->n; i-- > 0;) {
		struct plan *p = &m->plans[i];

		if (!fits(p, r) || is_so(m, p, before) || p->used == p->count)
			continue;
		p->used++;
		if (p->action == TRIGGER_TRACEON || p->action == TRIGGER_TRACEOFF)
			m->tracing = p->action == TRIGGER_TRACEON;
		else if (p->action == TRIGGER_SNAPSHOT)
			shoots = true;
		else
			m->on[p->target] = p->action == TRIGGER_ENABLE;
	}
	if (shoots && !conditional)
		snapshot(m);
	if ((conditional && !m->filter[r->event] ? before : m->tracing) && m->on[r->event] && r->n >= m->filter[r->event])
		*vec_add(&m->left) = r->n;
	if (shoots && conditional)
		snapshot(m);
}

/* --- both ------------------------------------------------------------------------------ */

static const char *const names[] = { "traceon", "traceoff", "snapshot", "", "enable_event", "disable_event" };

static void plan(struct model *m, struct settings *s)
{
	static const enum trigger_action actions[] = { TRIGGER_TRACEON, TRIGGER_TRACEOFF, TRIGGER_SNAPSHOT, TRIGGER_ENABLE,
						       TRIGGER_DISABLE };
	struct plan p = { .action = actions[random_below(5)], .at = random_below(EVENTS), .target = random_below(EVENTS),
			  .count = 1 + random_below(3) };
	struct filter_fault fault;
	char line[200];
	int n;

	n = snprintf(line, sizeof(line), "%s", names[p.action]);
	if (p.action >= TRIGGER_ENABLE)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ":test:e%u", p.target);
	n += snprintf(line + n, sizeof(line) - (size_t)n, ":%lu", p.count);
	if (random_below(3)) {
		p.from = random_below(RECORDS);
		p.upto = p.from + 1 + random_below(30);
		snprintf(line + n, sizeof(line) - (size_t)n, " if n >= %lu && n < %lu", (unsigned long)p.from,
			 (unsigned long)p.upto);
	}
	if (event_set_trigger(&s->events, events[p.at]->index, line, &fault) == 0)
		m->plans[m->n++] = p; /* else its place is taken */
}

static void plan_all(struct model *m, struct settings *s)
{
	struct filter_fault fault;
	char line[40];

	s->tracing_on = m->tracing = random_below(2);
	for (unsigned i = 0; i < EVENTS; i++) {
		m->on[i] = random_below(2);
		event_set_enable(&s->events, events[i]->index, m->on[i]);
		if (random_below(4) == 0) {
			m->filter[i] = 1 + random_below(RECORDS);
			snprintf(line, sizeof(line), "n >= %lu", (unsigned long)m->filter[i]);
			assert_int_equal(event_set_filter(&s->events, events[i]->index, line, &fault), 0);
		}
	}
	for (unsigned i = 1 + random_below(6); i; i--)
		plan(m, s);
}

static void compare(struct buffer *b, chunk_list *chunks, const uint64_t *want, size_t n, unsigned round)
{
	const struct merge_filter filter = { .off = b->off };
	struct source *source = merge_chunks(info, chunks, &filter);
	struct event e;
	size_t i = 0;

	for (; source->ops->next(source, &e, NULL) > 0; i++) {
		if (i >= n || e.payload[0] != want[i])
			fail_msg("round %u: record %zu is %lu, wanted %lu of %zu", round, i, (unsigned long)e.payload[0],
				 i < n ? (unsigned long)want[i] : 0, n);
	}
	if (i != n)
		fail_msg("round %u: %zu records, wanted %zu", round, i, n);
	source->ops->close(source);
}

static void one_round(unsigned round)
{
	struct model m = { 0 };
	struct settings s;
	struct buffer b;
	chunk_list chunks = { 0 }, shot = { 0 };
	size_t next[THREADS] = { 0 };

	settings_init_tree(&s);
	s.events.catalogue = catalogue;
	s.tracer = &tracer_nop;
	make_records();
	plan_all(&m, &s);
	buffer_init(&b, &s, NULL);
	for (uint64_t t = 1000; t < made[RECORDS - 1].tsc + 2 * LATE + 100; t += 1 + random_below(900))
		pass(&b, next, t, 1 + random_below(400));
	pass(&b, next, UINT64_MAX / 2, SIZE_MAX);
	buffer_run(&b, info, UINT64_MAX, SIZE_MAX);
	for (unsigned i = 0; i < RECORDS; i++)
		walk(&m, &made[i]);
	ring_copy(&b.ring, &chunks);
	assert_int_equal(ring_counts(&b.ring).entries, m.left.n);
	compare(&b, &chunks, m.left.at, m.left.n, round);
	chunk_list_copy(&shot, b.snapshot.chunks.at, b.snapshot.chunks.n);
	compare(&b, &shot, m.shot.at, m.shot.n, round);
	buffer_present(&b, &s);
	assert_int_equal(s.tracing_on, m.tracing);
	for (unsigned i = 0; i < EVENTS; i++)
		assert_int_equal(event_set_get(&s.events, events[i]->index)->enabled, m.on[i]);
	buffer_free(&b);
	settings_free(&s);
	vec_free(&m.left);
	vec_free(&m.shot);
}

static void as_a_walk(void **state)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		seed = round;
		one_round(round);
	}
}

/* A trigger holds from its write on: records on their way at that time are not for it. */
static void from_the_write_on(void **state)
{
	struct settings s, next;
	struct filter_fault fault;
	struct buffer b;
	size_t at[THREADS] = { 0 };
	chunk_list chunks = { 0 };
	VEC(uint64_t) want = { 0 };
	uint64_t written;

	seed = 7;
	make_records();
	settings_init_tree(&s);
	s.events.catalogue = catalogue;
	s.tracer = &tracer_nop;
	event_set_enable(&s.events, events[0]->index, true);
	assert_int_equal(event_set_trigger(&s.events, events[1]->index, "traceoff:1 if n > 2500", &fault), 0);
	buffer_init(&b, &s, NULL);
	settings_copy(&next, &s);
	event_set_enable(&next.events, events[0]->index, false);
	event_set_enable(&next.events, events[2]->index, true);
	written = made[1000].tsc;
	pass(&b, at, made[990].tsc, SIZE_MAX);
	buffer_configure(&b, &next, written);
	pass(&b, at, made[1020].tsc, SIZE_MAX);
	pass(&b, at, UINT64_MAX / 2, SIZE_MAX);
	buffer_run(&b, info, UINT64_MAX, SIZE_MAX);
	for (unsigned i = 0; i < RECORDS; i++) {
		if (made[i].event == (made[i].tsc < written ? 0u : 2u))
			*vec_add(&want) = made[i].n;
		if (made[i].event == 1 && made[i].n > 2500)
			break;
	}
	ring_copy(&b.ring, &chunks);
	compare(&b, &chunks, want.at, want.n, 0);
	buffer_free(&b);
	settings_free(&s);
	settings_free(&next);
	vec_free(&want);
}

/* Without triggers nothing waits, and what waited is there at once. */
static void away_again(void **state)
{
	struct settings s, none;
	struct filter_fault fault;
	struct buffer b;
	size_t at[THREADS] = { 0 };

	seed = 3;
	make_records();
	settings_init_tree(&s);
	s.events.catalogue = catalogue;
	s.tracer = &tracer_nop;
	event_set_enable(&s.events, events[0]->index, true);
	settings_copy(&none, &s);
	assert_int_equal(event_set_trigger(&s.events, events[0]->index, "snapshot:0", &fault), 0);
	buffer_init(&b, &s, NULL);
	pass(&b, at, made[500].tsc, SIZE_MAX);
	assert_true(buffer_has_triggers(&b));
	buffer_configure(&b, &none, made[510].tsc);
	pass(&b, at, made[600].tsc, SIZE_MAX);
	assert_false(buffer_has_triggers(&b));
	pass(&b, at, UINT64_MAX / 2, SIZE_MAX);
	buffer_free(&b);
	settings_free(&s);
	settings_free(&none);
}

static void spans(void **state)
{
	off_periods l = { 0 };

	off_turn(&l, false, 100);
	off_turn(&l, true, 200);
	off_turn(&l, false, 300);
	assert_true(off_now(&l) && off_at(&l, 150) && !off_at(&l, 200) && off_at(&l, 300) && !off_at(&l, 99));
	off_turn(&l, false, 250); /* up to what comes next */
	assert_true(off_at(&l, 250) && !off_at(&l, 249) && off_at(&l, 299));
	off_turn(&l, true, 120);
	assert_true(!off_at(&l, 150) && off_at(&l, 110) && off_at(&l, 400));
	off_turn(&l, true, 250);
	assert_true(!off_now(&l) && l.n == 1);
	for (uint64_t t = 1000; t < 2000; t += 2) {
		off_turn(&l, false, t);
		off_turn(&l, true, t + 1);
	}
	off_forget(&l, 500, 10);
	assert_int_equal(l.n, 11);
	assert_true(off_at(&l, 110) && off_at(&l, 1998) && !off_at(&l, 1000));
	vec_free(&l);
}

/* The counter of CPU 1 is AHEAD of CPU 0's. Records of both by turns come in the order of their
 * times, which the clock puts right; periods and ends are those of the counter. */
#define AHEAD 1000000u
#define TURNS 200u

static struct chunk_ref on_cpu(uint16_t cpu)
{
	uint64_t words[TURNS];
	struct drain_run run = { .slot = cpu, .words = words, .cpu = cpu, .records = TURNS / 2 };
	struct chunk *c;

	for (uint64_t i = cpu; i < TURNS; i += 2) {
		words[run.n++] = record_word(2000 + 10 * i + cpu * AHEAD,
					     record_event_id(1, RECORD_EVENT_TRACE + events[0]->index), RECORD_EVENT);
		words[run.n++] = i;
	}
	run.near_tsc = 2000 + 10 * cpu + cpu * AHEAD;
	c = chunk_new(&run);
	c->resolved = true;
	return (struct chunk_ref){ .chunk = c, .what = CHUNK_EVENTS };
}

/* Returns how many records come, each at its time, and after the one before. */
static unsigned at_their_times(const struct merge_filter *filter, uint64_t *sum)
{
	chunk_list chunks = { 0 };
	struct source *source;
	struct event e;
	uint64_t last = 0;
	unsigned n = 0;

	for (uint16_t cpu = 0; cpu < 2; cpu++)
		*vec_add(&chunks) = on_cpu(cpu);
	source = merge_chunks(info, &chunks, filter);
	for (*sum = 0; source->ops->next(source, &e, NULL) > 0; n++) {
		const uint64_t i = e.payload[0];

		assert_int_equal(e.tsc, 2000 + 10 * i);
		assert_true(e.tsc > last);
		last = e.tsc;
		*sum += i;
	}
	source->ops->close(source);
	return n;
}

/* The clock that knows how far both are apart. */
static struct live_clock *clock_of_both(void)
{
	struct trace_info pairs = { .clock.hz = 1000000000 };
	struct live_clock *l = live_clock_new();

	*vec_add(&pairs.clock_pairs) = (struct trace_clock_pair){ .cpu = 0, .tsc = 1000, .ns = 5000 };
	*vec_add(&pairs.clock_pairs) = (struct trace_clock_pair){ .cpu = 1, .tsc = 1000 + AHEAD, .ns = 5000 };
	live_clock_add(l, &pairs, 5000);
	vec_free(&pairs.clock_pairs);
	return l;
}

static void counters_apart(void **state)
{
	struct clock clock = { .live = clock_of_both() };
	struct merge_filter filter = { .clock = &clock };
	struct off_period off = { AHEAD + 2000 + 10 * 51, AHEAD + 2000 + 10 * 101 };
	uint64_t sum;

	assert_int_equal(at_their_times(&filter, &sum), TURNS);
	assert_int_equal(sum, TURNS * (TURNS - 1) / 2);
	/* Records 51, 53, ... 99 of CPU 1 were stamped while it was off. */
	*vec_add(&filter.off) = off;
	assert_int_equal(at_their_times(&filter, &sum), TURNS - 25);
	assert_int_equal(sum, TURNS * (TURNS - 1) / 2 - 75 * 25);
	/* A reader of CPU 1 alone, up to its record 101. */
	filter.one_cpu = true;
	filter.cpu = 1;
	filter.before = off.to + 1;
	assert_int_equal(at_their_times(&filter, &sum), 26);
	off_discard_before(&filter.gone, 1, off.to);
	assert_int_equal(at_their_times(&filter, &sum), 1);
	assert_int_equal(sum, 101);
	vec_free(&filter.off);
	vec_free(&filter.gone);
	live_clock_free(clock.live);
}

/* A page of trace_pipe_raw begins with the time of its first record. 0: the CPU has no page. */
static uint64_t page_begin(struct buffer *b, unsigned cpu)
{
	uint64_t page[PAGE_BYTES / sizeof(uint64_t)];

	return buffer_raw_take(b, cpu, true, page) ? page[0] : 0;
}

/* Pages have the times that the clock puts right, up to such a time. A histogram and a message get
 * theirs by buffer_time_of(). */
static void pages_of_counters_apart(void **state)
{
	struct clock clock = { .live = clock_of_both() };
	const struct event last = { .kind = EVENT_TRACE, .cpu = 1, .tsc = 2000 + 10 * (TURNS - 1) + AHEAD };
	struct settings s;
	struct buffer b;

	info->clock = (struct trace_clock){ .hz = 1000000000 };
	trace_info_add_event(info, events[0]);
	settings_init_tree(&s);
	s.events.catalogue = catalogue;
	s.tracer = &tracer_nop;
	s.tracing_on = true;
	event_set_enable(&s.events, events[0]->index, true);
	buffer_init(&b, &s, NULL);
	buffer_set_times(&b, &clock);
	for (uint16_t cpu = 0; cpu < 2; cpu++) {
		struct chunk_ref k = on_cpu(cpu);

		buffer_offer(&b, k.chunk, cpu + 1);
		chunk_put(k.chunk);
	}
	buffer_raw_fill(&b, info, NULL, 2000 + 10 * 100);
	assert_int_equal(page_begin(&b, 0), 2000);
	assert_int_equal(page_begin(&b, 1), 2010);
	buffer_raw_fill(&b, info, NULL, 2000 + 10 * TURNS);
	assert_int_equal(page_begin(&b, 0), 2000 + 10 * 102);
	assert_int_equal(page_begin(&b, 1), 2000 + 10 * 101);
	assert_int_equal(buffer_time_of(&b, &last), 2000 + 10 * (TURNS - 1));
	buffer_free(&b);
	settings_free(&s);
	live_clock_free(clock.live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans), cmocka_unit_test(as_a_walk), cmocka_unit_test(from_the_write_on),
		cmocka_unit_test(away_again), cmocka_unit_test(counters_apart),
		cmocka_unit_test(pages_of_counters_apart),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
