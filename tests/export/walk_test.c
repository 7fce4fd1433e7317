/* Balanced calls of a made-up trace of a program and the kernel, in which each thread is two
 * entries with one id: the ends that the walk makes itself are those of an exec, and of no thread
 * whose kernel's part begins later. */
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

/* The ends that the walk gives: their times, and whether the calls were open. */
struct ends { VEC(struct end { uint64_t ns; uint32_t thread; bool unfinished; }) of; };

static int note_end(void *arg, const struct walk_step *s)
{
	struct ends *ends = arg;

	if (s->kind == WALK_END)
		*vec_add(&ends->of) = (struct end){ s->tsc, s->thread, s->flags & WALK_UNFINISHED };
	return 0;
}

static void walk(struct made *m, struct ends *ends)
{
	struct walk w;
	struct err err;

	memset(ends, 0, sizeof(*ends));
	walk_init(&w, &m->source);
	assert_int_equal(walk_run(&w, note_end, ends, &err), 0);
	walk_free(&w);
	trace_info_free(m->source.info);
	free(m);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_part_ends_no_call),
		cmocka_unit_test(exec_ends_the_old_programs_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
