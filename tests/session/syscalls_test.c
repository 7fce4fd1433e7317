/* System calls of programs that run, as events: what they did themselves, and what strace saw of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event_set.h"
#include "session/session.h"
#include "trace/event.h"
#include "store/store.h"

#define NUMBERS 512

static const char *agent, *directory;

struct run {
	struct settings settings;
	struct event_catalogue *catalogue;
	struct session_result result;
	char *trace, *out;
};

/* --- a run ----------------------------------------------------------------------------------- */

/* "? FILTER" is of the event before it. */
static void begin(struct run *r, const char *tracer, const char *const *events)
{
	struct err err;

	*r = (struct run){ .trace = mem_printf("%s/syscalls-%d", directory, (int)getpid()),
			   .out = mem_printf("%s/syscalls-out-%d", directory, (int)getpid()) };
	settings_init(&r->settings);
	r->catalogue = events_new();
	r->settings.events.catalogue = r->catalogue;
	r->settings.events.waits = true;
	if (settings_write(&r->settings, "current_tracer", tracer, false, &err) < 0)
		fail_msg("%s", err.text);
	for (; *events; events++)
		if ((**events == '?' ? event_set_pending_filter(&r->settings.events, *events + 2, &err) :
				       event_set_write(&r->settings.events, *events, &err)) < 0)
			fail_msg("%s: %s", *events, err.text);
}

/* `command` is for bash; $OUT is r->out. */
static void record(struct run *r, const char *command)
{
	const char *argv[] = { "/bin/bash", "-c", command, NULL };
	const struct session_request req = { .settings = &r->settings, .agent_path = agent, .output = r->trace,
					     .argv = (char *const *)argv };
	struct session *s;
	struct err err;

	unlink(r->out);
	setenv("OUT", r->out, 1);
	if (session_start(&req, &s, &err) < 0 || session_record(s, &r->result, &err) < 0)
		fail_msg("%s", err.text);
	session_free(s);
	assert_true(WIFEXITED(r->result.wait_status));
	assert_int_equal(WEXITSTATUS(r->result.wait_status), 0);
	assert_int_equal(r->result.lost, 0);
}

static void end(struct run *r)
{
	unlink(r->trace);
	unlink(r->out);
	free(r->trace);
	free(r->out);
	settings_free(&r->settings);
	events_free(r->catalogue);
}

/* The file may say more than one line. */
static void check_output(const struct run *r, const char *want)
{
	char got[256] = "";
	FILE *f = fopen(r->out, "r");

	assert_non_null(f);
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(got, want);
}

/* --- what was recorded ----------------------------------------------------------------------- */

struct seen { uint64_t n, of[NUMBERS], sums[NUMBERS][7]; };

/* All records of one event, by the number they begin with. */
static void collect(const struct run *r, const char *system, const char *name, struct seen *out)
{
	const struct event_entry *entry = events_find(r->catalogue, system, name);
	struct store_reader *reader;
	struct source *s;
	struct event e;
	struct err err;

	memset(out, 0, sizeof(*out));
	if (!entry || store_open(r->trace, &reader, &err) < 0)
		fail_msg("%s:%s", system, name);
	s = store_source(reader);
	while (s->ops->next(s, &e, &err) > 0) {
		uint64_t words[64] = { 0 };

		if (e.kind != EVENT_TRACE || e.fn != entry->index)
			continue;
		if (event_field_kind(&entry->format->fields[entry->format->n - 1]) == EVENT_DYNAMIC)
			assert_in_range(e.count, (event_record_bytes(entry->format) - 8 + 7) / 8 * 8, 504);
		else
			assert_int_equal(e.count, (event_record_bytes(entry->format) - 8 + 7) / 8 * 8);
		memcpy(words, e.payload, e.count);
		assert_true(words[0] < NUMBERS);
		out->n++;
		out->of[words[0]]++;
		for (unsigned i = 0; i < 7; i++)
			out->sums[words[0]][i] += words[i + 1];
	}
	s->ops->close(s);
	store_close(reader);
}

#define RAW "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"

