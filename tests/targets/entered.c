/* Functions whose arguments are gone when they return: overwritten in registers and on the stack,
 * recursive, left by longjmp, on several threads and in children, on a signal's stack. Whoever
 * calls one says with what, and what came back: "NAME ARGUMENTS RESULT" on stderr. Commands come as
 * lines: rN, dN (N deep), jN, tN (N calls on each of four threads), fN, sN, a, b, hN (waits for
 * another line in the call), q. Each is answered by a line. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noipa))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf out;
static volatile long from_handler;

static void account(const char *name, long a, long b, long value)
{
	char line[96];
	int n = snprintf(line, sizeof(line), "%s %ld %ld %ld\n", name, a, b, value);

	pthread_mutex_lock(&lock);
	if (write(2, line, (size_t)n) != n)
		abort();
	pthread_mutex_unlock(&lock);
}

/* Registers of arguments are used for other things before the return. */
#define SPOIL __asm__ volatile("xor %%edi, %%edi\n\txor %%esi, %%esi\n\tnopl 512(%%rax)" : : : "rdi", "rsi", "memory")

FUNCTION static long plain(long a, long b)
{
	long value = a * 3 + b;

	SPOIL;
	return value;
}

FUNCTION static long recurse(long a, long b)
{
	long value = 1;

	if (a > 0) {
		value += recurse(a - 1, b + 2);
		account("recurse", a - 1, b + 2, value - 1);
	}
	SPOIL;
	return value;
}

FUNCTION static long deep(long a, long b)
{
	long value = a > 0 ? deep(a - 1, b) + 1 : 0;

	SPOIL;
	return value;
}

/* Every third call of it ends the outermost one. */
FUNCTION static long leaves(long a, long b)
{
	long value = b;

	if (a == 1 && b % 3 == 0)
		longjmp(out, 1);
	if (a > 1) {
		value = leaves(a - 1, b);
		account("leaves", a - 1, b, value);
		value++;
	}
	SPOIL;
	return value;
}

/* The last two are on the stack, where the function writes over them. */
FUNCTION static long eight(long a, long b, long c, long d, long e, long f, volatile long g, volatile long h)
{
	long value = a + b + c + d + e + f + g * 100 + h;

	g = -1;
	h = -2;
	SPOIL;
	return value + g - g + h - h;
}

FUNCTION static long fill(char *to, long n)
{
	for (long i = 0; i < n; i++)
		to[i] = (char)('a' + i);
	to[n] = '\0';
	SPOIL;
	return n;
}

FUNCTION static long hold(long a, long b)
{
	char line[64];

	puts("in");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		_exit(3);
	SPOIL;
	return a + b;
}

FUNCTION static long interrupted(long a, long b)
{
	raise(SIGUSR1);
	SPOIL;
	return a - b;
}

static void handler(int signal)
{
	from_handler = plain(signal, from_handler);
}

static void *many(void *arg)
{
	long n = (long)arg / 10, who = (long)arg % 10;

	for (long i = 0; i < n; i++)
		account("plain", who, i, plain(who, i));
	return NULL;
}

static void on_threads(long n)
{
	pthread_t t[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many, (void *)(n * 10 + i));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Both return from the call in which the child was made. */
FUNCTION static long forks(long a, long b)
{
	pid_t child = fork();
	long value = child ? a : b;

	if (child)
		waitpid(child, NULL, 0);
	SPOIL;
	return value;
}

static void in_a_child(long n)
{
	long value = forks(n, -n);

	account("forks", n, -n, value);
	account("plain", n, value, plain(n, value));
	if (value == -n)
		_exit(0);
}

static void on_a_signals_stack(long n)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	from_handler = n;
	account("interrupted", n, 1, interrupted(n, 1));
	account("plain", SIGUSR1, n, from_handler);
}

static void jumps(long n)
{
	for (volatile long i = 0; i < n; i++)
		if (!setjmp(out))
			account("leaves", 4, i, leaves(4, i));
}

static void one(char what, long n)
{
	char text[32];

	switch (what) {
	case 'r': account("recurse", n, 0, recurse(n, 0)); break;
	case 'd': account("deep", n, 0, deep(n, 0)); break;
	case 'j': jumps(n); break;
	case 't': on_threads(n); break;
	case 'f': in_a_child(n); break;
	case 's': on_a_signals_stack(n); break;
	case 'a': account("eight", 7, 8, eight(1, 2, 3, 4, 5, 6, 7, 8)); break;
	case 'b': account(text, 0, 5, fill(text, 5)); break;
	case 'h': account("hold", n, 1, hold(n, 1)); break;
	}
}

int main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && *line != 'q') {
		one(*line, atol(line + 1));
		puts("done");
		fflush(stdout);
	}
	return 0;
}
