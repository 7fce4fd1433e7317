/* Programs for models of runtime verification: models WAY.
 *
 *   heap     three children free a block twice (glibc ends them); else all is right, but for two
 *            blocks that are lost: realloc() that fails, aligned memory, strdup()
 *   threads  four threads give each other blocks, and end with freed ones in their caches
 *   files    flushes a stream that is closed, twice; one stream is not closed
 *   signals  a handler that is right comes five times, one that is not three times */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20000
#define KEPT 64

static void *volatile kept[KEPT];

__attribute__((noinline)) static void twice(void)
{
	void *a = malloc(3000), *b = malloc(3000);

	free(a);
	free(a);
	free(b);
	_exit(0);
}

__attribute__((noinline)) static int right(void)
{
	volatile size_t huge = SIZE_MAX / 4;
	void *a = malloc(5000), *b = realloc(a, 9000), *c = NULL;
	char *d = strdup("text");

	if (!b || realloc(b, huge) || posix_memalign(&c, 256, 300))
		return 1;
	free(b);
	free(c);
	free(d);
	free(NULL);
	return 0;
}

static int heap(void)
{
	int bad = 0;

	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0)
			twice();
		bad |= waitpid(child, NULL, 0) != child;
	}
	for (int i = 0; i < 100; i++)
		bad |= right();
	for (int i = 0; i < 2; i++)
		kept[0] = malloc(77);
	kept[0] = NULL;
	return bad;
}

static void *exchange(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = realloc(malloc(16 + i % 300), 30 + i % 900);

		memset(p, 1, 30);
		free(__atomic_exchange_n(&kept[i % KEPT], p, __ATOMIC_SEQ_CST));
	}
	return arg;
}

static int threads(void)
{
	pthread_t t[4];
	int bad = 0;

	for (int i = 0; i < 4; i++)
		bad |= pthread_create(&t[i], NULL, exchange, NULL);
	for (int i = 0; i < 4; i++)
		bad |= pthread_join(t[i], NULL);
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	return bad;
}

__attribute__((noinline)) static void late(FILE *f)
{
	fflush(f);
	__asm__ volatile("");
}

static int files(void)
{
	FILE *f = fopen("/dev/null", "w");

	fputs("x", f);
	fclose(f);
	late(f);
	f = fopen("/dev/null", "r");
	fclose(f);
	late(f);
	return !fopen("/dev/null", "r");
}

static void good(int signal)
{
	kept[0] = (void *)(intptr_t)signal;
}

static void bad(int signal)
{
	kept[0] = malloc((size_t)signal);
	__asm__ volatile("");
}

static int signals(void)
{
	signal(SIGUSR1, good);
	signal(SIGUSR2, bad);
	for (int i = 0; i < 5; i++) {
		free(malloc(99));
		raise(SIGUSR1);
		if (i < 3)
			raise(SIGUSR2);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	return !strcmp(way, "heap") ? heap() : !strcmp(way, "threads") ? threads()
	       : !strcmp(way, "files") ? files() : !strcmp(way, "signals") ? signals() : 2;
}
