/* The kernel's outputs that the tests of histograms reproduce. GOLDEN is their folder. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"

/* The text of a file of them, by its name without ".txt"; free() it. */
static inline char *golden(const char *name)
{
	char *path = mem_printf("%s/%s.txt", GOLDEN, name), *text = mem_zalloc(1 << 16);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	free(path);
	return text;
}
