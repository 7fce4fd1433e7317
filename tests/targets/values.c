/* Values of every kind in memory, and functions that are called with them when its input says so: N
 * calls values_outer(N), mN values_many(N), tN values_tail(N), and the result is printed. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct values {
	uint8_t b[8];
	int8_t s8;
	int16_t s16[3];
	int32_t s32[2];
	int64_t s64;
	char c;
	char *name;
	char *names[3];
	uint32_t bits;
};
static struct values it = { { 1, 2, 3, 250, 5, 6, 7, 8 }, -3, { -1, 300, -32768 }, { -5, 7 }, -9, 'x', "the \"name\"", { "one", "", "three" }, 0xdeadbeef };
_Static_assert(offsetof(struct values, bits) == 72, "the test's offsets");

__attribute__((noipa)) static long values_hit(const struct values *p, long n, char *const *names)
{
	__asm__ volatile("" : : "r"(names) : "memory");
	return n < 3 ? n * 2 + p->s8 : n;
}

__attribute__((noipa)) static long values_outer(const struct values *p, long n)
{
	return values_hit(p, n, p->names) + 1;
}

/* Leaves in several ways: at once, behind a call, out of a loop. */
__attribute__((noipa)) static long values_many(long n)
{
	if (n == 1)
		return -7;
	if (n == 2)
		return values_hit(&it, 5, it.names) * 3;
	for (long i = 0; i < n; i++)
		if (it.b[i & 7] == 250)
			return i + values_hit(&it, n, it.names);
	return 0x123456789;
}

/* Goes on in another function by a jump. */
__attribute__((noipa)) static long values_tail(long n)
{
	return values_many(n + 1);
}

int main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		if (*line == 'm')
			printf("%ld\n", values_many(atol(line + 1)));
		else if (*line == 't')
			printf("%ld\n", values_tail(atol(line + 1)));
		else
			printf("%ld\n", values_outer(&it, atol(line)));
		fflush(stdout);
	}
	return 0;
}
