/* dlopen, dlsym, a call into the library and back, dlclose; again and again, and by two threads. */
#include <dlfcn.h>
#include <pthread.h>

#include "truth.h"

enum { ROUNDS = 40 };
static const char *path;

TRACED static int back(int n)
{
	BARRIER();
	return n * 2;
}

TRACED static int use(int n)
{
	void *handle = dlopen(path, RTLD_NOW);
	int (*answer)(int (*)(int), int), result;

	require(handle != NULL, "dlopen");
	answer = (int (*)(int (*)(int), int))dlsym(handle, "plugin_answer");
	require(answer != NULL, "dlsym");
	result = answer(back, n);
	require(!dlclose(handle), "dlclose");
	return result;
}

TRACED static void *thread(void *arg)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++)
		sum += use(i);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	pthread_t other;
	void *sum;
	long mine = 0;

	path = argv[1];
	for (int i = 0; i < ROUNDS; i++)
		mine += use(i);
	pthread_create(&other, NULL, thread, NULL);
	mine += (long)thread(NULL);
	pthread_join(other, &sum);
	require(dlsym(RTLD_DEFAULT, "plugin_answer") == NULL, "it is gone");
	printf("%ld %ld\n", mine, (long)sum);
	truth("back", 3 * ROUNDS);
	truth("use", 3 * ROUNDS);
	truth("thread", 2);
	return 0;
}
