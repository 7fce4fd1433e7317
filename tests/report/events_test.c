/* Events in reports: the kernel's own format file, and the lines it printed of such records, in
 * trace, in function_graph, by the option `fields`, as types; records that are not of their format;
 * and all of it again from a trace file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/syscalls.h"
#include "fixture.h"
#include "golden.h"
#include "model/option.h"
#include "report/function.h"
#include "report/graph.h"
#include "report/summary.h"
#include "shared/record.h"
#include "store/store.h"

#define FORMATS GOLDEN "/../../event/golden/"
#define INDEX 41

struct fork_record {
	char parent[16];
	int32_t parent_pid;
	char child[16];
	int32_t child_pid;
};

static void add_event(struct trace_info *info)
{
	*vec_add(&info->events) = (struct trace_event){
		INDEX, mem_strdup("sched"), mem_strdup("sched_process_fork"),
		golden_file(FORMATS "k6.12-own.init.events.sched.sched_process_fork.format.txt"),
	};
}

static const struct fork_record fork_602 = { "sh", 67, "sh", 602 };

static struct event event_of(const struct fork_record *r, uint32_t thread, uint64_t ns)
{
	return (struct event){ .kind = EVENT_TRACE, .fn = INDEX, .tsc = ns, .thread = thread, .cpu = 1,
			       .payload = (const uint64_t *)r, .count = sizeof(*r) };
}

static char *print(struct trace_info *info, const struct event *e, uint64_t options)
{
	struct text text = { 0 };
	struct function_printer *p;
	struct out out;

	out_init(&out, text_flush, &text);
	p = function_new(info, options, &out);
	function_event(p, e);
	function_flush(p);
	out_flush(&out);
	function_free(p);
	out_free(&out);
	text_end(&text);
	return text.bytes.at;
}

/* Linux 7.2's text of this record (golden nop.events, option by option), but for the id,
 * which is 6.12's as the format is: 7.2 has dynamic strings. */
static void as_the_kernel(void **state)
{
	static const struct { uint64_t option; const char *line; } runs[] = {
		{ 0, "              sh-67      [001] .....    15.091956: sched_process_fork: comm=sh pid=67 child_comm=sh "
		     "child_pid=602\n" },
		{ OPTION_BIT(OPTION_CONTEXT_INFO), "sched_process_fork: comm=sh pid=67 child_comm=sh child_pid=602\n" },
		{ OPTION_BIT(OPTION_FIELDS), "              sh-67      [001] .....    15.091956: sched_process_fork: "
		  "parent_comm=sh parent_pid=0x43 (67) child_comm=sh child_pid=0x25a (602)\n" },
		{ OPTION_BIT(OPTION_RAW), "67 1 15091955817 type: 254\n" },
		{ OPTION_BIT(OPTION_HEX), "00000043 00000001 00000003838cf869 type: 254\n\n" },
	};
	struct fixture *f = fixture_new();
	struct event e = event_of(&fork_602, fixture_thread(f, "sh", 67), 15091955817);

	(void)state;
	add_event(f->info);
	f->info->clock = (struct trace_clock){ .hz = 1000000000 };
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		char *text = print(f->info, &e, options_default() ^ runs[i].option);

		assert_string_equal(text, runs[i].line);
		free(text);
	}
	fixture_free(f);
}

/* As between the functions of golden function_graph.event-comment: not indented in an outermost
 * function; and one further in. */
static void as_comments(void **state)
{
	struct fixture *f = fixture_new();
	struct text text = { 0 };
	struct graph *g;
	struct out out;

	(void)state;
	add_event(f->info);
	fixture_parse(f, "copy{ pick{ }copy.pick");
	fixture_event(f, event_of(&fork_602, 0, f->events.at[f->events.n - 1].tsc + 1));
	fixture_parse(f, "get{ in{");
	fixture_event(f, event_of(&fork_602, 0, f->events.at[f->events.n - 1].tsc + 1));
	out_init(&out, text_flush, &text);
	g = graph_new(f->info, options_default() & ~OPTION_BIT(OPTION_GRAPH_CPU), &out);
	for (size_t i = 0; i < f->events.n; i++) {
		f->events.at[i].cpu = 0;
		graph_event(g, &f->events.at[i]);
	}
	graph_flush(g);
	out_flush(&out);
	graph_free(g);
	out_free(&out);
	assert_string_equal(text_end(&text),
		"              |  copy() {\n"
		"  1.000 us    |    pick();\n"
		"              |  /* sched_process_fork: comm=sh pid=67 child_comm=sh child_pid=602 */\n"
		"              |    get() {\n"
		"              |      in() {\n"
		"              |        /* sched_process_fork: comm=sh pid=67 child_comm=sh child_pid=602 */\n");
	vec_free(&text.bytes);
	fixture_free(f);
}

