/* SPDX-License-Identifier: MIT */
/* The end of an output that is printed in vain: lines without control characters. */
#pragma once
#include <stdlib.h>

static int swallow(void *arg, const char *bytes, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)bytes[i] < ' ' && bytes[i] != '\n')
			abort();
	return 0;
}
