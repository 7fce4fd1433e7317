/* Every stack that a kernel printed goes round: lines of golden files are read back into records
 * and printed again. And counts of repeated calls, by the format that the kernel's own printer
 * has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "golden.h"
#include "model/option.h"
#include "report/function.h"
#include "shared/record.h"

#define FORMATS GOLDEN "/../../event/golden/k6.12-own.init.events."
#define LIBRARY_START UINT64_C(0x7f0000000000)

enum { FORK, KERNEL_STACK, USER_STACK, REPEATS, EVENTS };

/* A golden file being read back. */
struct again {
	struct fixture *f;
	struct text want;
	VEC(uint64_t *) payloads;
	uint64_t *stack;        /* being read */
};

static struct fixture *new_fixture(void)
{
	static const char *const names[EVENTS][2] = { { "sched", "sched_process_fork" }, { "ftrace", "kernel_stack" },
						       { "ftrace", "user_stack" }, { "ftrace", "func_repeats" } };
	struct fixture *f = fixture_new();

	for (uint32_t i = 0; i < EVENTS; i++) {
		char path[512];

		snprintf(path, sizeof(path), FORMATS "%s.%s.format.txt", names[i][0], names[i][1]);
		*vec_add(&f->info->events) = (struct trace_event){ i, mem_strdup(names[i][0]), mem_strdup(names[i][1]),
								   golden_file(path) };
	}
	return f;
}

static uint64_t *payload(struct again *a, struct event *e, uint32_t event, uint64_t bytes)
{
	uint64_t *words = mem_zalloc(8 * RECORD_PAYLOAD_MAX);

	*vec_add(&a->payloads) = words;
	e->kind = EVENT_TRACE;
	e->fn = event;
	e->payload = words;
	e->count = bytes;
	return words;
}

static void read_fork(struct again *a, struct event *e, const char *text)
{
	char *at = (char *)payload(a, e, FORK, 40);
	int parent, child;

	assert_int_equal(sscanf(text, "sched_process_fork: comm=%15s pid=%d child_comm=%15s child_pid=%d", at, &parent, at + 20, &child), 4);
	memcpy(at + 16, &parent, 4);
	memcpy(at + 36, &child, 4);
}

static void read_call(struct again *a, struct event *e, const char *text)
{
	const char *parent = strstr(text, " <-");
	uint32_t callee, caller;

	assert_non_null(parent);
	callee = fixture_function(a->f, text, (size_t)(parent - text));
	caller = fixture_function(a->f, parent + 3, strcspn(parent + 3, "\n"));
	e->kind = EVENT_CALL;
	e->fn = callee;
	e->site = fixture_site(a->f, caller, callee);
}

/* "  sh-67      [000] .....    43.330299: TEXT" */
static void read_record(struct again *a, char *line)
{
	char *dash = strchr(line, '-'), *text = strstr(line, ": ") + 2, *name = line + strspn(line, " ");
	struct event e = { .cpu = (uint16_t)atoi(strchr(line, '[') + 1) };
	unsigned long seconds, us;

	assert_int_equal(sscanf(strchr(line, ']') + 7, "%lu.%lu", &seconds, &us), 2);
	e.tsc = (seconds * 1000000 + us) * 1000;
	*dash = '\0';
	e.thread = fixture_thread(a->f, name, (uint32_t)atoi(dash + 1));
	*dash = '-';
	a->stack = NULL;
	if (!strncmp(text, "<stack", 6))
		a->stack = payload(a, &e, KERNEL_STACK, 0);
	else if (!strncmp(text, "<user", 5))
		a->stack = payload(a, &e, USER_STACK, 72);
	else if (!strncmp(text, "sched_process_fork:", 19))
		read_fork(a, &e, text);
	else
		read_call(a, &e, text);
	fixture_event(a->f, e);
}

/* ` => name`, ` =>  <00007f9345ee5353>`, ` => /lib/libc.so.6[+0xae353]` */
static uint64_t frame_of(struct again *a, const char *text)
{
	const char *plus = strstr(text, "[+0x");
	struct trace_module *m;

	if (text[0] == ' ')
		return strtoull(text + 2, NULL, 16);
	if (!plus)
		return a->f->info->modules.at[0].base + (uint64_t)fixture_function(a->f, text, strcspn(text, "\n")) * 0x10000;
	for (size_t i = 0; i < a->f->info->modules.n; i++)
		if (!strncmp(a->f->info->modules.at[i].path, text, (size_t)(plus - text)))
			return LIBRARY_START + strtoull(plus + 4, NULL, 16);
	m = vec_add(&a->f->info->modules);
	*m = (struct trace_module){ .path = mem_strndup(text, (size_t)(plus - text)), .name = mem_strdup("library"),
				    .start = LIBRARY_START, .end = LIBRARY_START + 0x10000000 };
	return LIBRARY_START + strtoull(plus + 4, NULL, 16);
}

