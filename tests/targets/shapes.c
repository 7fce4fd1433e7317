/* The functions that are compiled in every way a compiler can prepare them for tracing: a leaf,
 * a small one, one with a loop, recursion, a tail call, a variadic one, a floating-point one. */
#include <stdarg.h>

#include "truth.h"

TRACED int leaf(int a) { BARRIER(); return a ^ 0x55; }
TRACED int tiny(void) { BARRIER(); return 0; }
TRACED double real(double a, float b) { BARRIER(); return a * b + 1; }

TRACED int looping(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += leaf(i) * n;
	return sum;
}

TRACED int recursive(int n)
{
	int r = n < 2 ? n : recursive(n - 1) + recursive(n - 2);

	BARRIER(); /* or the second call becomes a loop */
	return r;
}

TRACED int variadic(int n, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, n);
	while (n--)
		sum += va_arg(list, double);
	va_end(list);
	return sum;
}

TRACED int jumping(int n) { BARRIER(); return looping(n + 1); }

static void counts(void)
{
	truth("leaf", 300 * 11);
	truth("tiny", 300);
	truth("real", 300);
	truth("looping", 300);
	truth("jumping", 300);
	truth("variadic", 300);
	truth("recursive", 21891);
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 300; i++)
		sum += jumping(10) + tiny() + (long)real(i, 1.5f) + variadic(4, 1., 2., 3., 4.);
	printf("%ld %d\n", sum, recursive(20));
	counts();
	return 0;
}
