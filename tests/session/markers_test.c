/* USDT markers of programs that run: what is written down is what the program itself says it
 * did. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event_set.h"
#include "image/probes.h"
#include "session/session.h"
#include "shared/fetch.h"
#include "trace/event.h"
#include "store/store.h"

static const char *agent, *marked, *directory;

struct run {
	struct settings settings;
	struct event_catalogue *catalogue;
	struct session *session;
	struct session_result result;
	char *trace;
};

static void begin(struct run *r, const char *tracer, const char *const *events)
{
	struct err err;

	*r = (struct run){ .trace = mem_printf("%s/markers-%d", directory, (int)getpid()) };
	settings_init(&r->settings);
	r->catalogue = events_new();
	r->settings.events.catalogue = r->catalogue;
	r->settings.events.waits = true;
	if (settings_write(&r->settings, "current_tracer", tracer, false, &err) < 0)
		fail_msg("%s", err.text);
	for (; *events; events++)
		if (event_set_write(&r->settings.events, *events, &err) < 0)
			fail_msg("%s: %s", *events, err.text);
}

static void record(struct run *r, const char *const *argv)
{
	const struct session_request req = { .settings = &r->settings, .agent_path = agent, .output = r->trace,
					     .argv = (char *const *)argv };
	struct err err;

	if (session_start(&req, &r->session, &err) < 0 || session_record(r->session, &r->result, &err) < 0)
		fail_msg("%s", err.text);
	session_free(r->session);
	assert_true(WIFEXITED(r->result.wait_status));
	assert_int_equal(WEXITSTATUS(r->result.wait_status), 0);
}

static void end(struct run *r)
{
	unlink(r->trace);
	free(r->trace);
	settings_free(&r->settings);
	events_free(r->catalogue);
}

/* --- what was recorded ---------------------------------------------------------------------- */

typedef void see_record(void *context, const struct event_format *e, const uint8_t *record, uint32_t n);

/* Each record of the event, by time. */
static uint64_t each(const struct run *r, const char *system, const char *name, see_record *f, void *context)
{
	const struct event_entry *entry = events_find(r->catalogue, system, name);
	struct store_reader *reader;
	struct source *s;
	struct event e;
	struct err err;
	uint64_t n = 0;

	if (!entry)
		fail_msg("there is no %s:%s", system, name);
	if (store_open(r->trace, &reader, &err) < 0)
		fail_msg("%s", err.text);
	s = store_source(reader);
	while (s->ops->next(s, &e, &err) > 0) {
		uint8_t bytes[FETCH_RECORD_MAX] = { 0 };

		if (e.kind != EVENT_TRACE || e.fn != entry->index)
			continue;
		memcpy(bytes + 8, e.payload, e.count);
		f(context, entry->format, bytes, (uint32_t)e.count + 8);
		n++;
	}
	s->ops->close(s);
	store_close(reader);
	return n;
}

