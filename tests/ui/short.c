/* Two functions that brace cannot hook, since they are shorter than a jump, have no padding after
 * them, and are called through pointers only; and one that it can hook. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) void tiny_one(void) { __asm__ volatile(""); }
__attribute__((noinline)) void tiny_two(void) { __asm__ volatile(""); }
static void (*volatile tiny[])(void) = { tiny_one, tiny_two };
static inline __attribute__((always_inline)) int folded(int x) { return 3 * x + 1; }
__attribute__((noinline)) int large(int x) { return folded(x) + folded(x + 1) * x; }

/* With an argument: until its standard input ends. */
int main(int argc, char **argv)
{
	char byte;

	for (unsigned i = 0; i < sizeof(tiny) / sizeof(*tiny); i++)
		tiny[i]();
	printf("%d\n", large(argc));
	fflush(stdout);
	return argc > 1 ? (int)read(0, &byte, 1) : 0;
}
