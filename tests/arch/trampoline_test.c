/* SPDX-License-Identifier: MIT */
/* The agent reads the function tracer's trampoline at places that call_resume.h states. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "arch/x86_64/call_resume.h"

extern const uint8_t call_found[], call_function[], call_word[], call_resume[];

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(call_function - call_found, CALL_FUNCTION);
	assert_int_equal(call_word - call_found, CALL_WORD);
	assert_int_equal(call_resume - call_found, CALL_RESUME);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_places) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
