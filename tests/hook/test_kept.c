/* Modules that are kept: who loads one again has it as planned, whatever the last one did to it; a file that has changed
 * is another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "hook/kept.h"

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
	if (hook_kept_load(fd, program, "", &m, &err) < 0)
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
		m->entries[i].kind = HOOK_NONE;
		m->entries[i].reason = REASON_NO_ROOM;
		m->entries[i].entry_only = true;
	}
	hook_kept_free(m);
	assert_ptr_equal(load(), m); /* not read again */
	assert_memory_equal(m->entries, planned, bytes);
	hook_kept_free(m);
	free(planned);
}

static void two_at_once_have_two(void **state)
{
	struct hook_module *a = load(), *b = load();

	(void)state;
	assert_ptr_not_equal(a, b);
	a->entries[0].kind = HOOK_NONE;
	a->entries[0].reason = REASON_RUNTIME;
	assert_int_not_equal(b->entries[0].reason, REASON_RUNTIME);
	hook_kept_free(a);
	hook_kept_free(b);
}

static void another_file_is_another(void **state)
{
	struct hook_module *m = load(), *other, *again;

	(void)state;
	hook_kept_free(m);
	put("functions-O0");
	other = load();
	assert_ptr_not_equal(other, m);
	assert_int_equal(other->n, m->n);
	assert_memory_not_equal(other->functions, m->functions, m->n * sizeof(*m->functions));
	hook_kept_free(other);
	put("functions-O2");
	again = load();
	assert_int_equal(again->n, m->n);
	hook_kept_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_one_has_it_as_planned),
		cmocka_unit_test(two_at_once_have_two),
		cmocka_unit_test(another_file_is_another),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