/* Field i as wide as 64 bits, by its sign. */
static uint64_t field(const struct event_format *e, size_t i, const uint8_t *record)
{
	const struct event_field *f = &e->fields[i];
	unsigned unused = 64 - 8 * f->size;
	uint64_t v = 0;

	memcpy(&v, record + f->offset, f->size);
	v <<= unused;
	return f->is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

static void add_all(void *context, const struct event_format *e, const uint8_t *record, uint32_t n)
{
	uint64_t *sum = context;

	assert_true(n >= event_record_bytes(e) && n < event_record_bytes(e) + 8);
	for (size_t i = 1; i < e->n; i++) /* without __probe_ip */
		*sum += field(e, i, record);
}

/* --- the program's own account -------------------------------------------------------------- */

static const char *const all[] = { "sdt_marked:*", NULL };

/* The lines "NAME N SUM" that it printed, against the records. */
static void check_account(const struct run *r, const char *out)
{
	char name[32], line[128];
	unsigned long long n, sum;
	unsigned seen = 0;
	FILE *f = fopen(out, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint64_t here = 0, records;

		if (sscanf(line, "%31s %llu %llu", name, &n, &sum) != 3)
			continue;
		records = each(r, "sdt_marked", name, add_all, &here);
		if (records != n || here != sum || !n)
			fail_msg("%s: %llu records, sum %llu; it says %llu, %llu", name, (unsigned long long)records,
				 (unsigned long long)here, n, sum);
		seen++;
	}
	fclose(f);
	assert_int_equal(seen, 7);
}

/* Runs with its output in a file, and nothing to read. */
static void record_to(struct run *r, const char *const *argv, const char *out)
{
	int to = open(out, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600), from = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int old[3];

	assert_true(to >= 0 && from >= 0);
	for (int i = 0; i < 3; i++) {
		old[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
		dup2(i ? to : from, i);
	}
	record(r, argv);
	for (int i = 0; i < 3; i++) {
		dup2(old[i], i);
		close(old[i]);
	}
	close(to);
	close(from);
	assert_int_equal(r->result.lost, 0);
}

static void test_levels(void **state)
{
	static const char *const levels[] = { "0", "1", "2", "3", "s" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		char *program = mem_printf("%s-O%s", marked, levels[i]), *out = mem_printf("%s/out-%d", directory, (int)getpid());
		const char *const argv[] = { program, "3000", NULL };
		struct run r;

		begin(&r, "nop", all);
		record_to(&r, argv, out);
		check_account(&r, out);
		end(&r);
		unlink(out);
		free(program);
		free(out);
	}
}

/* Markers and functions at once; two of the markers stand at their function's first instruction. */
static void test_with_functions(void **state)
{
	static const char *const tracers[] = { "function_graph", "function" };

	for (size_t i = 0; i < 2; i++) {
		char *program = mem_printf("%s-O2", marked), *out = mem_printf("%s/out-%d", directory, (int)getpid());
		const char *const argv[] = { program, "2000", NULL };
		struct run r;

		begin(&r, tracers[i], all);
		record_to(&r, argv, out);
		check_account(&r, out);
		assert_true(r.result.calls >= 7 * 2000);
		end(&r);
		unlink(out);
		free(program);
		free(out);
	}
}

static void see_leaf(void *context, const struct event_format *e, const uint8_t *record, uint32_t n)
{
	uint64_t *wrong = context;

	*wrong += field(e, 2, record) % 2 || field(e, 2, record) < 900;
}

/* A filter decides in the program: of 1000 rounds the even ones from 900 on. */
static void test_filter(void **state)
{
	static const char *const events[] = { "sdt_marked:leaf", NULL };
	char *program = mem_printf("%s-O2", marked);
	const char *const argv[] = { program, "1000", NULL };
	uint64_t wrong = 0;
	struct err err;
	struct run r;

	begin(&r, "nop", events);
	if (event_set_pending_filter(&r.settings.events, "arg2 >= 900 && !(arg2 & 1) && comm ~ \"marked*\"", &err) < 0)
		fail_msg("%s", err.text);
	record_to(&r, argv, "/dev/null");
	assert_int_equal(each(&r, "sdt_marked", "leaf", see_leaf, &wrong), 50);
	assert_int_equal(wrong, 0);
	end(&r);
	free(program);
}

/* Nothing is enabled: no record, and the semaphore stays down. */
static void test_disabled(void **state)
{
	static const char *const none[] = { NULL };
	char *program = mem_printf("%s-O2", marked);
	const char *const argv[] = { program, "100", NULL };
	struct run r;

	begin(&r, "function_graph", none);
	record_to(&r, argv, "/dev/null");
	for (uint32_t i = 0; i < events_n(r.catalogue); i++)
		if (events_at(r.catalogue, i)->provider == &usdt_provider)
			assert_int_equal(each(&r, events_at(r.catalogue, i)->format->system, events_at(r.catalogue, i)->format->name,
					      add_all, &(uint64_t){ 0 }), 0);
	end(&r);
	free(program);
}

/* --- python --------------------------------------------------------------------------------- */

static const char *const python_markers[] = { "function__entry", "function__return", "line", "gc__start", "gc__done",
					      "import__find__load__start", "import__find__load__done", "audit" };
enum { PYTHON_MARKERS = sizeof(python_markers) / sizeof(python_markers[0]) };

struct lines { uint64_t at_4242; };

/* function__entry has the line where the function begins: one line has one. */
static void count_line(void *context, const struct event_format *e, const uint8_t *record, uint32_t n)
{
	struct lines *l = context;

	l->at_4242 += field(e, 3, record) == 4242;
}

static void count(void *context, const struct event_format *e, const uint8_t *record, uint32_t n)
{
}

#define PYTHON_ENVIRONMENT "PYTHONHASHSEED=0" /* it makes calls for each variable */

/* How often gdb stops at each. */
static bool ask_gdb(const char *script, uint64_t hits[PYTHON_MARKERS])
{
	char *command = mem_printf("gdb -nx -batch -ex 'set exec-wrapper env -i " PYTHON_ENVIRONMENT "'"), *line = NULL, *old;
	size_t cap = 0;
	int at = -1;
	FILE *f;

	for (int i = 0; i < PYTHON_MARKERS; i++, free(old)) {
		old = command;
		command = mem_printf("%s -ex 'break -probe-stap python:%s' -ex 'ignore %d 10000000'", old, python_markers[i], i + 1);
	}
	old = command;
	command = mem_printf("%s -ex 'run -S %s </dev/null >/dev/null 2>&1' -ex 'info breakpoints' /usr/bin/python3 2>&1", old, script);
	free(old);
	f = popen(command, "r");
	while (f && getline(&line, &cap, f) > 0) {
		unsigned long long n;
		int number;

		if (sscanf(line, "%d breakpoint", &number) == 1 && number >= 1 && number <= PYTHON_MARKERS)
			at = number - 1;
		if (at >= 0 && sscanf(line, " breakpoint already hit %llu time", &n) == 1)
			hits[at] = n;
	}
	if (f)
		pclose(f);
	free(line);
	free(command);
	return at >= 0;
}

static char *write_script(void)
{
	char *path = mem_printf("%s/script-%d.py", directory, (int)getpid());
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (int i = 1; i < 4242; i++)
		fputc('\n', f);
	fputs("def f(n): return n and f(n - 1)\nfor i in range(100): f(9)\nimport gc, colorsys\nfor i in range(5): gc.collect()\n", f);
	fclose(f);
	return path;
}

static void test_python(void **state)
{
	static const char *const events[] = { "sdt_python:*", NULL };
	char *script = write_script();
	const char *const argv[] = { "/usr/bin/env", "-i", PYTHON_ENVIRONMENT, "/usr/bin/python3", "-S", script, NULL };
	uint64_t hits[PYTHON_MARKERS] = { 0 };
	struct lines lines = { 0 };
	struct run r;

	if (access(argv[3], X_OK) < 0 || !ask_gdb(script, hits))
		skip();
	begin(&r, "nop", events);
	record_to(&r, argv, "/dev/null");
	each(&r, "sdt_python", "function__entry", count_line, &lines);
	assert_int_equal(lines.at_4242, 1000);
	for (int i = 0; i < PYTHON_MARKERS; i++) {
		uint64_t n = each(&r, "sdt_python", python_markers[i], count, NULL);

		printf("python:%s: %llu, gdb %llu\n", python_markers[i], (unsigned long long)n, (unsigned long long)hits[i]);
		assert_int_equal(n, hits[i]);
		assert_true(n > 0);
	}
	end(&r);
	unlink(script);
	free(script);
}

/* --- programs that run ---------------------------------------------------------------------- */

static void count_storm(void *context, const struct event_format *e, const uint8_t *record, uint32_t n)
{
	uint64_t *wrong = context;

	*wrong += field(e, 1, record) != ~field(e, 2, record);
}

static pid_t start(const char *const *argv, int *in, int *out)
{
	int to[2], from[2];
	char line[64];
	pid_t pid;

	assert_true(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	pid = fork();
	if (!pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*in = to[1];
	*out = from[0];
	assert_true(read(*out, line, sizeof(line)) > 0); /* "running" */
	return pid;
}

static void *recording(void *context)
{
	struct run *r = context;
	struct err err;

	if (session_record(r->session, &r->result, &err) < 0)
		print_error("%s\n", err.text);
	return NULL;
}

/* It ends by itself, and its semaphore is as before. How often it passed the marker. */
static uint64_t end_program(pid_t pid, int in, int out)
{
	char line[128];
	int status;
	ssize_t n;

	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(write(in, "\n", 1), 1);
	n = read(out, line, sizeof(line) - 1);
	assert_true(n > 0);
	line[n] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	if (!strstr(line, "semaphore 0"))
		fail_msg("%s", line);
	close(in);
	close(out);
	return strtoull(line + 6, NULL, 10);
}

enum { CHANGES = 24 };

/* Four threads pass the marker all the time, while it is enabled and disabled, and left in the
 * end. */
static void test_storm(void **state)
{
	static const char *const events[] = { "sdt_marked:storm", NULL };
	char *program = mem_printf("%s-O2", marked);
	const char *const argv[] = { program, "threads", "60", NULL };
	struct settings settings[2];
	struct session_request req = { .agent_path = agent, .n_pids = 1 };
	uint64_t wrong = 0, records, passed, pause;
	int in, out;
	struct run r;
	pthread_t thread;
	struct err err;
	pid_t pid;

	begin(&r, "nop", events);
	settings[0] = r.settings;
	settings_init(&settings[1]);
	settings[1].tracer = &tracer_nop;
	settings[1].events.catalogue = r.catalogue;
	pid = start(argv, &in, &out);
	req.settings = &settings[0];
	req.pids = &pid;
	req.output = r.trace;
	if (session_start(&req, &r.session, &err) < 0)
		fail_msg("%s", err.text);
	pthread_create(&thread, NULL, recording, &r);
	for (int i = 1; i <= CHANGES; i++) {
		const struct timespec moment = { 0, 5000000 };

		nanosleep(&moment, NULL); /* it runs on: for a while with, for a while without */
		if (session_change(r.session, &settings[i % 2], &pause, &err) < 0)
			fail_msg("change %d: %s", i, err.text);
	}
	session_stop(r.session);
	pthread_join(thread, NULL);
	session_free(r.session);
	passed = end_program(pid, in, out);
	assert_int_equal(r.result.stuck, 0);
	assert_int_equal(r.result.changed, 0);
	records = each(&r, "sdt_marked", "storm", count_storm, &wrong);
	printf("%llu records, %llu lost, of %llu\n", (unsigned long long)records, (unsigned long long)r.result.lost,
	       (unsigned long long)passed);
	assert_true(records > 1000);
	assert_true(records + r.result.lost <= passed);
	assert_int_equal(wrong, 0);
	settings_free(&settings[1]);
	end(&r);
	free(program);
}

/* A tracer that dies while a marker is enabled leaves it enabled; the next one finds it, and lowers
 * the semaphore. */
static void test_death(void **state)
{
	static const char *const events[] = { "sdt_marked:storm", NULL }, *const none[] = { NULL };
	char *program = mem_printf("%s-O2", marked), byte;
	const char *const argv[] = { program, "threads", "60", NULL };
	struct session_request req = { .agent_path = agent, .n_pids = 1 };
	struct run r;
	int in, out, ready[2];
	pid_t pid = start(argv, &in, &out), tracer;
	struct err err;

	assert_int_equal(pipe(ready), 0);
	tracer = fork();
	req.pids = &pid;
	begin(&r, "nop", tracer ? none : events);
	req.settings = &r.settings;
	req.output = r.trace;
	if (!tracer) {
		if (session_start(&req, &r.session, &err) == 0 && unlink(r.trace) == 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	if (session_start(&req, &r.session, &err) < 0)
		fail_msg("%s", err.text);
	session_stop(r.session);
	if (session_record(r.session, &r.result, &err) < 0)
		fail_msg("%s", err.text);
	session_free(r.session);
	assert_int_equal(r.result.stuck, 0);
	end_program(pid, in, out);
	close(ready[0]);
	close(ready[1]);
	end(&r);
	free(program);
}

/* session_start's agent, and where marked-O0 and so on stand. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels), cmocka_unit_test(test_with_functions), cmocka_unit_test(test_disabled), cmocka_unit_test(test_filter),
		cmocka_unit_test(test_python), cmocka_unit_test(test_storm), cmocka_unit_test(test_death),
	};

	agent = argv[1];
	marked = argv[2];
	directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	return cmocka_run_group_tests_name("markers", tests, NULL, NULL);
}