static void read_line(struct again *a, char *line)
{
	struct event *e;
	size_t n = 1;

	if (*line == '#' || strstr(line, "[FTRACE TRAMPOLINE]"))
		return; /* no program has one */
	text_flush(&a->want, line, strlen(line));
	if (strncmp(line, " => ", 4)) {
		read_record(a, line);
		return;
	}
	e = &a->f->events.at[a->f->events.n - 1];
	while (a->stack[n])
		n++;
	a->stack[n] = frame_of(a, line + 4);
	if (e->fn == KERNEL_STACK) {
		a->stack[0] = n;
		e->count = 8 * (n + 1);
	}
}

static char *print(struct fixture *f, uint64_t options)
{
	struct text text = { 0 };
	struct function_printer *p;
	struct out out;

	out_init(&out, text_flush, &text);
	p = function_new(f->info, options, &out);
	for (size_t i = 0; i < f->events.n; i++)
		function_event(p, &f->events.at[i]);
	function_flush(p);
	out_flush(&out);
	function_free(p);
	out_free(&out);
	return (char *)(uintptr_t)text_end(&text);
}

static void goes_round(const char *name, uint64_t options)
{
	struct again a = { .f = new_fixture() };
	FILE *file = fopen(name, "r");
	char line[1024], *got;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		read_line(&a, line);
	fclose(file);
	assert_true(a.payloads.n > 1);
	got = print(a.f, options);
	assert_string_equal(got, text_end(&a.want));
	free(got);
	vec_free(&a.want.bytes);
	for (size_t i = 0; i < a.payloads.n; i++)
		free(a.payloads.at[i]);
	vec_free(&a.payloads);
	fixture_free(a.f);
}

static void as_the_kernels(void **state)
{
	const uint64_t usual = options_default(), objects = usual | OPTION_BIT(OPTION_SYM_USEROBJ);

	goes_round(GOLDEN "/k6.12-own.nop.events.option-stacktrace=1.txt", usual);
	goes_round(GOLDEN "/k7.2-own.nop.events.option-stacktrace=1.txt", usual);
	goes_round(GOLDEN "/k6.12-own.nop.events.option-userstacktrace=1.txt", usual);
	goes_round(GOLDEN "/k7.2-own.nop.events.option-userstacktrace=1.txt", usual);
	goes_round(GOLDEN "/k6.12-own.nop.events.option-userstacktrace=1,sym-userobj=1.txt", objects);
	goes_round(GOLDEN "/k7.2-own.nop.events.option-userstacktrace=1,sym-userobj=1.txt", objects);
	goes_round(GOLDEN "/k6.12-own.function.option-func_stack_trace=1.txt", usual);
	goes_round(GOLDEN "/k7.2-own.function.option-func_stack_trace=1.txt", usual);
}

/* No kernel here was asked for its text: these lines are as trace_func_repeats_print and its raw
 * form are written. */
static void repeats(void **state)
{
	struct fixture *f = new_fixture();
	uint32_t callee = fixture_function(f, "callee", 6), caller = fixture_function(f, "caller", 6);
	const uint64_t words[3] = { f->info->modules.at[0].base + callee * UINT64_C(0x10000),
				    f->info->modules.at[0].base + caller * UINT64_C(0x10000) + 9,
				    7 | UINT64_C(1) << 16 | UINT64_C(705032704) << 32 }; /* 7 times, 5 s ago */
	static const struct { uint64_t option; const char *line; } runs[] = {
		{ 0, "               x-9       [001] .....    12.000000: callee <-caller (repeats: 7, last_ts:     7.000000)\n" },
		{ OPTION_BIT(OPTION_PRINT_PARENT),
		  "               x-9       [001] .....    12.000000: callee (repeats: 7, last_ts:     7.000000)\n" },
		{ OPTION_BIT(OPTION_SYM_OFFSET), "               x-9       [001] .....    12.000000: callee+0x0/0x10000 "
		  "<-caller+0x9/0x10000 (repeats: 7, last_ts:     7.000000)\n" },
		{ OPTION_BIT(OPTION_RAW), "9 1 12000000000 550000000000 550000010009 7 5000000000\n" },
	};

	fixture_event(f, (struct event){ .kind = EVENT_TRACE, .fn = REPEATS, .tsc = UINT64_C(12000000000), .cpu = 1,
					 .thread = fixture_thread(f, "x", 9), .payload = words, .count = sizeof(words) });
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		char *got = print(f, options_default() ^ runs[i].option);

		assert_string_equal(got, runs[i].line);
		free(got);
	}
	fixture_free(f);
}

/* Records that are cut short, or hold what cannot be. */
static void spoiled(void **state)
{
	struct fixture *f = new_fixture();
	const uint64_t words[3] = { UINT64_MAX, 1, UINT64_MAX };

	for (uint32_t event = KERNEL_STACK; event < EVENTS; event++)
		for (uint64_t n = 0; n <= sizeof(words); n++)
			fixture_event(f, (struct event){ .kind = EVENT_TRACE, .fn = event, .tsc = 1, .payload = words, .count = n,
							 .thread = fixture_thread(f, "x", 9) });
	for (unsigned o = 0; o < TRACE_OPTIONS_N; o++)
		free(print(f, options_default() ^ OPTION_BIT(o)));
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernels), cmocka_unit_test(repeats), cmocka_unit_test(spoiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
