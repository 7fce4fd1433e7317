/* Parents and children: chunks of many threads in any order that keeps each thread's own, against
 * the tree they were made from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/tasks.h"
#include "instance/fork_follow.h"
#include "shared/record.h"

#define ROOTS 5
#define THREADS 200
#define ROUNDS 300
#define NOW 1000u      /* of all chunks */
#define PATIENCE 1000u

static uint64_t seed;
static struct event_catalogue *catalogue;

static unsigned random_below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static int set_up(void **state)
{
	catalogue = events_new();
	tasks_provider.add_common(catalogue);
	return 0;
}

static int tear_down(void **state)
{
	events_free(catalogue);
	return 0;
}

/* --- what threads write --------------------------------------------------------------- */

typedef VEC(uint64_t) words;
struct thread { VEC(struct chunk *) chunks; size_t offered, given; words now; bool member, ended; };

static void write_event(words *w, const char *name, const void *record, size_t bytes)
{
	uint32_t index = events_find(catalogue, "sched", name)->index;
	size_t at = w->n, n = (bytes + 7) / 8;

	for (size_t i = 0; i < 1 + n; i++)
		*vec_add(w) = 0;
	w->at[at] = record_word(NOW, record_event_id((unsigned)n, RECORD_EVENT_TRACE + index), RECORD_EVENT);
	memcpy(w->at + at + 1, record, bytes);
}

static void write_fork(words *w, int parent, int child)
{
	const struct task_fork r = { .parent_pid = parent, .child_pid = child };

	write_event(w, "sched_process_fork", &r, sizeof(r));
}

static void write_exit(words *w, int tid)
{
	const struct task_exit r = { .pid = tid };

	write_event(w, "sched_process_exit", &r, sizeof(r));
}

static struct chunk *chunk_of(words *w, unsigned tid)
{
	const struct drain_run run = { .slot = tid, .near_tsc = NOW, .words = w->at, .n = w->n };
	struct chunk *c = chunk_new(&run);

	w->n = 0;
	return c;
}

static void end_chunk(struct thread *t, unsigned tid)
{
	*vec_add(&t->chunks) = chunk_of(&t->now, tid);
}

/* --- settings ------------------------------------------------------------------------- */

static void settings_for(struct settings *s, uint64_t options, const char *pids, const char *not_pids)
{
	struct err err;

	settings_init_tree(s);
	s->events.catalogue = catalogue;
	s->options |= options;
	assert_int_equal(settings_write(s, "set_ftrace_pid", pids, false, &err), 0);
	assert_int_equal(settings_write(s, "set_event_notrace_pid", not_pids, false, &err), 0);
}

static struct fork_follow *fork_follow_of(const char *pids, const char *not_pids)
{
	struct pid_list roots = { 0 };
	struct settings s;
	struct fork_follow *f;

	settings_for(&s, OPTION_BIT(OPTION_FUNCTION_FORK) | OPTION_BIT(OPTION_EVENT_FORK), pids, not_pids);
	for (int i = 1; i <= ROOTS; i++)
		pid_list_add(&roots, i);
	assert_true(fork_follow_wanted(&s));
	f = fork_follow_new(&s, &roots);
	pid_list_free(&roots);
	settings_free(&s);
	return f;
}

/* --- one round ------------------------------------------------------------------------ */

static struct thread threads[THREADS + 1]; /* by tid; 2 and 4 and theirs are members */

static unsigned somebody(unsigned n)
{
	unsigned tid;

	do
		tid = 1 + random_below(n);
	while (threads[tid].ended);
	return tid;
}

static void make_threads(void)
{
	for (unsigned tid = 1; tid <= THREADS; tid++) {
		unsigned parent = tid > ROOTS ? somebody(tid - 1) : 0;

		threads[tid].member = parent ? threads[parent].member : tid == 2 || tid == 4;
		if (parent)
			write_fork(&threads[parent].now, (int)parent, (int)tid);
		if (!random_below(2))
			end_chunk(&threads[tid], tid);
		if (parent && !random_below(3))
			end_chunk(&threads[parent], parent);
		if (tid > ROOTS && !random_below(4)) {
			unsigned one = somebody(tid);

			threads[one].ended = one > ROOTS;
			if (one > ROOTS)
				write_exit(&threads[one].now, (int)one);
		}
	}
	for (unsigned tid = 1; tid <= THREADS; tid++)
		end_chunk(&threads[tid], tid);
}

static bool offer_one(struct fork_follow *f)
{
	unsigned first = random_below(THREADS);

	for (unsigned i = 0; i < THREADS; i++) {
		unsigned tid = 1 + (first + i) % THREADS;
		struct thread *t = &threads[tid];

		if (t->offered == t->chunks.n)
			continue;
		fork_follow_offer(f, t->chunks.at[t->offered++], (pid_t)tid);
		return true;
	}
	return false;
}

static void take_all(struct fork_follow *f, unsigned *given)
{
	struct chunk *c;
	unsigned what;

	while (fork_follow_next(f, NOW + PATIENCE / 2, PATIENCE, &c, &what)) {
		struct thread *t = &threads[c->thread];

		assert_ptr_equal(c, t->chunks.at[t->given]);
		t->given++;
		assert_int_equal(what, t->member ? CHUNK_FUNCTIONS : CHUNK_EVENTS);
		chunk_put(c);
		++*given;
	}
}

