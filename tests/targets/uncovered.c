/* Most of this program's code has neither a symbol nor unwind information:
 * tests/run/coverage.sh. */
#include <stdio.h>

__asm__(".text; .rept 4000; mov %rdi, %rax; add $1, %rax; ret; int3; .endr");

__attribute__((noinline)) static int step(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int main(void)
{
	printf("%d\n", step(1));
	return 0;
}