static void not_of_the_format(void **state)
{
	struct fixture *f = fixture_new();
	struct event e = event_of(&fork_602, fixture_thread(f, "sh", 67), 0);
	char *text;

	(void)state;
	add_event(f->info);
	e.count = 16;
	text = print(f->info, &e, 0);
	assert_non_null(strstr(text, "a record of 24 bytes that is not of its format"));
	free(text);
	e.fn = 7;
	text = print(f->info, &e, 0);
	assert_string_equal(text, "[event 7]:\n");
	free(text);
	fixture_free(f);
}

/* --- through a trace file -------------------------------------------------------------------- */

#define RECORDS 3000

static void write_file(const char *path, struct trace_info *info)
{
	struct store_writer *w;
	struct err err;

	assert_int_equal(store_create(path, info, &w, &err), 0);
	for (int i = 0; i < RECORDS; i++) {
		struct fork_record r = { "sh", i, "ls", -i };
		uint64_t words[1 + sizeof(r) / 8];

		words[0] = record_word(1000 + i, record_event_id(sizeof(r) / 8, RECORD_EVENT_TRACE + INDEX), RECORD_EVENT);
		memcpy(words + 1, &r, sizeof(r));
		assert_int_equal(store_records(w, 0, 1000 + i, 0, 0, words, sizeof(words) / 8, &err), 0);
	}
	assert_int_equal(store_finish(w, &err), 0);
}

static void from_a_file(void **state)
{
	struct fixture *f = fixture_new();
	char path[] = "/tmp/brace-events-XXXXXX";
	struct store_reader *reader;
	struct source *source;
	struct summary_input in;
	struct summary sum;
	struct event e;
	struct err err;
	int n = 0;

	(void)state;
	close(mkstemp(path));
	add_event(f->info);
	f->info->version = f->info->version ? f->info->version : mem_strdup("test");
	fixture_thread(f, "sh", 67);
	write_file(path, f->info);
	assert_int_equal(store_open(path, &reader, &err), 0);
	unlink(path);
	assert_string_equal(trace_info_event(store_info(reader), INDEX)->format, f->info->events.at[0].format);
	source = store_source(reader);
	for (; source->ops->next(source, &e, &err) > 0; n++) {
		const struct fork_record *r = (const void *)e.payload;

		assert_int_equal(e.kind, EVENT_TRACE);
		assert_int_equal(e.count, sizeof(*r));
		assert_int_equal(r->parent_pid, n);
		assert_int_equal(r->child_pid, -n);
		assert_int_equal(e.tsc, 1000 + n);
	}
	assert_int_equal(n, RECORDS);
	source->ops->close(source);
	in = summary_from_store(reader);
	assert_int_equal(summary_make(&in, 2, &sum, &err), 0);
	assert_int_equal(sum.rows.n, 1);
	assert_string_equal(sum.rows.at[0].name, "sched:sched_process_fork");
	assert_int_equal(sum.rows.at[0].value[SUMMARY_CALLS], RECORDS);
	summary_free(&sum);
	store_close(reader);
	fixture_free(f);
}

