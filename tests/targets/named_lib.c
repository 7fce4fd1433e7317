/* The library of named.c, with a place for a name of its own. */
unsigned long of_library(unsigned long n);

__attribute__((noinline)) static unsigned long LLLLLLLLLLLLLLLLLLLLLLLL(unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 5;
}

unsigned long of_library(unsigned long n)
{
	return LLLLLLLLLLLLLLLLLLLLLLLL(n) + 1;
}
