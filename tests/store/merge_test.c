/* All threads by time: against a sort, in bounded memory, and many readers at once. */
#include "cmocka_all.h"
#include "sample.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "shared/record.h"
#include "trace/clock_pairs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static struct store_reader *finish_and_open(struct sample *s)
{
	struct store_reader *r;
	struct err err;

	sample_finish(s);
	if (store_open(s->path, &r, &err))
		fail_msg("%s", err.text);
	return r;
}

/* The merge's key: a thread's stamps, made not to fall. */
struct keyed {
	uint64_t key;
	size_t order;
	struct event event;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->event.thread != y->event.thread)
		return x->event.thread < y->event.thread ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static struct keyed *sorted(const struct sample *s)
{
	struct keyed *all = mem_realloc(NULL, s->expect.n, sizeof(*all));
	uint64_t *last = mem_zalloc(s->threads.n * sizeof(*last));

	for (size_t i = 0; i < s->expect.n; i++) {
		uint64_t *key = &last[s->expect.at[i].thread];

		if (s->expect.at[i].tsc > *key)
			*key = s->expect.at[i].tsc;
		all[i] = (struct keyed){ *key, i, s->expect.at[i] };
	}
	free(last);
	qsort(all, s->expect.n, sizeof(*all), by_key);
	return all;
}

static void check_merge(struct sample *s)
{
	struct store_reader *r = finish_and_open(s);
	struct source *source = store_source(r);
	struct keyed *all = sorted(s);
	struct event e;
	struct err err;

	for (size_t i = 0; i < s->expect.n; i++) {
		assert_int_equal(source->ops->next(source, &e, &err), 1);
		assert_same_event(&e, &all[i].event);
	}
	assert_int_equal(source->ops->next(source, &e, &err), 0);
	source->ops->close(source);
	free(all);
	store_close(r);
	sample_free(s);
}

static void test_some_threads(void **state)
{
	struct sample s;

	sample_begin(&s, 7, 21, 1u << 30);
	for (int i = 0; i < 300; i++)
		sample_run(&s, sample_random(&s.random) % 7, 1 + sample_random(&s.random) % 2000, false);
	check_merge(&s);
}

/* Ten thousand threads, all there at the same time, in any order. */
static void test_many_threads(void **state)
{
	struct sample s;

	sample_begin(&s, 10000, 22, 1u << 30);
	for (int i = 0; i < 40000; i++)
		sample_run(&s, sample_random(&s.random) % 10000, 1 + sample_random(&s.random) % 20, false);
	check_merge(&s);
}

/* A signal handler's record may stand before the one it interrupted, with a later stamp. */
static void test_falling_stamps(void **state)
{
	static const uint64_t stamps[] = { 1000, 5000, 1500, 1600, 1700, 6000 };
	uint64_t words[6];
	struct sample s;
	struct err err;

	sample_begin(&s, 2, 23, 1000);
	for (int i = 0; i < 6; i++) {
		words[i] = record_word(stamps[i], (uint32_t)i + 1, RECORD_ENTRY);
		*vec_add(&s.expect) = (struct event){ .tsc = stamps[i], .fn = (uint32_t)i + 1 };
	}
	assert_int_equal(store_records(s.writer, 0, 1000, 0, 0, words, 6, &err), 0);
	for (int i = 0; i < 6; i++) {
		words[i] = record_word(1100 + 1000 * (uint64_t)i, 9, RECORD_ENTRY);
		*vec_add(&s.expect) = (struct event){ .tsc = 1100 + 1000 * (uint64_t)i, .thread = 1, .fn = 9 };
	}
	assert_int_equal(store_records(s.writer, 1, 1100, 0, 0, words, 6, &err), 0);
	check_merge(&s);
}

/* CPU time in ns that the merge takes of two threads with two packets each, the second one earlier
 * by `back`. */
