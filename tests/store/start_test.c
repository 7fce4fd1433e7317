/* Reading from the middle of a file: the calls and marks that are open there are those that reading
 * from the beginning finds (trace/tracks.c, which shares nothing with the writer's account). */
#include "cmocka_all.h"
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/record.h"
#include "trace/tracks.h"

#define WORDS 400
#define STACK_TOP 0x7ffff0000000u

/* A program's thread: its words come from a stack of its own, with jumps from call to call. */
struct program {
	uint64_t tsc, random;
	unsigned depth;
};

static uint64_t word_of(struct program *p, uint32_t id, enum record_kind kind)
{
	return record_word(p->tsc += 1 + sample_random(&p->random) % 90, id, kind);
}

/* One record. A return of no call would leave marks at depth 0 valid, which is not told. */
static size_t put_record(struct program *p, uint64_t *words)
{
	const unsigned roll = sample_random(&p->random) % 100;

	if (roll < 46 || (roll >= 59 && !p->depth)) {
		p->depth++;
		words[0] = word_of(p, 1 + sample_random(&p->random) % 5, RECORD_ENTRY);
	} else if (roll < 54) {
		words[0] = word_of(p, 1 + sample_random(&p->random) % 5, RECORD_TAIL);
	} else if (roll < 57) {
		words[0] = word_of(p, record_event_id(1, RECORD_EVENT_MARK), RECORD_EVENT);
		words[1] = STACK_TOP - 16 * (p->depth + sample_random(&p->random) % 2);
		return 2;
	} else if (roll < 59) {
		words[0] = word_of(p, record_event_id(1, RECORD_EVENT_CPU), RECORD_EVENT);
		words[1] = sample_random(&p->random) % 4;
		return 2;
	} else {
		p->depth--;
		/* a site that is in no function: the top call returned */
		words[0] = word_of(p, 7, RECORD_EXIT);
	}
	return 1;
}

static void write_packets(struct sample *s, struct program *p, uint32_t thread, unsigned packets,
			  unsigned hard)
{
	for (unsigned i = 0; i < packets; i++) {
		uint64_t words[WORDS + 4];
		struct err err;
		size_t n = 0;

		if (!i) {
			words[n] = word_of(p, record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT);
			words[n + 1] = STACK_TOP;
			words[n + 2] = 0;
			n += 3;
		}
		if (i == hard) {
			words[n] = word_of(p, record_event_id(2, RECORD_EVENT_SWITCH), RECORD_EVENT);
			words[n + 1] = STACK_TOP - 16;
			words[n + 2] = 0;
			n += 3;
		}
		while (n < WORDS)
			n += put_record(p, words + n);
		if (store_records(s->writer, thread, p->tsc, 0, 0, words, n, &err) ||
		    store_flush(s->writer, UINT64_MAX, &err))
			fail_msg("%s", err.text);
	}
}

struct state {
	struct sites sites;
	struct tracks tracks;
	struct lane *lane;
};

static void ignore(void *arg, const struct call_step *step) {}

static void run(struct state *s, struct trace_info *info, uint32_t thread,
		const struct event *events, size_t n)
{
	sites_init(&s->sites, info);
	s->lane = tracks_init_one(&s->tracks, info, &s->sites, thread);
	for (size_t i = 0; i < n; i++)
		tracks_feed(&s->tracks, s->lane, &events[i], ignore, NULL);
}

static void end(struct state *s)
{
	tracks_free(&s->tracks);
	sites_free(&s->sites);
}

/* The number of calls below a mark that holds; -1: there is none. */
static int mark_at(const struct state *s, uint64_t sp)
{
	const struct process_tracks *p = s->lane->process;
	const uint64_t i = number_map_get(&p->marked, sp);
	const struct stack_mark *m = i < p->marks.n ? &p->marks.at[i] : NULL;
	const struct calls *c = &s->lane->now->calls;

	if (!m || c->n < m->depth || (m->depth && c->at[m->depth - 1].begin != m->begin))
		return -1;
	return (int)m->depth;
}

static void assert_same_state(const struct state *a, const struct state *b)
{
	const struct calls *x = &a->lane->now->calls, *y = &b->lane->now->calls;

	assert_int_equal(x->n, y->n);
	for (size_t i = 0; i < x->n; i++) {
		assert_int_equal(x->at[i].fn, y->at[i].fn);
		assert_int_equal(x->at[i].begin, y->at[i].begin);
		assert_int_equal(x->at[i].flags, y->at[i].flags);
	}
	assert_int_equal(a->lane->now->base, b->lane->now->base);
	for (uint64_t sp = STACK_TOP - 16 * 2000; sp <= STACK_TOP; sp += 16)
		assert_int_equal(mark_at(a, sp), mark_at(b, sp));
}

