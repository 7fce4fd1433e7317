/* SPDX-License-Identifier: MIT */
/* Calls said() with strings that nobody writes to, and with such as come in their place. Each call
 * is told in the file that ACCOUNT names, one line each: said(text="...").
 *
 * literals threads            eight threads say the strings of 300 pages, some of which cross two
 * literals closed DIR         modules DIR/0.so and DIR/1.so take turns at one address, then memory
 *                             that is written to again and again
 * literals written            a literal's page becomes writable, and is written to
 * literals gone DIR           a module's page is unmapped, and a module's file is cut
 * literals interrupted        a handler on its own stack says a literal, in between others
 * literals forked             children say what their parent said */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define APART __attribute__((noinline, noclone))
#define PAGES 300
#define FRESH (1ull << 20) /* ticks for which brace may show what was there before */

/* A string begins each page, and one of 12 bytes lies across its end. */
__asm__(".section .rodata\n"
	".balign 4096\n"
	"pages: .set i, 0\n"
	".rept 300\n"
	".ascii \"page \"; .byte 48 + i / 100, 48 + i / 10 % 10, 48 + i % 10, 0\n"
	".skip 4090 - 9\n"
	".ascii \"acr\"; .byte 48 + i / 100, 48 + i / 10 % 10, 48 + i % 10\n"
	".balign 4096\n"
	".set i, i + 1\n"
	".endr\n"
	".asciz \"end\"\n"
	".previous\n");
extern const char pages[] __attribute__((visibility("hidden")));

static int account = -1;
static volatile sig_atomic_t alarms;

APART void said(const char *text)
{
	__asm__ volatile("" : : "r"(text) : "memory");
}

/* One write for each line: threads, handlers and children share the file. */
static void tell(const char *text)
{
	char line[160];
	int n = snprintf(line, sizeof(line), *text == '(' ? "said(text=%s)\n" : "said(text=\"%s\")\n",
			 text);

	if (account >= 0 && write(account, line, (size_t)n) != n)
		abort();
}

static void say(const char *text)
{
	said(text);
	tell(text);
}

static void spin(void)
{
	unsigned long long end = __rdtsc() + 4 * FRESH;

	while (__rdtsc() < end)
		;
}

static void *say_pages(void *arg)
{
	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < PAGES; i++) {
			int page = (i * 7 + (int)(long)arg * 31) % PAGES;

			say(pages + page * 4096);
			if (page % 10 != 9)
				continue;
			/* What begins at the end of a page goes on with the next one's string. */
			say(pages + page * 4096 + 4090);
		}
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	for (long i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, say_pages, (void *)i))
			abort();
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static const char *open_module(const char *dir, int which, void **module)
{
	char path[4096];
	const char *const *text;

	snprintf(path, sizeof(path), "%s/%d.so", dir, which);
	*module = dlopen(path, RTLD_NOW);
	text = *module ? dlsym(*module, "text") : NULL;
	if (!text)
		abort();
	return *text;
}

/* Memory of the program's own where the module was, as soon as it is gone. */
static void say_written(const char *where)
{
	char *page = (char *)((unsigned long)where & ~4095ul), text[32];
	char *at = mmap(page, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at != page)
		return;
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "written %d", i);
		strcpy(at + (where - page), text);
		say(where);
	}
	munmap(at, 4096);
}

static void closed(const char *dir)
{
	const char *before[2] = { NULL, NULL };
	int same = 0;
	void *module;

	for (int i = 0; i < 60; i++) {
		const char *text = open_module(dir, i % 2, &module);

		say(text);
		say(text);
		before[i % 2] = text;
		same += before[!(i % 2)] == text;
		dlclose(module);
		say_written(text);
	}
	if (same < 30) /* else nothing is tested */
		abort();
}

static const char changed[] __attribute__((aligned(4096), section(".rodata"))) = "before";

static void written(void)
{
	char *page = (char *)((unsigned long)changed & ~4095ul);

	say(changed);
	for (int i = 0; i < 10; i++) {
		if (mprotect(page, 4096, PROT_READ | PROT_WRITE))
			abort();
		snprintf(page + (changed - page), 7, "turn %d", i);
		if (mprotect(page, 4096, PROT_READ))
			abort();
		spin();
		say(changed);
	}
}

static void gone(const char *dir)
{
	void *module;
	const char *text = open_module(dir, 0, &module);
	char path[4096];

	say(text);
	munmap((void *)((unsigned long)text & ~4095ul), 4096);
	spin();
	said(text);
	tell("(fault)");
	text = open_module(dir, 1, &module);
	say(text);
	snprintf(path, sizeof(path), "%s/1.so", dir);
	if (truncate(path, 0))
		abort();
	spin();
	said(text);
	tell("(fault)");
	_exit(0); /* there is nothing left to close */
}

static void on_alarm(int number)
{
	(void)number;
	say(pages + (alarms++ % PAGES) * 4096);
}

static void interrupted(void)
{
	const struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART };

	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; alarms < 200; i++)
		say(pages + i % PAGES * 4096);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void forked(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child;

		say(pages + i * 4096);
		child = fork();
		say(pages + i * 4096);
		say(pages + (i + 1) * 4096);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *dir = argc > 2 ? argv[2] : ".",
		   *file = getenv("ACCOUNT");

	if (file)
		account = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "closed"))
		closed(dir);
	else if (!strcmp(what, "written"))
		written();
	else if (!strcmp(what, "gone"))
		gone(dir);
	else if (!strcmp(what, "interrupted"))
		interrupted();
	else if (!strcmp(what, "forked"))
		forked();
	else
		return 2;
	return 0;
}
