/* Formats that the kernel's function files lack: the thread group column and the verbose
 * latency line (from its files of other events, whose left part is the same), callers that
 * have no symbol, lost records, binary output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "model/option.h"
#include "report/function.h"

static bool overrun; /* of the buffer that is printed */

static char *print(struct fixture *f, uint64_t options, bool header)
{
	struct trace_header h = { .entries = 44, .written = 44, .overrun = overrun };
	struct text text = { 0 };
	struct function_printer *p;
	struct out out;

	out_init(&out, text_flush, &text);
	p = function_new(f->info, options, &out);
	if (header)
		function_header(p, &h);
	for (size_t i = 0; i < f->events.n; i++)
		function_event(p, &f->events.at[i]);
	function_flush(p);
	out_flush(&out);
	function_free(p);
	out_free(&out);
	text_end(&text);
	return text.bytes.at;
}

/* The first `lines` lines behind the first of a golden file, the last up to its `: `. */
static char *golden_lines(const char *name, unsigned lines)
{
	FILE *file = fopen(name, "r");
	char *text = mem_zalloc(8192), *at = text;

	assert_non_null(file);
	assert_non_null(fgets(at, 1024, file));
	while (lines--) {
		assert_non_null(fgets(at, 1024, file));
		at += strlen(at);
	}
	fclose(file);
	while (at[-1] != '\n' || at[0])
		at--;
	while (--at > text && at[-1] != '\n')
		;
	strstr(at, ": ")[2] = '\0';
	return text;
}

static struct fixture *one_call(const char *comm, uint32_t tid, uint64_t ns)
{
	struct fixture *f = fixture_new();
	uint32_t callee = fixture_function(f, "callee", 6), caller = fixture_function(f, "caller", 6);

	fixture_event(f, (struct event){ .kind = EVENT_CALL, .tsc = ns, .fn = callee, .cpu = 1,
					 .site = fixture_site(f, caller, callee),
					 .thread = fixture_thread(f, comm, tid) });
	return f;
}

static void assert_begins(const char *got, const char *want)
{
	char *head = mem_strndup(got, strlen(want));

	assert_string_equal(head, want);
	free(head);
}

static void test_thread_groups(void **state)
{
	char *want = golden_lines(GOLDEN "/k6.12-own.nop.events.record-tgid=1-while-recording.txt", 12);
	struct fixture *f = one_call("sh", 67, 25374224000);
	char *got = print(f, options_default() | OPTION_BIT(OPTION_RECORD_TGID), true);

	assert_begins(strchr(got, '\n') + 1, want);
	assert_string_equal(got + strlen(got) - strlen("callee <-caller\n"), "callee <-caller\n");
	free(got);
	free(want);
	fixture_free(f);
}

static void test_latency_verbose(void **state)
{
	char *want = golden_lines(GOLDEN "/k6.12-own.nop.events.option-latency-format=1,verbose=1.txt", 9);
	uint64_t ns = UINT64_C(0x16a48db) * 1000;
	struct fixture *f = one_call("sh", 67, ns);
	struct event next = f->events.at[0];
	char *got;

	f->info->images.at[0].tsc = ns - 18323000;
	next.tsc = ns + 7036000;
	fixture_event(f, next);
	f->info->kernel = mem_strdup("6.12.117");
	got = print(f,
		    options_default() | OPTION_BIT(OPTION_LATENCY_FORMAT) |
			    OPTION_BIT(OPTION_VERBOSE),
		    true);
	/* another tracer's name and other counts */
	assert_begins(strstr(got, "#    -----"), strstr(want, "#    -----"));
	free(got);
	free(want);
	fixture_free(f);
}

