/* Filters and tracers changed in programs that run, under full load, again and again: what is
 * recorded between two changes is what the settings of that time say, in every process, and the
 * programs compute on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "base/vec.h"
#include "collect/clock.h"
#include "session/session.h"
#include "store/store.h"

static const char *agent, *attachee;

/* Settings as one would echo them, and the names of the functions they let through ("*": any). */
static const struct way {
	const char *files[4][2];
	const char *names;
} ways[] = {
	{ { { "set_ftrace_filter", "att_step" } }, " att_step " },
	{ { { "set_ftrace_filter", "att_depth" } }, " att_depth " },
	{ { { "current_tracer", "function" }, { "set_ftrace_filter", "att_step att_float" } }, " att_step att_float " },
	{ { { "max_graph_depth", "3" } }, "*" },
	{ { { "set_ftrace_filter", "att_throw att_catch" } }, " att_throw att_catch " },
	{ { { "tracing_thresh", "1" } }, "*" },
	{ { { "set_ftrace_notrace", "att_step" } }, "*" },
	{ { { "set_ftrace_module", "*" }, { "set_ftrace_filter", "att_jump qsort" } }, " att_jump qsort qsort_r " },
	{ { { "set_graph_function", "att_jumps" } }, "*" },
	{ { { "current_tracer", "function" } }, "*" },
};
enum { WAYS = sizeof(ways) / sizeof(*ways), CHANGES = 14, PERIOD_NS = 8000000, CHILD_AT = 8 };

/* The settings, and when they were sure to hold. */
struct period { uint64_t from, to; const struct way *way; };

struct run {
	struct session *session;
	struct settings settings[CHANGES + 1];
	VEC(struct period) periods;
	pid_t pid;
	int out;                  /* the program's output */
	char *trace;
	struct session_result result;
	uint64_t longest_ns;
};

static void set(struct settings *s, const struct way *w, const char *mode)
{
	struct err err;

	settings_init(s);
	/* The tracer may be held up, as the machine may have other work: no period is lost
	 * whole. */
	if (settings_write(s, "buffer_size_kb", "262144", false, &err) < 0)
		fail_msg("%s", err.text);
	if (mode && settings_write(s, mode, "1", false, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < 4 && w->files[i][0]; i++)
		if (settings_write(s, w->files[i][0], w->files[i][1], false, &err) < 0)
			fail_msg("%s: %s", w->files[i][0], err.text);
}

/* --- the program ---------------------------------------------------------------------------- */

static void read_until(struct run *r, const char *word, char *line, size_t n)
{
	size_t have = 0;

	line[0] = '\0';
	while (!strstr(line, word) || line[have - 1] != '\n') {
		ssize_t got = read(r->out, line + have, n - 1 - have);

		if (got <= 0)
			fail_msg("the program ended before it said \"%s\": %s", word, line);
		have += (size_t)got;
		line[have] = '\0';
	}
}

static void start(struct run *r, const char *mode, bool attach)
{
	const char *argv[] = { attachee, "3", NULL };
	struct session_request req = { .settings = &r->settings[0], .agent_path = agent, .output = r->trace };
	int out[2], old = dup(STDOUT_FILENO);
	char line[256];
	struct err err;

	set(&r->settings[0], &ways[0], mode);
	assert_int_equal(pipe(out), 0);
	r->out = out[0];
	fcntl(out[0], F_SETFD, FD_CLOEXEC);
	dup2(out[1], STDOUT_FILENO);
	close(out[1]);
	if (attach) {
		r->pid = fork();
		if (!r->pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execv(attachee, (char *const *)argv);
			_exit(127);
		}
	}
	req.argv = attach ? NULL : (char *const *)argv;
	req.pids = attach ? &r->pid : NULL;
	req.n_pids = attach;
	if (attach)
		read_until(r, "threads", line, sizeof(line));
	if (session_start(&req, &r->session, &err) < 0)
		fail_msg("%s", err.text);
	dup2(old, STDOUT_FILENO);
	close(old);
}

static void *recording(void *context)
{
	struct run *r = context;
	struct err err;

	if (session_record(r->session, &r->result, &err) < 0)
		print_error("%s\n", err.text);
	return NULL;
}

/* --- the changes ---------------------------------------------------------------------------- */

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) < 0)
		fail_msg("process %d is gone", (int)pid);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until it has computed for so long. */
static void let_it_run(const struct run *r)
{
	const struct timespec moment = { 0, 1000000 };
	uint64_t end = cpu_ns(r->pid) + PERIOD_NS;

	while (cpu_ns(r->pid) < end)
		nanosleep(&moment, NULL);
}

static void begin_period(struct run *r, const struct way *w)
{
	*vec_add(&r->periods) = (struct period){ clock_tsc(), UINT64_MAX, w };
}

static void change(struct run *r, int i, const char *mode)
{
	const struct way *w = &ways[(i + 1) % WAYS];
	uint64_t pause = 0;
	struct err err;

	set(&r->settings[i + 1], w, mode);
	r->periods.at[r->periods.n - 1].to = clock_tsc();
	if (session_change(r->session, &r->settings[i + 1], &pause, &err) < 0)
		fail_msg("change %d (%s): %s", i, w->files[0][0], err.text);
	begin_period(r, w);
	if (pause > r->longest_ns)
		r->longest_ns = pause;
}

