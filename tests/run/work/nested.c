/* Calls that lie in each other, on four threads: functions, paths and a recursion, for the tests
 * that let another tool read an export. */
#include <pthread.h>
#define N __attribute__((noinline, noclone))
N int leaf(int n) { for (volatile int i = 0; i < 2000; i++) n += i; return n; }
N int middle(int n) { return leaf(n) + leaf(n + 1) + 1; }
N int outer(int n) { int s = 0; for (int i = 0; i < n; i++) s += middle(i); return s + 1; }
N int again(int n) { return n ? again(n - 1) + leaf(n) : 0; }
static void *thread(void *n) { return (void *)(long)outer((int)(long)n); }
int main(void)
{
	pthread_t threads[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, (void *)(10 + i));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return outer(20) + again(10) == 1;
}
