/* SPDX-License-Identifier: MIT */
#include <string.h>

unsigned bound_far(const char *s);
unsigned bound_far(const char *s)
{
	return (unsigned)strlen(s) + 1;
}