static void in_any_order(void **state)
{
	for (seed = 1; seed <= ROUNDS; seed++) {
		struct fork_follow *f = fork_follow_of("2 4", "2 4");
		uint64_t round = seed;
		unsigned given = 0, all = 0;

		make_threads();
		while (offer_one(f))
			if (!random_below(5))
				take_all(f, &given);
		take_all(f, &given);
		for (unsigned tid = 1; tid <= THREADS; tid++) {
			struct thread *t = &threads[tid];

			assert_int_equal(pid_list_has(&f->lists[FOLLOW_PIDS], (pid_t)tid), t->member);
			assert_int_equal(pid_list_has(&f->lists[FOLLOW_EVENT_NOTRACE_PIDS], (pid_t)tid), t->member);
			assert_int_equal(pid_list_has(&f->ended, (pid_t)tid), t->ended);
			all += (unsigned)t->chunks.n;
			for (size_t i = 0; i < t->chunks.n; i++)
				chunk_put(t->chunks.at[i]);
			vec_free(&t->chunks);
			vec_free(&t->now);
		}
		assert_int_equal(given, all);
		fork_follow_free(f);
		memset(threads, 0, sizeof(threads));
		seed = round;
	}
}

/* --- what a list says ------------------------------------------------------------------ */

static unsigned offer(struct fork_follow *f, words *w, int tid, uint64_t complete)
{
	struct chunk *c = chunk_of(w, (unsigned)tid), *got;
	unsigned what = ~0u;

	fork_follow_offer(f, c, tid);
	chunk_put(c);
	if (fork_follow_next(f, complete, PATIENCE, &got, &what))
		chunk_put(got);
	return what;
}

static void numbers_come_again(void **state)
{
	struct fork_follow *f = fork_follow_of("2", "4");
	words w = { 0 };

	write_fork(&w, 2, 50);
	assert_int_equal(offer(f, &w, 2, NOW), CHUNK_FUNCTIONS | CHUNK_EVENTS);
	write_exit(&w, 50);
	assert_int_equal(offer(f, &w, 50, NOW), CHUNK_FUNCTIONS | CHUNK_EVENTS);
	write_fork(&w, 4, 50);
	assert_int_equal(offer(f, &w, 4, NOW), 0);
	assert_int_equal(offer(f, &w, 50, NOW), 0);
	vec_free(&w);
	fork_follow_free(f);
}

/* The kernel tells of an end before the thread's own last records have come. */
static void told_early(void **state)
{
	struct fork_follow *f = fork_follow_of("2", "");
	words w = { 0 };

	write_fork(&w, 2, 50);
	write_exit(&w, 50);
	assert_int_equal(offer(f, &w, 2, NOW), CHUNK_FUNCTIONS | CHUNK_EVENTS);
	assert_int_equal(offer(f, &w, 50, NOW), CHUNK_FUNCTIONS | CHUNK_EVENTS);
	vec_free(&w);
	fork_follow_free(f);
}

static void nobody_tells(void **state)
{
	struct fork_follow *f = fork_follow_of("2", "");
	struct chunk *c;
	words w = { 0 };
	unsigned what;

	assert_int_equal(offer(f, &w, 60, NOW), ~0u);
	assert_false(fork_follow_next(f, NOW + PATIENCE - 1, PATIENCE, &c, &what));
	assert_true(fork_follow_next(f, NOW + PATIENCE, PATIENCE, &c, &what));
	assert_int_equal(what, CHUNK_EVENTS);
	chunk_put(c);
	vec_free(&w);
	fork_follow_free(f);
}

/* A list whose last thread has ended means nobody; what somebody writes then is what counts. */
static void empty_and_new(void **state)
{
	struct fork_follow *f = fork_follow_of("3", "");
	struct pid_list none = { 0 };
	struct settings s, other;
	words w = { 0 };
	char *text;

	write_exit(&w, 3);
	assert_int_equal(offer(f, &w, 3, NOW), CHUNK_FUNCTIONS | CHUNK_EVENTS);
	assert_int_equal(offer(f, &w, 1, NOW), CHUNK_EVENTS);
	settings_for(&s, OPTION_BIT(OPTION_FUNCTION_FORK), "3", "");
	fork_follow_present(f, &s);
	text = settings_read(&s, "set_ftrace_pid");
	assert_string_equal(text, "");
	assert_true(fork_follow_wanted(&s));
	fork_follow_configure(f, &s, &none);
	assert_int_equal(offer(f, &w, 1, NOW), CHUNK_EVENTS);
	settings_for(&other, OPTION_BIT(OPTION_FUNCTION_FORK), "1", "");
	fork_follow_configure(f, &other, &none);
	assert_int_equal(offer(f, &w, 1, NOW), CHUNK_FUNCTIONS | CHUNK_EVENTS);
	assert_int_equal(offer(f, &w, 2, NOW), CHUNK_EVENTS);
	free(text);
	settings_free(&s);
	settings_free(&other);
	vec_free(&w);
	fork_follow_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_any_order), cmocka_unit_test(numbers_come_again), cmocka_unit_test(told_early), cmocka_unit_test(nobody_tells),
		cmocka_unit_test(empty_and_new),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
