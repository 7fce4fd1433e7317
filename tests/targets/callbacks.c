/* libc calling back: qsort, bsearch, atexit, constructors, a thread-local destructor, tsearch. */
#include <pthread.h>
#include <search.h>

#include "truth.h"

static unsigned long compares;
static int numbers[1000];

TRACED static int compare(const void *a, const void *b)
{
	compares++;
	return *(const int *)a - *(const int *)b;
}

TRACED __attribute__((constructor)) static void before(void)
{
	numbers[0] = 1;
}

TRACED static void at_exit(void)
{
	printf("at exit\n");
	truth("compare", compares);
	truth("at_exit", 1);
}

TRACED static void forget(void *p) { printf("forgot %d\n", *(int *)p); }
TRACED static void visit(const void *node, VISIT which, int depth) { BARRIER(); }

TRACED static void *thread(void *arg)
{
	pthread_key_t key;

	pthread_key_create(&key, forget);
	pthread_setspecific(key, &numbers[5]);
	return NULL;
}

TRACED static void sort_and_search(void)
{
	int key = 500;

	for (int i = 0; i < 1000; i++)
		numbers[i] = i * 7919 % 1000;
	qsort(numbers, 1000, sizeof(int), compare);
	require(bsearch(&key, numbers, 1000, sizeof(int), compare) == &numbers[500], "bsearch");
}

int main(void)
{
	pthread_t t;
	void *root = NULL;

	require(numbers[0] == 1, "the constructor ran");
	atexit(at_exit);
	sort_and_search();
	for (int i = 0; i < 100; i++)
		tsearch(&numbers[i], &root, compare);
	twalk(root, visit);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	printf("sorted %d %d\n", numbers[1], numbers[999]);
	truth("before", 1);
	truth("forget", 1);
	truth("sort_and_search", 1);
	return 3;
}
