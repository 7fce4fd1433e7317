/* SPDX-License-Identifier: MIT */
/* Functions that take, and return, pointers to functions, into functions, and to what is none:
 * data, the heap, nothing. arguments.sh asks gdb what lies at each address. */
#include <stdlib.h>

#if defined(__clang__)
#define ALONE __attribute__((noinline, optnone))
#else
#define ALONE __attribute__((noipa))
#endif

struct table {
	void (*first)(int);
	int n;
	int (*compare)(const void *, const void *);
};

static volatile int last;
int shared_number = 4;

ALONE void on_signal(int n) { last = n; }
ALONE int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
ALONE void (*keep(void (*handler)(int), void *any))(int) { return any ? handler : NULL; }
ALONE void *inside(void *at) { return (char *)at + 1; }
ALONE int run(struct table t, int *number) { return t.n + *number; }
ALONE int by_address(struct table *t) { return t->n; }

int main(void)
{
	static int numbers[] = { 3, 1, 2 };
	struct table t = { on_signal, 3, by_number };
	void *heap = malloc(8);

	for (int i = 0; i < 20; i++) {
		keep(on_signal, (void *)by_number);
		keep(on_signal, NULL);
		inside((void *)on_signal);
		inside(heap);
		inside(&shared_number);
		run(t, numbers);
		by_address(&t);
	}
	qsort(numbers, 3, sizeof(*numbers), by_number);
	free(heap);
	return 0;
}
