/* SPDX-License-Identifier: MIT */
/* The agent reads the function tracer's trampoline at places that call_resume.h states, and the
 * unwind table at those of shared/unwind_rule.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "arch/x86_64/call_resume.h"
#include "shared/unwind_rule.h"

extern const uint8_t call_found[], call_function[], call_word[], call_resume[];

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(call_function - call_found, CALL_FUNCTION);
	assert_int_equal(call_word - call_found, CALL_WORD);
	assert_int_equal(call_resume - call_found, CALL_RESUME);
}

extern const uint8_t unwind_rule_begin[], unwind_rule_header[], unwind_rule_nongnu_header[], unwind_rule_entry[];

static void test_table(void **state)
{
	(void)state;
	assert_int_equal(unwind_rule_header - unwind_rule_begin, UNWIND_HEADER);
	assert_int_equal(unwind_rule_nongnu_header - unwind_rule_begin, UNWIND_NONGNU_HEADER);
	assert_int_equal(unwind_rule_entry - unwind_rule_begin, UNWIND_ENTRY);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_places), cmocka_unit_test(test_table) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
