/* Files that a running kernel wrote. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The text of golden/NAME; free() it. Fails the test if there is none. */
char *golden(const char *name);
