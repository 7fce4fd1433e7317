/* Something for sanitizers to watch: heap, threads, deep calls. Nothing is wrong with it. */
#include <pthread.h>
#include <string.h>

#include "truth.h"

TRACED static unsigned tree(unsigned depth)
{
	unsigned *p = malloc(sizeof(*p)), n;

	*p = depth;
	n = depth ? tree(depth - 1) + tree(depth - 1) + *p : 1;
	free(p);
	return n;
}

static void *thread(void *arg)
{
	*(unsigned *)arg = tree(8);
	return NULL;
}

int main(void)
{
	unsigned n[4];
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		require(!pthread_create(&t[i], NULL, thread, &n[i]), "a thread");
	for (int i = 0; i < 4; i++)
		require(!pthread_join(t[i], NULL), "a thread's end");
	printf("%u %u %u %u %u\n", tree(9), n[0], n[1], n[2], n[3]);
	return 0;
}
