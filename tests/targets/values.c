/* Values of every kind in memory, and functions that are called with them when its input says so: a
 * number N calls values_outer(N), and its result is printed. */
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

int main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		printf("%ld\n", values_outer(&it, atol(line)));
		fflush(stdout);
	}
	return 0;
}
