// A process to attach to: THREADS threads that compute what they know the result of, through every
// kind of control flow that hooks could disturb, until SIGTERM. It prints its threads' number when all run,
// and at the end "right" with how many rounds were computed, or what was wrong. SIGUSR1 makes it
// fork a child that does the same and is waited for.
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline, noclone, used))

static volatile sig_atomic_t ending, forking;
static std::atomic<unsigned long> rounds;

extern "C" {
TRACED unsigned long att_step(unsigned long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 6364136223846793005ul + 1442695040888963407ul;
}

TRACED unsigned long att_depth(unsigned long n)
{
	return n ? att_depth(n - 1) + 1 : 0;
}

TRACED double att_float(double a, double b, double c)
{
	return a * b + c;
}

TRACED void att_throw(int n)
{
	if (!n)
		throw std::runtime_error("from below");
	att_throw(n - 1);
	__asm__ volatile("");
}

TRACED int att_catch(int n)
{
	try {
		att_throw(n);
	} catch (const std::runtime_error &e) {
		return strcmp(e.what(), "from below") == 0 ? n : -1;
	}
	return -2;
}

TRACED void att_jump(jmp_buf env, int n)
{
	if (!n)
		longjmp(env, 7);
	att_jump(env, n - 1);
	__asm__ volatile("");
}

TRACED int att_jumps(int n)
{
	jmp_buf env;
	int r = setjmp(env);

	if (!r)
		att_jump(env, n);
	return r;
}

TRACED int att_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
}

static void wrong(const char *what)
{
	fprintf(stderr, "wrong: %s\n", what);
	_exit(99);
}

TRACED static void round_of_all()
{
	int numbers[64];
	unsigned long x = 1;

	for (int i = 0; i < 1000; i++)
		x = att_step(x);
	if (x != 0xf517ff66df0cbea9ul)
		wrong("step");
	if (att_depth(100) != 100)
		wrong("depth");
	if (att_float(3.0, 4.0, 5.0) != 17.0)
		wrong("float");
	if (att_catch(9) != 9)
		wrong("exception");
	if (att_jumps(9) != 7)
		wrong("longjmp");
	for (int i = 0; i < 64; i++)
		numbers[i] = (i * 37) % 64;
	qsort(numbers, 64, sizeof(int), att_compare);
	for (int i = 0; i < 64; i++)
		if (numbers[i] != i)
			wrong("qsort");
	rounds++;
}

/* A frame that is left only at the end: its return goes through what a trace left on the stack. */
TRACED static void *work(void *)
{
	while (!ending)
		round_of_all();
	return nullptr;
}

/* Blocked in the kernel nearly always. */
TRACED static void *nap(void *)
{
	const timespec t = { 0, 20000000 };

	while (!ending) {
		timespec left = t;

		while (nanosleep(&left, &left) < 0)
			if (errno != EINTR)
				wrong("nanosleep");
	}
	return nullptr;
}

static void *short_one(void *arg)
{
	return (void *)att_step((unsigned long)arg);
}

/* Threads that come and go. */
TRACED static void *spawn(void *)
{
	while (!ending) {
		pthread_t t;
		void *result;

		if (pthread_create(&t, nullptr, short_one, (void *)1ul) || pthread_join(t, &result))
			wrong("pthread");
		if (result != (void *)(6364136223846793005ul + 1442695040888963407ul))
			wrong("thread's result");
	}
	return nullptr;
}

static void end(int) { ending = 1; }
static void fork_soon(int) { forking = 1; }

static void child()
{
	for (int i = 0; i < 20 || !ending; i++)
		round_of_all();
	_exit(0);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4, status;
	bool spawns = argc > 2 && !strcmp(argv[2], "spawn");
	pthread_t threads[64];
	pid_t pid = 0;

	if (n > 62)
		n = 62;
	signal(SIGTERM, end);
	signal(SIGUSR1, fork_soon);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], nullptr, i % 4 == 3 ? nap : work, nullptr);
	if (spawns)
		pthread_create(&threads[n++], nullptr, spawn, nullptr);
	printf("%d threads\n", n);
	fflush(stdout);
	while (!ending) {
		round_of_all();
		if (!forking)
			continue;
		forking = 0;
		pid = fork();
		if (!pid)
			child();
		printf("child %d\n", (int)pid);
		fflush(stdout);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], nullptr);
	if (pid) {
		kill(pid, SIGTERM);
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
			wrong("child");
	}
	printf("right\n");
	return rounds ? 0 : 98;
}