static int64_t time_of_merge(uint64_t back)
{
	enum { N = 1 << 17 };
	uint64_t *words = mem_realloc(NULL, N, sizeof(*words));
	const uint64_t begin = UINT64_C(1) << 30;
	struct timespec from, to;
	struct store_reader *r;
	struct source *source;
	struct sample s;
	struct event e;
	struct err err;
	size_t n = 0;

	sample_begin(&s, 2, 24, begin);
	for (uint32_t packet = 0; packet < 4; packet++) {
		const uint64_t tsc = begin + (packet >= 2 ? 2 * N - back : 0);

		for (uint32_t i = 0; i < N; i++)
			words[i] = record_word(tsc + i, i % 100 + 1, RECORD_ENTRY);
		assert_int_equal(store_records(s.writer, packet % 2, tsc, 0, 0, words, N, &err), 0);
	}
	r = finish_and_open(&s);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	source = store_source(r);
	while (source->ops->next(source, &e, &err) > 0)
		n++;
	source->ops->close(source);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	assert_int_equal(n, 4 * N);
	store_close(r);
	sample_free(&s);
	free(words);
	return (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
}

/* Threads that end before they begin are no reason to decode each packet once for each 512 of its
 * words, which took 78 times as long. */
static void test_forged_times(void **state)
{
	int64_t usual = time_of_merge(0), forged = time_of_merge(UINT64_C(1) << 29);

	if (forged > 5 * usual)
		fail_msg("%lld ns, and %lld ns of forged packets", (long long)usual, (long long)forged);
}

/* --- a TSC that is not steady ------------------------------------------------------------- */

#define TURNS 3000u
#define TURN 1000u              /* ns between two calls */
#define BEGIN UINT64_C(100000000)

/* The second CPU's TSC began earlier, and runs faster by a thousandth, later slower by as much. */
static uint64_t tsc_on(uint16_t cpu, uint64_t ns)
{
	const uint64_t since = ns - BEGIN, bend = (uint64_t)TURNS / 2 * TURN;
	const uint64_t fast = since < bend ? since : bend;

	return cpu ? ns + 50000 + fast / 1000 - (since - fast) / 1000 : ns;
}

/* Pairs every 20 us, at other moments than the calls; their reading took 20 ns. */
static void add_pairs_of_clocks(struct trace_info *info)
{
	for (uint64_t ns = BEGIN; ns < BEGIN + (uint64_t)TURNS * TURN; ns += 20333)
		for (uint16_t cpu = 0; cpu < 2; cpu++)
			*vec_add(&info->clock_pairs) = (struct trace_clock_pair){
				.tsc = tsc_on(cpu, ns), .ns = ns, .window = 20, .cpu = cpu };
}

/* Three threads call in turn: on the one CPU, on the other, and on both by turns. Returns how many
 * events the merge gives in another order, or at another time than it was, by more than 60 ns. */
static unsigned count_misplaced(bool with_pairs, uint64_t *from, unsigned *behind)
{
	struct store_reader *r;
	struct source *source;
	struct sample s;
	struct event e;
	struct err err;
	unsigned wrong = 0;

	sample_begin(&s, 3, 26, BEGIN);
	s.info->clock.hz = 1000000000;
	if (with_pairs)
		add_pairs_of_clocks(s.info);
	for (uint32_t i = 0; i < TURNS; i++) {
		const uint16_t cpu = i % 3 < 2 ? (uint16_t)(i % 3) : (uint16_t)(i / 30 % 2);
		const uint64_t tsc = tsc_on(cpu, BEGIN + (uint64_t)i * TURN);
		uint64_t word = record_word(tsc, i + 1, RECORD_ENTRY);

		assert_int_equal(store_records(s.writer, i % 3, tsc, cpu, 0, &word, 1, &err), 0);
	}
	r = finish_and_open(&s);
	source = store_source(r);
	for (uint32_t i = 0; i < TURNS; i++) {
		const uint64_t ns = BEGIN + (uint64_t)i * TURN;

		assert_int_equal(source->ops->next(source, &e, &err), 1);
		wrong += e.fn != i + 1 || e.tsc + 60 < ns || e.tsc > ns + 60;
	}
	source->ops->close(source);
	/* A part from the middle on has all that belongs there. */
	*behind = 0;
	source = store_source_part(r, &(struct store_part){ .from_tsc = *from });
	while (source->ops->next(source, &e, &err) > 0)
		*behind += e.tsc >= *from;
	source->ops->close(source);
	store_close(r);
	sample_free(&s);
	return wrong;
}

static void test_pairs_of_clocks(void **state)
{
	uint64_t from = BEGIN + (uint64_t)TURNS / 2 * TURN - TURN / 2;
	struct trace_info info = { .clock.hz = 1000000000 };
	struct clock_pairs *pairs;
	unsigned behind;

	assert_true(count_misplaced(false, &from, &behind) > TURNS / 2);
	assert_int_equal(count_misplaced(true, &from, &behind), 0);
	assert_int_equal(behind, TURNS / 2);
	/* The bend is seen, and half of a pair's window counts. */
	add_pairs_of_clocks(&info);
	pairs = clock_pairs_new(&info);
	assert_in_range(clock_pairs_error(pairs), 11, 60);
	assert_in_range(clock_pairs_reach(pairs), 50000, 52000);
	assert_true(clock_pairs_tsc(pairs, 7, 1234) == 1234);
	clock_pairs_free(pairs);
	vec_free(&info.clock_pairs);
}

/* A thread runs on one CPU, and its last call on the other, whose TSC is half a second ahead or
 * behind: the range is that of the times as they are put right. */
static void check_range_of_pairs(uint16_t first_cpu, bool ahead)
{
	uint64_t first, last;
	struct store_reader *r;
	struct sample s;
	struct err err;

	sample_begin(&s, 1, 27, 2 * BEGIN);
	s.info->clock.hz = 1000000000;
	for (uint64_t ns = BEGIN; ns <= 2 * BEGIN; ns += BEGIN)
		for (uint16_t cpu = 0; cpu < 2; cpu++)
			*vec_add(&s.info->clock_pairs) = (struct trace_clock_pair){
				.tsc = ns + (ahead == (cpu == 1) ? 5 * BEGIN : 0), .ns = ns,
				.window = 20, .cpu = cpu };
	for (uint16_t i = 0; i < 2; i++) {
		const uint16_t cpu = i ? !first_cpu : first_cpu;
		const uint64_t tsc = BEGIN + (i + 1) * TURN + (ahead == (cpu == 1) ? 5 * BEGIN : 0);
		uint64_t word = record_word(tsc, i + 1u, RECORD_ENTRY);

		assert_int_equal(store_records(s.writer, 0, tsc, cpu, 0, &word, 1, &err), 0);
	}
	r = finish_and_open(&s);
	assert_true(store_range(r, &first, &last));
	assert_true(last - first == TURN);
	store_close(r);
	sample_free(&s);
}

static void test_range_of_pairs(void **state)
{
	for (unsigned i = 0; i < 4; i++)
		check_range_of_pairs(i & 1, i & 2);
}

static size_t resident_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, resident;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
	fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* The most memory the merge took above what the opened file takes. */
static size_t merge_memory_kb(struct store_reader *r, uint64_t *events)
{
	size_t before = resident_kb(), most = 0, now;
	struct source *source = store_source(r);
	struct event e;
	struct err err;

	for (*events = 0; source->ops->next(source, &e, &err) > 0; ++*events)
		if (*events % 10000 == 0 && (now = resident_kb()) > most)
			most = now;
	source->ops->close(source);
	return most > before ? most - before : 0;
}

/* The same run again and again, so that making the file costs nothing. */
static void write_long(struct sample *s, uint32_t thread, size_t times)
{
	static uint64_t words[2048];
	struct sample_thread *t = &s->threads.at[thread];
	struct err err;

	while (times--) {
		for (int i = 0; i < 2048; i++)
			words[i] = record_word(t->tsc += 30, (uint32_t)(1 + i / 2 % 100), i % 2 ? RECORD_EXIT : RECORD_ENTRY);
		assert_int_equal(store_records(s->writer, thread, t->tsc - 2048 * 30, 0, 0, words, 2048, &err), 0);
	}
}

/* 4 threads, 16 million records (131 MB of words): memory is four packets. */
static void test_long_file(void **state)
{
	struct store_reader *r;
	struct sample s;
	uint64_t events;
	size_t kb;

	sample_begin(&s, 4, 24, 1u << 30);
	for (int i = 0; i < 500; i++)
		for (uint32_t t = 0; t < 4; t++)
			write_long(&s, t, SANITIZED ? 1 : 4);
	r = finish_and_open(&s);
	kb = merge_memory_kb(r, &events);
	assert_int_equal(events, 2048 * 2000 * (SANITIZED ? 1 : 4));
	if (!SANITIZED)
		assert_in_range(kb, 0, 12 * 1024);
	store_close(r);
	sample_free(&s);
}

/* 10,000 threads one after the other, and 10,000 at once: 20 million records (164 MB) each. */
static void test_memory_of_threads(void **state)
{
	for (int at_once = 0; at_once < 2; at_once++) {
		struct store_reader *r;
		struct sample s;
		uint64_t events;
		size_t kb;

		sample_begin(&s, SANITIZED ? 500 : 10000, 25, 1u << 30);
		if (!at_once)
			for (uint32_t t = 0; t < s.threads.n; t++)
				s.threads.at[t].tsc += (uint64_t)t * 2048 * 30;
		for (uint32_t t = 0; t < s.threads.n; t++)
			write_long(&s, t, 1);
		r = finish_and_open(&s);
		kb = merge_memory_kb(r, &events);
		assert_int_equal(events, 2048 * s.threads.n);
		if (!SANITIZED)
			assert_in_range(kb, 0, at_once ? 90 * 1024 : 16 * 1024);
		store_close(r);
		sample_free(&s);
	}
}

static uint64_t mix(uint64_t sum, const struct event *e)
{
	return (sum ^ e->tsc ^ (uint64_t)e->fn << 32 ^ e->site ^ e->kind) * UINT64_C(0x9e3779b97f4a7c15);
}

struct reading {
	struct store_reader *reader;
	uint32_t thread;
	uint64_t sum;
};

static void *read_all(void *arg)
{
	struct reading *job = arg;
	struct store_cursor *c = store_cursor_open(job->reader, job->thread);
	struct event some[64];
	int n;

	while ((n = store_cursor_next(c, some, 64, NULL)) > 0)
		for (int i = 0; i < n; i++)
			job->sum = mix(job->sum, &some[i]);
	store_cursor_close(c);
	return NULL;
}

/* Two threads of ours for each of the trace's, all reading one file at the same time. */
static void test_parallel_cursors(void **state)
{
	struct reading jobs[8] = {0};
	pthread_t threads[8];
	struct sample s;
	struct store_reader *r;
	uint64_t sums[4] = {0};

	sample_begin(&s, 4, 26, 1u << 30);
	for (int i = 0; i < 200; i++)
		sample_run(&s, (uint32_t)i % 4, 3000, true);
	r = finish_and_open(&s);
	for (uint32_t i = 0; i < 8; i++) {
		jobs[i] = (struct reading){ .reader = r, .thread = i % 4 };
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &jobs[i]), 0);
	}
	for (size_t i = 0; i < s.expect.n; i++)
		sums[s.expect.at[i].thread] = mix(sums[s.expect.at[i].thread], &s.expect.at[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(jobs[i].sum, sums[i % 4]);
	}
	store_close(r);
	sample_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_some_threads), cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_falling_stamps), cmocka_unit_test(test_forged_times), cmocka_unit_test(test_long_file),
		cmocka_unit_test(test_pairs_of_clocks), cmocka_unit_test(test_range_of_pairs),
		cmocka_unit_test(test_memory_of_threads), cmocka_unit_test(test_parallel_cursors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
