/* SPDX-License-Identifier: MIT */
/* Calls strlen 7 times, and bound_far 3 times, which calls strlen once each. */
#include <stdio.h>
#include <string.h>

unsigned bound_far(const char *s);

int main(int argc, char **argv)
{
	unsigned n = 0;

	for (int i = 0; i < 7; i++)
		n += (unsigned)strlen(argv[i % argc]);
	for (int i = 0; i < 3; i++)
		n += bound_far(argv[0]);
	printf("%u\n", n);
	return 0;
}