static struct events events_from(struct store_reader *r, uint32_t thread,
				 const struct store_start *start)
{
	struct store_cursor *c = store_cursor_open_at(r, thread, start);
	struct events all = { 0 };
	struct event batch[7];
	struct err err;
	int n;

	while ((n = store_cursor_next(c, batch, 7, &err)) > 0)
		for (int i = 0; i < n; i++)
			*vec_add(&all) = batch[i];
	assert_int_equal(n, 0);
	store_cursor_close(c);
	return all;
}

/* Compares one thread, and returns how many events the start saves. */
static size_t check_thread(struct store_reader *r, uint32_t thread, uint64_t tsc)
{
	struct store_start *start = store_start_at(r, tsc);
	struct events all = events_from(r, thread, NULL), part = events_from(r, thread, start);
	size_t same = 0, saved;
	struct state a, b;

	/* The end of both is the same, and what is at tsc and later is in it. */
	while (same < all.n && same < part.n &&
	       all.at[all.n - 1 - same].tsc == part.at[part.n - 1 - same].tsc &&
	       all.at[all.n - 1 - same].kind == part.at[part.n - 1 - same].kind &&
	       all.at[all.n - 1 - same].cpu == part.at[part.n - 1 - same].cpu)
		same++;
	saved = all.n - same;
	assert_true(!saved || all.at[saved - 1].tsc < tsc);
	run(&a, store_info(r), thread, all.at, saved);
	run(&b, store_info(r), thread, part.at, part.n - same);
	assert_same_state(&a, &b);
	end(&a);
	end(&b);
	vec_free(&all);
	vec_free(&part);
	store_start_free(start);
	return saved;
}

static uint64_t count(struct source *source)
{
	struct event e;
	struct err err;
	uint64_t n = 0, last = 0;

	for (; source->ops->next(source, &e, &err) > 0; n++) {
		assert_true(e.tsc >= last);
		last = e.tsc;
	}
	source->ops->close(source);
	return n;
}

static struct store_reader *open_file(const char *path)
{
	struct store_reader *r;
	struct err err;

	if (store_open(path, &r, &err))
		fail_msg("%s", err.text);
	return r;
}

static void begins_where_asked(void **state)
{
	struct program p[3] = { { 5000, 1 }, { 90000, 2 }, { 40000, 3 } };
	uint64_t first, last, random = 4;
	struct store_reader *r;
	size_t saved = 0;
	struct sample s;

	sample_begin(&s, 3, 1, 0);
	for (uint32_t t = 0; t < 3; t++)
		write_packets(&s, &p[t], t, 40, UINT_MAX);
	sample_finish(&s);
	r = open_file(s.path);
	assert_true(store_range(r, &first, &last));
	for (unsigned i = 0; i < 40; i++)
		for (uint32_t t = 0; t < 3; t++)
			saved += check_thread(r, t, first + sample_random(&random) % (last - first));
	assert_true(saved > UINT64_C(120) * WORDS * 5);
	/* behind the last record of all: what they left open */
	for (uint32_t t = 0; t < 3; t++)
		check_thread(r, t, last + 1);
	store_close(r);
	sample_free(&s);
}

static void merges_from_there(void **state)
{
	struct program p[2] = { { 5000, 1 }, { 9000, 2 } };
	struct store_part part = { 0 };
	struct store_reader *r;
	struct store_start *start;
	uint64_t first, last, all;
	struct sample s;

	sample_begin(&s, 2, 1, 0);
	for (uint32_t t = 0; t < 2; t++)
		write_packets(&s, &p[t], t, 30, UINT_MAX);
	sample_finish(&s);
	r = open_file(s.path);
	assert_true(store_range(r, &first, &last));
	all = count(store_source(r));
	part.start = start = store_start_at(r, first + (last - first) / 4 * 3);
	assert_in_range(count(store_source_part(r, &part)), all / 8, all / 2);
	store_start_free(start);
	store_close(r);
	sample_free(&s);
}

static void count_call(void *arg, const struct call_step *step)
{
	*(uint64_t *)arg += step->kind == CALL_ENTER;
}

/* The calls of a thread as reports count them. */
static uint64_t calls_followed(struct store_reader *r, uint32_t thread, uint64_t *entries)
{
	struct events all = events_from(r, thread, NULL);
	uint64_t calls = 0;
	struct state s;

	sites_init(&s.sites, store_info(r));
	s.lane = tracks_init_one(&s.tracks, store_info(r), &s.sites, thread);
	for (size_t i = 0; i < all.n; i++) {
		*entries += all.at[i].kind == EVENT_ENTRY || all.at[i].kind == EVENT_TAIL;
		tracks_feed(&s.tracks, s.lane, &all.at[i], count_call, &calls);
	}
	end(&s);
	vec_free(&all);
	return calls;
}