/* dd says itself how much it did. */
static void a_program(const char *tracer)
{
	static const char *const events[] = { RAW, "syscalls:sys_enter_read", "syscalls:sys_exit_read", "syscalls:sys_*_write", NULL };
	static struct seen raw, raw_exit, reads, read_exits, writes, write_exits;
	struct run r;

	begin(&r, tracer, events);
	record(&r, "exec /bin/dd if=/dev/zero of=/dev/null bs=512 count=3000 2>$OUT");
	collect(&r, "raw_syscalls", "sys_enter", &raw);
	collect(&r, "raw_syscalls", "sys_exit", &raw_exit);
	collect(&r, "syscalls", "sys_enter_read", &reads);
	collect(&r, "syscalls", "sys_exit_read", &read_exits);
	collect(&r, "syscalls", "sys_enter_write", &writes);
	collect(&r, "syscalls", "sys_exit_write", &write_exits);
	print_message("%s: %llu calls, %llu returns, %llu reads\n", tracer, (unsigned long long)raw.n,
		      (unsigned long long)raw_exit.n, (unsigned long long)reads.n);
	assert_in_range(reads.n, 3000, 3100);
	assert_int_equal(reads.n, reads.of[SYS_read]);
	assert_int_equal(reads.n, raw.of[SYS_read]);
	assert_int_equal(read_exits.n, reads.n);
	assert_int_equal(raw_exit.of[SYS_read], reads.n);
	assert_memory_equal(reads.sums[SYS_read], raw.sums[SYS_read], 3 * 8);
	assert_int_equal(read_exits.sums[SYS_read][0], raw_exit.sums[SYS_read][0]);
	assert_in_range(read_exits.sums[SYS_read][0], 3000 * 512, 3000 * 512 + 100000);
	assert_in_range(writes.n, 3000, 3010);
	assert_int_equal(write_exits.n, writes.n);
	assert_in_range(write_exits.sums[SYS_write][0], 3000 * 512, 3000 * 512 + 1000);
	assert_int_equal(raw.of[SYS_exit_group], 1);
	assert_int_equal(raw_exit.of[SYS_exit_group], 0);
	end(&r);
}

static void alone(void **state)
{
	a_program("nop");
}

static void with_functions(void **state)
{
	a_program("function_graph");
}

static void returns_only(void **state)
{
	static const char *const events[] = { "syscalls:sys_exit_read", NULL };
	static struct seen exits;
	struct run r;

	begin(&r, "nop", events);
	record(&r, "exec /bin/dd if=/dev/zero of=/dev/null bs=512 count=3000 2>$OUT");
	collect(&r, "syscalls", "sys_exit_read", &exits);
	assert_in_range(exits.n, 3000, 3100);
	end(&r);
}

/* In the program: of an event of its own, and of one for all numbers. */
static void filtered(void **state)
{
	static const char *const events[] = { "raw_syscalls:sys_enter", "? id == 1", "syscalls:sys_enter_read",
					      "? fd == 0 && count == 512", NULL };
	static struct seen raw, reads;
	struct run r;

	begin(&r, "nop", events);
	record(&r, "exec /bin/dd if=/dev/zero of=/dev/null bs=512 count=3000 2>$OUT");
	collect(&r, "raw_syscalls", "sys_enter", &raw);
	collect(&r, "syscalls", "sys_enter_read", &reads);
	assert_int_equal(raw.n, raw.of[SYS_write]);
	assert_in_range(raw.n, 3000, 3010);
	assert_int_equal(reads.n, 3000);
	end(&r);
}

/* Calls with every number of arguments, often enough to fill many sub-buffers: what the call's own
 * events have is what those of all calls have. */
