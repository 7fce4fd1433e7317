/* named LIBRARY [IN OUT]: a program with places for names that nobody would expect.
 * tests/run/terminal.sh puts them there: over each run of one letter in the two files. Its threads
 * and the strings of its event bear such names from the beginning. It works once, and again for
 * each byte of IN, and writes a byte to OUT when it has. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE1(provider, name, value)
#endif

#include "brace/event.h"

#define HOSTILE "\033]52;c;ZXZpbA==\a\033[2J\n\302\233\342\200\256\377\177"

BRACE_EVENT(named, text,
	BRACE_PROTO(const char *s),
	BRACE_ARGS(s),
	BRACE_FIELDS(
		BRACE_STRING(s, s)),
	BRACE_PRINT("s=%s", __get_str(s)))

BRACE_EVENT(named, eeeeeeeeeeeeeeeeeeeeeeee,
	BRACE_PROTO(int v),
	BRACE_ARGS(v),
	BRACE_FIELDS(
		BRACE_FIELD(int, v, v)),
	BRACE_PRINT("v=%d", REC->v))

#define FUNCTION(name, by)                                      \
	__attribute__((noinline)) static unsigned long name(unsigned long n) \
	{                                                       \
		__asm__ volatile("" : "+r"(n));                 \
		return n * by;                                   \
	}

FUNCTION(AAAAAAAAAAAAAAAAAAAAAAAA, 3)
FUNCTION(BBBBBBBBBBBBBBBBBBBBBBBB, 5)
FUNCTION(CCCCCCCCCCCCCCCCCCCCCCCC, 7)

static unsigned long (*of_library)(unsigned long);

static void *work(void *name)
{
	unsigned long n = 0;

	prctl(PR_SET_NAME, name);
	for (unsigned long i = 0; i < 10; i++)
		n += AAAAAAAAAAAAAAAAAAAAAAAA(BBBBBBBBBBBBBBBBBBBBBBBB(CCCCCCCCCCCCCCCCCCCCCCCC(i))) + of_library(i);
	brace_named_text(HOSTILE);
	brace_named_eeeeeeeeeeeeeeeeeeeeeeee(1);
	DTRACE_PROBE1(named, mmmmmmmmmmmmmmmmmmmmmmmm, n);
	return NULL;
}

static void work_in_threads(void)
{
	static const char *const names[] = { "\033]0;x\a\033[2J", "x\nforged line", "\302\233\342\200\256\377\177" };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)names[i]))
			exit(1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	work("\033[1mmain");
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int in = argc > 3 ? open(argv[2], O_RDONLY) : -1, out = argc > 3 ? open(argv[3], O_WRONLY) : -1;
	char byte;

	of_library = library ? (unsigned long (*)(unsigned long))dlsym(library, "of_library") : NULL;
	if (!of_library)
		return 1;
	do {
		work_in_threads();
	} while (in >= 0 && write(out, "d", 1) == 1 && read(in, &byte, 1) == 1 && byte != 'q');
	if (argc == 3)
		abort();
	return 0;
}
