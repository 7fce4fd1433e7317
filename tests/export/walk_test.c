/* Balanced calls of a made-up trace of a program and the kernel, in which each thread is two
 * entries with one id: the ends that the walk makes itself are those of an exec, and of no thread
 * whose kernel's part begins later. Nested, a call of the kernel's takes the own time of the
 * program's call that it lies in, and of no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "export/walk.h"

#define TID 7u
enum { PROGRAM, KERNEL, EXECED }; /* threads, all with that id */

struct made { struct source source; struct event events[16]; size_t n, at; };

static int next_event(struct source *source, struct event *out, struct err *err)
{
	struct made *m = (struct made *)source;

	if (m->at == m->n)
		return 0;
	*out = m->events[m->at++];
	return 1;
}

static void close_nothing(struct source *source) {}

static struct made *begin(void)
{
	static const struct source_ops ops = { next_event, close_nothing };
	struct made *m = mem_zalloc(sizeof(*m));
	struct trace_info *info = trace_info_new();

	m->source = (struct source){ .ops = &ops, .info = info };
	info->clock.hz = 1000000000;
	trace_info_add_kernel(info);
	for (uint32_t i = 1; i <= 2; i++)
		*vec_add(&info->images) = (struct trace_image){ .pid = TID, .exe = mem_strdup("/p"), .cmdline = mem_strdup("p") };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = TID, .tid = TID, .image = 1 };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = TID, .tid = TID, .image = TRACE_KERNEL_IMAGE };
	*vec_add(&info->threads) = (struct trace_thread){ .pid = TID, .tid = TID, .image = 2 };
	return m;
}

static void add(struct made *m, uint64_t tsc, enum event_kind kind, uint32_t thread)
{
	m->events[m->n++] = (struct event){ .tsc = tsc, .kind = kind, .thread = thread, .flags = thread == KERNEL ? EVENT_KERNEL : 0 };
}

/* The ends that the walk gives: their times, and whether the calls were open; how many calls have
 * begun in one of the program's. */
struct end { uint64_t ns, self; uint32_t thread; bool unfinished; };
struct ends { VEC(struct end) of; unsigned below; };

static int note_end(void *arg, const struct walk_step *s)
{
	struct ends *ends = arg;

	ends->below += s->kind == WALK_BEGIN && s->below;
	if (s->kind == WALK_END)
		*vec_add(&ends->of) = (struct end){ s->tsc, s->self, s->thread, s->flags & WALK_UNFINISHED };
	return 0;
}

static void walk_as(struct made *m, bool nests, struct ends *ends)
{
	struct walk w;
	struct err err;

	memset(ends, 0, sizeof(*ends));
	walk_init(&w, &m->source);
	w.nests_kernel = nests;
	assert_int_equal(walk_run(&w, note_end, ends, &err), 0);
	walk_free(&w);
	trace_info_free(m->source.info);
	free(m);
}

static void walk(struct made *m, struct ends *ends)
{
	walk_as(m, false, ends);
}

static void kernels_part_ends_no_call(void **state)
{
	struct made *m = begin();
	struct ends ends;

	add(m, 100, EVENT_ENTRY, PROGRAM);
	add(m, 200, EVENT_ENTRY, KERNEL);
	add(m, 300, EVENT_EXIT, KERNEL);
	add(m, 400, EVENT_EXIT, PROGRAM);
	walk(m, &ends);
	assert_int_equal(ends.of.n, 2);
	assert_int_equal(ends.of.at[0].thread, KERNEL);
	assert_int_equal(ends.of.at[1].thread, PROGRAM);
	assert_int_equal(ends.of.at[1].ns, 400);
	assert_false(ends.of.at[1].unfinished);
	vec_free(&ends.of);
}

static void exec_ends_the_old_programs_calls(void **state)
{
	struct made *m = begin();
	struct ends ends;

	add(m, 100, EVENT_ENTRY, PROGRAM);
	add(m, 200, EVENT_ENTRY, KERNEL);
	add(m, 300, EVENT_ENTRY, EXECED);
	add(m, 400, EVENT_EXIT, EXECED);
	add(m, 500, EVENT_EXIT, KERNEL);
	walk(m, &ends);
	assert_int_equal(ends.of.n, 3);
	assert_int_equal(ends.of.at[0].thread, PROGRAM);
	assert_true(ends.of.at[0].unfinished);
	assert_int_equal(ends.of.at[0].ns, 100);
	assert_false(ends.of.at[1].unfinished);
	assert_false(ends.of.at[2].unfinished);
	vec_free(&ends.of);
}

/* The program's call of 100 to 900, the kernel's of 200 to 300 with another in it, of 400 to 500,
 * and of 950 to 990. */
static struct made *both(void)
{
	struct made *m = begin();

	add(m, 100, EVENT_ENTRY, PROGRAM);
	add(m, 200, EVENT_ENTRY, KERNEL);
	add(m, 210, EVENT_ENTRY, KERNEL);
	add(m, 220, EVENT_EXIT, KERNEL);
	add(m, 300, EVENT_EXIT, KERNEL);
	add(m, 400, EVENT_ENTRY, KERNEL);
	add(m, 500, EVENT_EXIT, KERNEL);
	add(m, 900, EVENT_EXIT, PROGRAM);
	add(m, 950, EVENT_ENTRY, KERNEL);
	add(m, 990, EVENT_EXIT, KERNEL);
	return m;
}

static void sides_have_their_own_times(void **state)
{
	struct ends ends;

	walk(both(), &ends);
	assert_int_equal(ends.below, 0);
	assert_int_equal(ends.of.n, 5);
	assert_int_equal(ends.of.at[3].thread, PROGRAM);
	assert_int_equal(ends.of.at[3].self, 800);
	vec_free(&ends.of);
}

static void a_kernels_call_takes_its_programs_own_time(void **state)
{
	static const uint64_t self[] = { 10, 90, 100, 800 - 100 - 100, 40 };
	struct ends ends;

	walk_as(both(), true, &ends);
	assert_int_equal(ends.below, 2);
	assert_int_equal(ends.of.n, 5);
	for (size_t i = 0; i < ends.of.n; i++)
		assert_int_equal(ends.of.at[i].self, self[i]);
	vec_free(&ends.of);
}

/* As where the program's records were lost: another call stands where the one was. */
static void a_kernels_call_takes_no_later_calls_time(void **state)
{
	struct made *m = begin();
	struct ends ends;

	add(m, 100, EVENT_ENTRY, PROGRAM);
	add(m, 200, EVENT_ENTRY, KERNEL);
	add(m, 300, EVENT_EXIT, PROGRAM);
	add(m, 400, EVENT_ENTRY, PROGRAM);
	add(m, 500, EVENT_EXIT, KERNEL);
	add(m, 600, EVENT_EXIT, PROGRAM);
	walk_as(m, true, &ends);
	assert_int_equal(ends.below, 1);
	assert_int_equal(ends.of.n, 3);
	assert_int_equal(ends.of.at[2].thread, PROGRAM);
	assert_int_equal(ends.of.at[2].self, 200);
	vec_free(&ends.of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_part_ends_no_call),
		cmocka_unit_test(exec_ends_the_old_programs_calls),
		cmocka_unit_test(sides_have_their_own_times),
		cmocka_unit_test(a_kernels_call_takes_its_programs_own_time),
		cmocka_unit_test(a_kernels_call_takes_no_later_calls_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
