/* Modules that are kept: who loads one again has it as planned, whatever the last one did to it; a
 * file that has changed is another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "hook/module_cache.h"

static char home[] = "/tmp/brace-kept-XXXXXX";
static char *program; /* a copy that may be changed */

static void run(const char *fmt, const char *a, const char *b)
{
	char *command = mem_printf(fmt, a, b);

	assert_int_equal(system(command), 0);
	free(command);
}

static void put(const char *fixture)
{
	char *from = mem_printf("%s/%s", getenv("FIXTURES"), fixture);

	run("cp '%s' '%s.new'", from, program);
	run("mv '%s.new' '%s'", program, program);
	free(from);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(home) || setenv("XDG_CACHE_HOME", home, 1))
		return -1;
	program = mem_printf("%s/program", home);
	put("functions-O2");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	run("rm -rf '%s' '%s'", home, program);
	free(program);
	return 0;
}

static struct hook_module *load(void)
{
	struct hook_module *m;
	struct err err = { 0 };
	int fd = open(program, O_RDONLY);

	assert_true(fd >= 0);
	if (module_cache_load(fd, program, "", &m, &err) < 0)
		fail_msg("%s", err.text);
	close(fd);
	assert_string_equal(m->name, "program");
	return m;
}

static void the_next_one_has_it_as_planned(void **state)
{
	struct hook_module *m = load();
	size_t bytes = m->n * sizeof(*m->entries);
	struct hook_plan_entry *planned = mem_realloc(NULL, m->n, sizeof(*m->entries));

	(void)state;
	memcpy(planned, m->entries, bytes);
	for (uint32_t i = 0; i < m->n; i++) {
		hook_module_entry(m, i)->kind = HOOK_NONE;
		hook_module_entry(m, i)->reason = REASON_NO_ROOM;
		hook_module_entry(m, i)->entry_only = true;
	}
	module_cache_free(m);
	assert_ptr_equal(load(), m); /* not read again */
	assert_memory_equal(m->entries, planned, bytes);
	module_cache_free(m);
	free(planned);
}

static void two_at_once_have_two(void **state)
{
	struct hook_module *a = load(), *b = load();

	(void)state;
	assert_ptr_not_equal(a, b);
	hook_module_entry(a, 0)->kind = HOOK_NONE;
	hook_module_entry(a, 0)->reason = REASON_RUNTIME;
	assert_int_not_equal(b->entries[0].reason, REASON_RUNTIME);
	module_cache_free(a);
	module_cache_free(b);
}

static void another_file_is_another(void **state)
{
	struct hook_module *m = load(), *other, *again;

	(void)state;
	module_cache_free(m);
	put("functions-O0");
	other = load();
	assert_ptr_not_equal(other, m);
	assert_int_equal(other->n, m->n);
	assert_memory_not_equal(other->functions, m->functions, m->n * sizeof(*m->functions));
	module_cache_free(other);
	put("functions-O2");
	again = load();
	assert_int_equal(again->n, m->n);
	module_cache_free(again);
}

static void *go_ahead(void *path)
{
	module_cache_ahead(path);
	return NULL;
}

/* Another process puts the plan into the cache: what this one has loaded it keeps. */
static void plan_elsewhere(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		load();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void loaded_ahead_it_waits(void **state)
{
	struct hook_module *m;

	(void)state;
	put("functions-Os");
	plan_elsewhere();
	module_cache_ahead(program);
	run("rm -r '%s'/%s", home, "brace");
	m = load();
	assert_true(m->cached); /* there is nothing left to load it from */
	module_cache_free(m);
	module_cache_ahead(program); /* it waits already */
	assert_ptr_equal(load(), m);
	module_cache_free(m);
}

static void what_is_not_in_the_cache_is_not_loaded_ahead(void **state)
{
	struct hook_module *m;

	(void)state;
	put("functions-O0");
	module_cache_ahead(program);
	m = load();
	assert_false(m->cached);
	module_cache_free(m);
}

/* Either may be first: the other one waits for it, or loads it too. */
static void ahead_and_now_at_once(void **state)
{
	struct hook_module *m;
	pthread_t thread;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		put(i % 2 ? "functions-O2" : "functions-Os");
		plan_elsewhere();
		assert_int_equal(pthread_create(&thread, NULL, go_ahead, program), 0);
		m = load();
		assert_true(m->cached);
		pthread_join(thread, NULL);
		module_cache_free(m);
	}
}

static void what_is_no_program_is_nothing_ahead(void **state)
{
	struct hook_module *m;
	struct err err = { 0 };
	int fd;

	(void)state;
	module_cache_ahead("/nonexistent");
	module_cache_ahead("/tmp");
	run("echo %s >'%s'", "nothing", program);
	module_cache_ahead(program);
	fd = open(program, O_RDONLY);
	assert_int_equal(module_cache_load(fd, program, "", &m, &err), -ENOEXEC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_one_has_it_as_planned),
		cmocka_unit_test(two_at_once_have_two),
		cmocka_unit_test(another_file_is_another),
		cmocka_unit_test(loaded_ahead_it_waits),
		cmocka_unit_test(what_is_not_in_the_cache_is_not_loaded_ahead),
		cmocka_unit_test(ahead_and_now_at_once),
		cmocka_unit_test(what_is_no_program_is_nothing_ahead),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
