/* Files that a running kernel wrote. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree/tree.h"

/* The text of golden/NAME; free() it. Fails the test if there is none. */
char *golden(const char *name);
/* `cat path` gives this text, or the test fails. */
void golden_shows(struct tree *t, const char *path, const char *want);
