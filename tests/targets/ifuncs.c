/* Functions chosen by a resolver (IFUNC): called by name, through a pointer, and those of libc,
 * whose resolvers choose by the processor. */
#include <string.h>

#include "truth.h"

enum { ROUNDS = 500 };
static int asked;

TRACED static long plain_way(long n) { BARRIER(); return n * 3 + 1; }
TRACED static long other_way(long n) { BARRIER(); return n * 5 + 2; }
static long (*choose(void))(long) { asked++; return sizeof(long) == 8 ? plain_way : other_way; }
long chosen(long n) __attribute__((ifunc("choose")));

TRACED static long by_name(long n) { long r = chosen(n); BARRIER(); return r + 1; }
TRACED static long by_pointer(long n)
{
	long (*volatile way)(long) = chosen;
	long r = way(n);

	BARRIER();
	return r + 2;
}

int main(void)
{
	char text[300], copy[300];
	long sum = 0;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	for (long i = 0; i < ROUNDS; i++) {
		sum = sum * 7 + by_name(i) + by_pointer(i);
		strcpy(copy, text + i % 200);
		sum += (long)strlen(copy) + memcmp(text, copy, 50) + (strchr(copy, 'b') != NULL);
	}
	printf("%ld %d\n", sum, asked > 0);
	truth("plain_way", 2 * ROUNDS);
	truth("by_name", ROUNDS);
	truth("by_pointer", ROUNDS);
	return 0;
}
