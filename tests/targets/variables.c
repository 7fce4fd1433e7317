/* Variables of every kind for probes in the source's words: the program prints what a debugger
 * would see. Built with and without optimisation; the script finds the lines by their marks. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Functions whose callers keep to the calling convention, and which stay. */
#ifdef __clang__
#define FUNCTION __attribute__((noinline))
#else
#define FUNCTION __attribute__((noipa))
#endif

enum colour { RED, GREEN = 5, BLUE };
struct inner { int a, b; };
struct item {
	char label[12];
	const char *name;
	int cents;
	unsigned low : 3, high : 5;
	signed char small;
	enum colour colour;
	struct inner pairs[3];
	struct inner *more;
	struct item *next;
	union {
		int64_t whole;
		int32_t half;
	};
	double weight;
	bool sold;
};

static struct inner others[4] = { { 10, 11 }, { 20, 21 }, { 30, 31 }, { 40, 41 } };
static struct item last = { .label = "last", .name = "the last", .cents = 99, .more = others, .whole = -5 };
static int total;
const char *motto = "sell high";

static inline __attribute__((always_inline)) int doubled(int n)
{
	int twice = n * 2; /* mark: inlined */

	total += twice & 1;
	return twice + (total & 0);
}

int price(struct item *item, int count, double factor, unsigned char mode);
struct item *choose(struct item *from, int which);
long many(long a, long b, long c, long d, long e, long f, long seventh, short eighth);

FUNCTION int price(struct item *item, int count, double factor, unsigned char mode)
{
	int sum = item->cents * count; /* mark: first */

	for (int i = 0; i < count; i++) {
		int64_t step = item->pairs[i % 3].a;

		sum += (int)step + i; /* mark: loop */
		__asm__ volatile("" : "+r"(sum) : "r"(step), "r"(i), "r"(mode) : "memory");
	}
	total += doubled(sum); /* mark: total */
	return sum + (int)factor;
}

FUNCTION struct item *choose(struct item *from, int which)
{
	struct item *at = from;

	while (which-- > 0 && at->next)
		at = at->next;
	__asm__ volatile("nopl 512(%%rax)\n\tnopl 512(%%rax)" : "+r"(at)); /* room for a probe of the return */
	return at;
}

FUNCTION long many(long a, long b, long c, long d, long e, long f, long seventh, short eighth)
{
	return a + b + c + d + e + f + seventh * 10 + eighth; /* mark: many */
}

int main(int argc, char **argv)
{
	struct item first = { .label = "first", .name = "the first", .cents = 7, .low = 5, .high = 17, .small = -3, .colour = GREEN,
		.pairs = { { 1, 2 }, { 3, 4 }, { 5, 6 } }, .more = others, .next = &last, .whole = 0x100000002, .weight = 2.5, .sold = true };
	int n = argc > 1 ? atoi(argv[1]) : 3;

	for (int i = 1; i <= n; i++) {
		struct item *it = choose(&first, i & 1);

		printf("%d %s\n", price(it, i, 1.5, (unsigned char)(i * 3)), it->name);
		printf("%ld\n", many(1, 2, 3, 4, 5, 6, i, (short)-i));
	}
	printf("%d %d\n", total, doubled(n));
	return 0;
}