static void arguments(void **state)
{
	static const struct { const char *name; unsigned number, arguments; } calls[] = {
		{ "getppid", SYS_getppid, 0 }, { "close", SYS_close, 1 }, { "dup2", SYS_dup2, 2 }, { "lseek", SYS_lseek, 3 },
		{ "pread64", SYS_pread64, 4 }, { "waitid", SYS_waitid, 5 }, { "mmap", SYS_mmap, 6 },
	};
	static const char *const events[] = { RAW, "syscalls:*", NULL };
	static struct seen raw, raw_exit, seen;
	struct run r;

	begin(&r, "nop", events);
	record(&r, "exec /usr/bin/python3 -c 'import os,mmap\n"
		   "f=os.open(\"/bin/true\",os.O_RDONLY)\n"
		   "for i in range(3000):\n"
		   " os.getppid(); os.dup2(f,50+i%9); os.close(50+i%9); os.lseek(f,i,0); os.pread(f,i,i*3)\n"
		   " mmap.mmap(-1,4096*(i+1)).close()\n"
		   " try: os.waitid(os.P_PID,1,os.WEXITED)\n"
		   " except ChildProcessError: pass'");
	collect(&r, "raw_syscalls", "sys_enter", &raw);
	collect(&r, "raw_syscalls", "sys_exit", &raw_exit);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char name[64];

		snprintf(name, sizeof(name), "sys_enter_%s", calls[i].name);
		collect(&r, "syscalls", name, &seen);
		assert_in_range(seen.n, 3000, 4000);
		assert_int_equal(seen.n, raw.of[calls[i].number]);
		assert_memory_equal(seen.sums[calls[i].number], raw.sums[calls[i].number], calls[i].arguments * 8);
		snprintf(name, sizeof(name), "sys_exit_%s", calls[i].name);
		collect(&r, "syscalls", name, &seen);
		assert_int_equal(seen.n, raw_exit.of[calls[i].number]);
		assert_int_equal(seen.n, raw.of[calls[i].number]);
		assert_int_equal(seen.sums[calls[i].number][0], raw_exit.sums[calls[i].number][0]);
	}
	assert_int_equal(raw_exit.sums[SYS_waitid][0], 3000 * -10ull);
	assert_in_range(raw.sums[SYS_lseek][1], 2999 * 1500 - 100000, 2999 * 1500 + 100000);
	assert_in_range(raw.sums[SYS_pread64][3], 3 * 2999 * 1500, 3 * 2999 * 1500 + 1000000);
	end(&r);
}

/* Forks, pipes, signals and executed programs: they do what they did. */
static void processes(void **state)
{
	static const char *const events[] = { RAW, NULL };
	static struct seen raw, exits;
	struct run r;

	begin(&r, "nop", events);
	record(&r, "s=0; for i in {1..30}; do (exit 3); s=$((s+$?)); done\n"
		   "trap 'echo caught >>$OUT' USR1; (kill -USR1 $$); wait\n"
		   "echo $s $(seq 5 | sort -r | tr '\\n' .) $(sleep 0.05; echo slept) >>$OUT\n"
		   "/usr/bin/python3 -c 'import threading,subprocess\n"
		   "t=[threading.Thread(target=lambda: subprocess.run([\"true\"],check=True)) for _ in range(8)]\n"
		   "[x.start() for x in t]; [x.join() for x in t]; print(\"python\")' >>$OUT\n");
	check_output(&r, "caught\n90 5.4.3.2.1. slept\npython\n");
	collect(&r, "raw_syscalls", "sys_enter", &raw);
	collect(&r, "raw_syscalls", "sys_exit", &exits);
	print_message("%llu calls, %llu returns, %llu execs\n", (unsigned long long)raw.n, (unsigned long long)exits.n,
		      (unsigned long long)raw.of[SYS_execve]);
	assert_in_range(raw.of[SYS_clone] + raw.of[SYS_vfork] + raw.of[SYS_clone3], 30 + 3 + 8, 100);
	assert_true(raw.of[SYS_execve] >= 13);
	assert_true(raw.of[SYS_wait4] >= 30 && exits.of[SYS_wait4] >= 30);
	end(&r);
}

/* Nothing is left when events are not asked for: the same files, another session. */
static void none(void **state)
{
	static const char *const events[] = { NULL };
	static struct seen raw;
	struct run r;

	begin(&r, "nop", events);
	record(&r, "exec /bin/true 2>$OUT");
	collect(&r, "raw_syscalls", "sys_enter", &raw);
	assert_int_equal(raw.n, 0);
	end(&r);
}

/* session_start's agent. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone), cmocka_unit_test(with_functions), cmocka_unit_test(returns_only), cmocka_unit_test(filtered), cmocka_unit_test(arguments),
		cmocka_unit_test(processes), cmocka_unit_test(none),
	};

	agent = argv[1];
	directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	return cmocka_run_group_tests_name("syscalls", tests, NULL, NULL);
}
