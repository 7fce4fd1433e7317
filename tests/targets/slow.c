/* SPDX-License-Identifier: MIT */
/* Calls that take long, in calls that take long: what a threshold leaves. slow_handle is called
 * ROUNDS times and each fifth time calls slow_refill, which naps; slow_quick is always short. */
#include <stdio.h>
#include <time.h>

#define ROUNDS 20
#define NAP_NS 3000000

static volatile long work;

__attribute__((noinline)) void slow_quick(void)
{
	for (int i = 0; i < 100; i++)
		work += i;
}

__attribute__((noinline)) void slow_nap(void)
{
	const struct timespec t = { 0, NAP_NS };

	slow_quick();
	nanosleep(&t, NULL);
	work++;
}

__attribute__((noinline)) void slow_refill(void)
{
	slow_quick();
	slow_nap();
	slow_quick();
}

__attribute__((noinline)) void slow_handle(int i)
{
	slow_quick();
	if (i % 5 == 0)
		slow_refill();
	slow_quick();
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++)
		slow_handle(i);
	printf("%ld\n", work);
	return 0;
}