/* Prints one call's event with these arguments and no copies. */
static char *print_call(struct fixture *f, const struct event_entry *e, uint32_t thread, const uint64_t args[SYSCALL_ARGS])
{
	union { struct syscall_enter call; uint64_t words[RECORD_PAYLOAD_MAX]; } r = { .call = { 0 } };
	struct event event = { .kind = EVENT_TRACE, .fn = (uint32_t)f->info->events.n, .thread = thread,
			       .payload = r.words, .count = 8 * (SYSCALL_ARGS + 4) };
	const size_t last = e->format->n - 1;

	*vec_add(&f->info->events) = (struct trace_event){ event.fn, mem_strdup("syscalls"), mem_strdup(e->format->name),
							   mem_strdup(e->text) };
	/* The copies behind the arguments are empty. */
	for (size_t i = 1; i <= last && e->format->fields[i].size == 8; i++)
		r.call.args[i - 1] = args[i - 1];
	return print(f->info, &event, options_default());
}

/* libtraceevent reads the format of every call. One that it cannot read is shown by fields. */
static void system_calls_are_read(void **state)
{
	static const uint64_t args[][SYSCALL_ARGS] = { { 0 }, { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull } };
	struct event_catalogue *c = events_new();
	struct fixture *f = fixture_new();
	uint32_t thread = fixture_thread(f, "sh", 67);
	size_t n;
	const struct syscall_info *all = syscalls_all(&n);

	(void)state;
	syscalls_provider.add_common(c);
	f->info->clock = (struct trace_clock){ .hz = 1000000000 };
	for (size_t i = 0; i < 2 * n; i++) {
		char *text = print_call(f, syscalls_find(c, all[i / 2].number).enter, thread, args[i % 2]);

		if (strstr(text, "__syscall_nr=") || strstr(text, "not of its format") || !strstr(text, all[i / 2].name))
			fail_msg("%s", text);
		free(text);
	}
	fixture_free(f);
	events_free(c);
}

/* Constants by name; what has none is a number, and of an int the upper half says nothing. */
static void system_calls_by_name(void **state)
{
	static const struct { uint32_t number; uint64_t args[SYSCALL_ARGS]; const char *text; } calls[] = {
		{ 10, { 4096, 4096, 0 }, "start: 0x00001000, len: 0x00001000, prot: PROT_NONE" },
		{ 10, { 4096, 4096, 0x10000000000003 }, "prot: PROT_READ|PROT_WRITE|0x10000000000000" },
		{ 9, { 0, 1, 5, 0x22, ~0ull, 0 }, "prot: PROT_READ|PROT_EXEC, flags: MAP_PRIVATE|MAP_ANONYMOUS, fd" },
		{ 9, { 0, 1, 0, 0, 0, 0 }, "flags: 0x0, fd" },
		{ 41, { 1, 0x80001, 0 }, "family: AF_UNIX, type: SOCK_STREAM|SOCK_CLOEXEC, protocol" },
		{ 41, { 77, 0x80000, 0 }, "family: 0x4d, type: 0x0|SOCK_CLOEXEC, protocol" },
		{ 56, { 0x1200011 }, "clone_flags: CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, newsp" },
		{ 56, { 0x100 }, "clone_flags: CLONE_VM, newsp" },
		{ 56, { 17 }, "clone_flags: SIGCHLD, newsp" },
		{ 56, { 0 }, "clone_flags: 0, newsp" },
		{ 202, { 0, 0x189 }, "op: FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, val" },
		{ 62, { 1, 0xffffffff00000009 }, "sig: SIGKILL" },
		{ 263, { 0xffffffffffffff9c, 0, 0x200 }, "dfd: AT_FDCWD, pathname" },
		{ 72, { 1, 99 }, "cmd: 0x63, arg" },
	};
	struct event_catalogue *c = events_new();
	struct fixture *f = fixture_new();
	uint32_t thread = fixture_thread(f, "sh", 67);

	(void)state;
	syscalls_provider.add_common(c);
	f->info->clock = (struct trace_clock){ .hz = 1000000000 };
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		char *text = print_call(f, syscalls_find(c, calls[i].number).enter, thread, calls[i].args);

		if (!strstr(text, calls[i].text))
			fail_msg("%s: %s", calls[i].text, text);
		free(text);
	}
	fixture_free(f);
	events_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernel), cmocka_unit_test(as_comments),
		cmocka_unit_test(not_of_the_format), cmocka_unit_test(from_a_file),
		cmocka_unit_test(system_calls_are_read), cmocka_unit_test(system_calls_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
