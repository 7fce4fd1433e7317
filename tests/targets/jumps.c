/* longjmp across traced frames, upwards many times, from a library's callback, and as an exit
 * from recursion; then normal calls whose returns must still be right. */
#include <setjmp.h>

#include "truth.h"

static jmp_buf env;
static unsigned long dives;

TRACED static int dive(int n, int value)
{
	dives++;
	if (n == 0)
		longjmp(env, value);
	value = dive(n - 1, value);
	BARRIER();
	return value;
}

TRACED static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (x == 13 && y != 13)
		longjmp(env, 13);
	return x - y;
}

TRACED static int after(int n)
{
	int r = n < 2 ? 1 : after(n - 1) + after(n - 2);

	BARRIER(); /* or the second call becomes a loop */
	return r;
}

TRACED static int caught(int depth, int value)
{
	volatile int sum = 0;
	int got = setjmp(env);

	if (got)
		return got + after(6) + sum;
	sum = 1000;
	return dive(depth, value);
}

int main(void)
{
	volatile long sum = 0;
	int numbers[64], i;

	for (i = 0; i < 2000; i++)
		sum += caught(i % 60, i + 1);
	for (i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	if (!setjmp(env))
		qsort(numbers, 64, sizeof(int), compare);
	else
		sum++;
	printf("%ld %d\n", sum, after(15));
	truth("caught", 2000);
	truth("dive", dives);
	truth("after", 2000 * 25 + 1973);
	return 0;
}