static void test_callers(void **state)
{
	uint64_t options = options_default() & ~OPTION_BIT(OPTION_CONTEXT_INFO);
	struct fixture *f = one_call("x", 1, 1);
	struct trace_module *m = &f->info->modules.at[0];
	struct event e = f->events.at[0];
	char *got;

	e.site = fixture_site(f, FIXTURE_OUTSIDE, 1);           /* in no module */
	fixture_event(f, e);
	m->end += 0x1000;
	e.site = fixture_site(f, (uint32_t)m->functions.n, 11); /* in a module, in no function */
	fixture_event(f, e);
	e.site = 0;                                             /* not known */
	e.kind = EVENT_ENTRY_ONLY;
	fixture_event(f, e);
	e.fn = 77;                                              /* nothing defines it */
	fixture_event(f, e);
	e.kind = EVENT_LOST;
	e.count = 5;
	fixture_event(f, e);
	e.thread = 99;                                          /* a damaged file */
	fixture_event(f, e);
	got = print(f, options, false);
	assert_string_equal(got, "callee <-caller\ncallee <-0x2a8000000001\ncallee <-x+0x20010\ncallee <-0x0\n"
				 "[function 77] <-0x0\nCPU:1 [LOST 5 EVENTS]\n");
	free(got);
	fixture_free(f);
}

static void test_binary(void **state)
{
	struct fixture *f = one_call("x", 0x01020304, 0x1112131415161718);
	struct text text = { 0 };
	struct function_printer *p;
	struct out out;
	struct { uint32_t tid, cpu; uint64_t ns, callee, caller; } want = {
		0x01020304, 1, 0x1112131415161718, 0x550000000000, 0x550000010005 };

	out_init_raw(&out, text_flush, &text);
	p = function_new(f->info, options_default() | OPTION_BIT(OPTION_BIN), &out);
	function_event(p, &f->events.at[0]);
	out_flush(&out);
	assert_int_equal(text.bytes.n, sizeof(want));
	assert_memory_equal(text.bytes.at, &want, sizeof(want));
	function_free(p);
	out_free(&out);
	vec_free(&text.bytes);
	fixture_free(f);
}

/* The CPUs of the lines of a trace whose buffer was too small, and where it says which of them
 * begins. Lines that say so are told by a '#'. */
static char *shape_of(const char *text, struct fixture *f)
{
	char *shape = mem_zalloc(strlen(text) + 1), *to = shape;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		const char *cpu = strchr(line, '[');

		if (!strncmp(line, "#####", 5))
			to += sprintf(to, "%.*s\n", (int)strcspn(line, "\n"), line);
		if (*line == '#')
			continue;
		*to++ = cpu[3];
		if (f)
			fixture_event(f, (struct event){ .kind = EVENT_CALL, .tsc = f->events.at[f->events.n - 1].tsc + 1, .site = 1,
							 .cpu = (uint16_t)(cpu[3] - '0') });
	}
	return shape;
}

static void test_annotate(void **state)
{
	FILE *file = fopen(GOLDEN "/k6.12-own.raw.overrun.trace.txt", "r");
	char *golden = mem_zalloc(65536), *want, *got, *shape;
	struct fixture *f = one_call("x", 1, 1);

	assert_non_null(file);
	assert_true(fread(golden, 1, 65535, file) > 30000);
	fclose(file);
	f->events.at[0].cpu = 0;
	want = shape_of(golden, f);
	memmove(f->events.at, f->events.at + 1, --f->events.n * sizeof(f->events.at[0]));
	overrun = true;
	got = print(f, options_default(), true);
	shape = shape_of(got, NULL);
	assert_string_equal(shape, want);
	assert_non_null(strchr(want, '#'));
	free(got);
	free(shape);
	got = print(f, options_default() & ~OPTION_BIT(OPTION_ANNOTATE), true);
	assert_null(strstr(got, "#####"));
	overrun = false;
	free(got);
	got = print(f, options_default(), true);
	assert_null(strstr(got, "#####"));
	free(got);
	free(want);
	free(golden);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_groups), cmocka_unit_test(test_latency_verbose),
		cmocka_unit_test(test_callers), cmocka_unit_test(test_binary), cmocka_unit_test(test_annotate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