/* An exception: an unwinder leaves calls, and those that it made itself end with it. */
static void write_unwinding(struct sample *s, struct program *p, uint32_t thread)
{
	const unsigned left = p->depth / 2;
	uint64_t words[] = {
		word_of(p, 6, RECORD_ENTRY),
		word_of(p, record_event_id(2, RECORD_EVENT_SWITCH), RECORD_EVENT),
		(STACK_TOP - 16) | RECORD_SWITCH_UNWINDS | RECORD_SWITCH_FOLLOWED, 0,
		word_of(p, 7, RECORD_ENTRY),
		word_of(p, record_event_id(1, RECORD_EVENT_UNWIND), RECORD_EVENT), left,
		word_of(p, record_event_id(2, RECORD_EVENT_AT), RECORD_EVENT), STACK_TOP - 64, 0,
	};
	struct err err;

	p->depth -= left;
	if (store_records(s->writer, thread, p->tsc, 0, 0, words, sizeof(words) / sizeof(*words),
			  &err) ||
	    store_flush(s->writer, UINT64_MAX, &err))
		fail_msg("%s", err.text);
}

/* A jump of the function on top to itself is no call, whichever packet has the call: the file
 * counts as reports do, which share nothing with the writer's account. */
static void counts_no_loops(void **state)
{
	struct program p[3] = { { 5000, 1 }, { 9000, 2 }, { 70000, 3 } };
	uint64_t entries = 0, calls = 0;
	struct store_description about;
	struct store_reader *r;
	struct sample s;
	struct err err;

	sample_begin(&s, 3, 1, 0);
	for (unsigned part = 0; part < 5; part++)
		for (uint32_t t = 0; t < 3; t++) {
			write_packets(&s, &p[t], t, 10, UINT_MAX);
			if (t == 2)
				write_unwinding(&s, &p[t], t);
		}
	assert_int_equal(store_count(s.writer, s.info, &err), 0);
	sample_finish(&s);
	r = open_file(s.path);
	store_describe(r, &about);
	for (uint32_t t = 0; t < 3; t++)
		calls += calls_followed(r, t, &entries);
	assert_in_range(entries - calls, 100, entries / 2);
	assert_int_equal(about.calls, calls);
	assert_int_equal(store_info(r)->total.calls, calls);
	store_close(r);
	sample_free(&s);
}

/* A record that may change the stack in other ways: the thread is read from its beginning on. */
static void gives_up_where_it_must(void **state)
{
	struct program p[2] = { { 5000, 1 }, { 9000, 2 } };
	struct store_reader *r;
	uint64_t first, last;
	struct sample s;

	sample_begin(&s, 2, 1, 0);
	write_packets(&s, &p[0], 0, 30, 10);
	write_packets(&s, &p[1], 1, 30, UINT_MAX);
	sample_finish(&s);
	r = open_file(s.path);
	assert_true(store_range(r, &first, &last));
	assert_int_equal(check_thread(r, 0, first + (last - first) / 10 * 9), 0);
	assert_true(check_thread(r, 1, first + (last - first) / 10 * 9));
	assert_true(check_thread(r, 0, first + (last - first) / 10 * 2));
	store_close(r);
	sample_free(&s);
}

static void cut_files_are_read_from_the_beginning(void **state)
{
	struct program p = { 5000, 1 };
	struct store_reader *r;
	struct sample s;
	uint8_t *bytes;
	struct err err;
	size_t n;

	sample_begin(&s, 1, 1, 0);
	write_packets(&s, &p, 0, 5, UINT_MAX);
	sample_finish(&s);
	bytes = read_bytes(s.path, &n);
	if (store_open_bytes("cut", bytes, n - 1, &r, &err))
		fail_msg("%s", err.text);
	assert_null(store_start_at(r, p.tsc));
	store_close(r);
	free(bytes);
	sample_free(&s);
}

/* A file that brace wrote before files told of stacks. */
static void old_files_are_read_from_the_beginning(void **state)
{
	struct store_reader *r = open_file(OLD_FILE);
	uint64_t first, last;

	assert_true(store_range(r, &first, &last));
	for (uint32_t t = 0; t < store_info(r)->threads.n; t++)
		assert_int_equal(check_thread(r, t, last), 0);
	assert_int_equal(store_info(r)->total.calls, 200);
	store_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_where_asked),
		cmocka_unit_test(merges_from_there),
		cmocka_unit_test(counts_no_loops),
		cmocka_unit_test(gives_up_where_it_must),
		cmocka_unit_test(cut_files_are_read_from_the_beginning),
		cmocka_unit_test(old_files_are_read_from_the_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