/* A filter that matches nothing is refused, and nothing changes. */
static void change_in_vain(struct run *r)
{
	static const struct way nothing = { { { "set_ftrace_filter", "no_such_function" } }, "" };
	struct settings s;
	uint64_t pause;
	struct err err;

	set(&s, &nothing, NULL);
	assert_int_equal(session_change(r->session, &s, &pause, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no function"));
	settings_free(&s);
}

/* --- what was recorded ---------------------------------------------------------------------- */

static const char *name_of(const struct trace_info *info, const struct event *e, char *name, size_t n)
{
	const struct trace_module *m;
	const struct trace_function *f = trace_info_function(info, info->threads.at[e->thread].image, e->fn, &m);

	if (!f)
		fail_msg("no function has the id %u", e->fn);
	trace_function_name(m, f, name, n);
	return name;
}

static bool lets_through(const struct way *w, const char *name)
{
	char word[520];

	snprintf(word, sizeof(word), " %s ", name);
	return w->names[0] == '*' || strstr(w->names, word);
}

/* *last: the period of the thread's call before. A call that was on its way into the record at a
 * change is still of the settings before. */
static void check_event(struct run *r, const struct trace_info *info, const struct event *e, uint64_t *seen, size_t *last)
{
	char name[512];

	if (e->kind != EVENT_ENTRY && e->kind != EVENT_TAIL && e->kind != EVENT_CALL && e->kind != EVENT_SPAN)
		return;
	for (size_t i = 0; i < r->periods.n; i++) {
		const struct period *p = &r->periods.at[i];

		if (e->tsc < p->from || e->tsc >= p->to || (e->kind == EVENT_SPAN && e->begin < p->from))
			continue;
		seen[i]++;
		name_of(info, e, name, sizeof(name));
		if (!lets_through(p->way, name) && (*last == i || !i || !lets_through(r->periods.at[i - 1].way, name)))
			fail_msg("period %zu: %s was recorded, kind %d, at %" PRIu64, i, name, e->kind, e->tsc - p->from);
		*last = i;
		return;
	}
}

static void check_trace(struct run *r, size_t processes)
{
	struct store_reader *reader;
	struct err err;
	uint64_t seen[CHANGES + 1] = { 0 };
	VEC(uint32_t) pids = { 0 };

	if (store_open(r->trace, &reader, &err) < 0)
		fail_msg("%s", err.text);
	for (uint32_t t = 0; t < store_info(reader)->threads.n; t++) {
		struct store_cursor *c = store_cursor_open(reader, t);
		uint32_t pid = store_info(reader)->threads.at[t].pid;
		struct event some[512];
		size_t last = CHANGES + 1;
		int n;

		if (!pids.n || pids.at[pids.n - 1] != pid)
			*vec_add(&pids) = pid;
		while ((n = store_cursor_next(c, some, 512, &err)) > 0)
			for (int i = 0; i < n; i++)
				check_event(r, store_info(reader), &some[i], seen, &last);
		assert_int_equal(n, 0);
		store_cursor_close(c);
	}
	for (size_t i = 0; i < r->periods.n; i++)
		if (!seen[i])
			fail_msg("period %zu (%s): nothing was recorded", i, r->periods.at[i].way->files[0][1]);
	assert_true(pids.n >= processes);
	vec_free(&pids);
	store_close(reader);
}

/* --- all of it ------------------------------------------------------------------------------ */

static void changes(const char *mode, bool attach)
{
	struct run *r = mem_zalloc(sizeof(*r));
	char line[4096];
	pthread_t thread;
	int status;

	r->trace = mem_printf("change-test.%d", (int)getpid());
	start(r, mode, attach);
	assert_int_equal(pthread_create(&thread, NULL, recording, r), 0);
	if (!attach) {
		read_until(r, "threads", line, sizeof(line));
		r->pid = session_pid(r->session);
	}
	begin_period(r, &ways[0]);
	for (int i = 0; i < CHANGES; i++) {
		let_it_run(r);
		if (i == CHILD_AT) {
			kill(r->pid, SIGUSR1);
			read_until(r, "child", line, sizeof(line));
		}
		if (i % WAYS == 3)
			change_in_vain(r);
		change(r, i, mode);
	}
	let_it_run(r);
	kill(r->pid, SIGTERM);
	read_until(r, "right", line, sizeof(line));
	if (attach) {
		assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
		assert_int_equal(status, 0);
	}
	pthread_join(thread, NULL);
	if (!attach)
		assert_int_equal(r->result.wait_status, 0);
	print_message("longest stop %.2f ms\n", (double)r->longest_ns / 1e6);
	check_trace(r, 2);
	session_free(r->session);
	unlink(r->trace);
	free(r->trace);
	for (int i = 0; i <= CHANGES; i++)
		settings_free(&r->settings[i]);
	vec_free(&r->periods);
	close(r->out);
	free(r);
}

static void launched(void **state) { changes(NULL, false); }
static void attached(void **state) { changes(NULL, true); }
static void launched_that_waits(void **state) { changes("options/block", false); }

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launched),
		cmocka_unit_test(attached),
		cmocka_unit_test(launched_that_waits),
	};

	if (argc < 3)
		return 99;
	agent = argv[1];
	attachee = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
