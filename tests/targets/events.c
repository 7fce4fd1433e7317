/* Emits known events and prints the truth about them: a line for each record of truth:widths and
 * truth:texts as its print format has it, and how many truth:tick there were, in all and of those
 * that tests filter for.
 *
 *	events [PLUGIN]     once: threads, a signal handler, a forked child, the library, PLUGIN
 *	events -s           until standard input ends: ticks for ever; one line a tick count at
 *	                    the end */
#include <dlfcn.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events_def.h"

#define THREADS 4
#define TICKS 5000

void emit_from_library(long n);

static void say_widths(int64_t v)
{
	brace_truth_widths(v);
	printf("widths: s8=%d u8=%u s16=%d u16=%u s32=%d u32=%u s64=%" PRId64 " u64=%" PRIu64 "\n", (int8_t)v, (uint8_t)v,
	       (int16_t)v, (uint16_t)v, (int32_t)v, (uint32_t)v, v, (uint64_t)v);
}

static void widths(void)
{
	static const int64_t values[] = { 0, 1, -1, 127, 128, 255, 32767, 32768, 65535, INT32_MAX, INT32_MIN, UINT32_MAX,
					  INT64_MAX, INT64_MIN };

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		say_widths(values[i]);
}

static void say_texts(int n, const char *a, const char *b, const int *list, unsigned count)
{
	brace_truth_texts(n, a, b, list, count);
	printf("texts: n=%d a=%s two=%u %u list=", n, a ? a : "(null)", (unsigned)list[0], (unsigned)list[1]);
	for (unsigned i = 0; i < count; i++)
		printf("%s%u", i ? " " : "", (unsigned)list[i]);
	printf(" b=%s\n", b ? b : "(null)");
}

static void texts(void)
{
	static const int list[8] = { 1, -2, 3, 0x7fffffff, 5, 6, 7, 8 };
	char longer[200];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	say_texts(1, "tea", "two words", list, 3);
	say_texts(2, "", NULL, list, 8);
	say_texts(-3, longer, longer, list, 2);
}

static void *ticks(void *who)
{
	for (long i = 0; i < TICKS; i++)
		brace_truth_tick(i, i % 3 ? GREEN : RED, (unsigned)(uintptr_t)who);
	return NULL;
}

static volatile sig_atomic_t handled;

static void on_alarm(int sig)
{
	brace_truth_tick(handled++, GREEN, 500);
}

static void in_threads_and_handlers(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	pthread_t t[THREADS];

	sigaction(SIGUSR1, &act, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, ticks, (void *)i);
	for (int i = 0; i < 100; i++)
		pthread_kill(t[i % THREADS], SIGUSR1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void in_a_child(void)
{
	pid_t child = fork();

	if (!child) {
		ticks((void *)(uintptr_t)77);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void in_a_plugin(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*emit)(int) = handle ? (void (*)(int))dlsym(handle, "emit_from_plugin") : NULL;

	for (int i = 0; emit && i < 10; i++)
		emit(i);
	printf("plugin: %d\n", emit ? 10 : 0);
}

static void for_ever(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	unsigned long n = 0;

	printf("ready\n");
	fflush(stdout);
	do
		for (int i = 0; i < 1000; i++)
			brace_truth_tick((long)n++, GREEN, 9);
	while (poll(&in, 1, 1) == 0);
	printf("ticks: %lu\n", n);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "-s")) {
		for_ever();
		return 0;
	}
	widths();
	texts();
	fflush(stdout);
	in_threads_and_handlers();
	in_a_child();
	for (long i = 0; i < 50; i++)
		emit_from_library(i);
	if (argc > 1)
		in_a_plugin(argv[1]);
	printf("ticks: %d\n", (THREADS + 1) * TICKS + handled + 50);
	printf("small: %d\n", (THREADS + 1) * 100 + (handled < 100 ? handled : 100) + 50);
	printf("handled: %d\n", (int)handled);
	return 0;
}
