// SPDX-License-Identifier: MIT
// Calls point() in and out of calls of the scopes `outer` and `other`, as its own account says: in
// recursion, on threads, past longjmp and exceptions, in handlers, on a signal's stack, in children,
// in coroutines, after tail calls. Of each place it prints "PLACE ALL OUTER OTHER": how often point()
// ran, and how often in a call of outer() or its like, and of other(). Does so once, or, with an
// argument, for each line that it reads, and says "." behind it.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

// By place: how often point() ran while a call of outer(), or other(), was open.
struct account { int all, outer, other; };
static account accounts[32];
static thread_local volatile int outers, others;
static jmp_buf back;
static ucontext_t home, away;
static volatile int sink;

extern "C" {

APART void point(int place)
{
	account *a = &accounts[place];

	__atomic_fetch_add(&a->all, 1, __ATOMIC_RELAXED);
	if (outers)
		__atomic_fetch_add(&a->outer, 1, __ATOMIC_RELAXED);
	if (others)
		__atomic_fetch_add(&a->other, 1, __ATOMIC_RELAXED);
	sink = sink + 1;
}

APART void inner(int place)
{
	point(place);
	sink = sink + 1;
}

APART void outer(int place, int deeper)
{
	outers = outers + 1;
	point(place);
	if (deeper)
		outer(place, deeper - 1);
	inner(place);
	outers = outers - 1;
}

APART void other(int place)
{
	others = others + 1;
	inner(place);
	others = others - 1;
}

// A frame as deep as those below it were: places of calls that were left stay as they are.
APART void hollow(int place)
{
	volatile char room[4096];

	room[0] = (char)place;
	inner(place);
	sink = sink + room[0];
}
}

struct at_entry {
	volatile int *n;
	explicit at_entry(volatile int *count) : n(count) { *n = *n + 1; }
	~at_entry() { *n = *n - 1; }
};

// Throws, or jumps, out of outer's namesakes: scopes `throws` and `leaps`.
extern "C" APART void throws(int place)
{
	at_entry in(&outers);

	point(place);
	if (place)
		throw place;
}
extern "C" APART void between(int place)
{
	volatile char room[2048];

	room[0] = 1;
	throws(place);
	sink = sink + room[0];
}
extern "C" APART void leaps(int place)
{
	outers = outers + 1;
	point(place);
	outers = outers - 1;
	if (place)
		longjmp(back, 1);
	sink = sink + 1;
}
extern "C" APART void far(int place)
{
	volatile char room[2048];

	room[0] = 1;
	leaps(place);
	sink = sink + room[0];
}

// Goes on in inner() by a jump: the scope lasts as long.
extern "C" __attribute__((noinline, noclone, optimize("O2"))) void tail(int place)
{
	outers = outers + 1;
	return inner(place);
}

static void handle(int)
{
	inner(6);
}

extern "C" APART void raises(int signal)
{
	outers = outers + 1;
	raise(signal);
	point(6);
	outers = outers - 1;
}

static void coroutine()
{
	outers = outers + 1;
	for (;;) {
		point(8);
		int kept = outers;
		outers = 0;
		swapcontext(&away, &home);
		outers = kept;
		inner(8);
	}
}
extern "C" APART void yields() // its call is the coroutine's
{
	coroutine();
	sink = sink + 1;
}

static void catches()
{
	for (int i = 0; i < 10; i++) {
		try {
			between(3);
		} catch (int) {
		}
		point(4);
		hollow(4);
	}
}

static void jumps()
{
	for (int i = 0; i < 10; i++) {
		if (!setjmp(back))
			far(5);
		point(4);
		hollow(4);
	}
}

static void signals()
{
	static char stack[65536];
	stack_t alternate = {};
	struct sigaction a = {};

	alternate.ss_sp = stack;
	alternate.ss_size = sizeof(stack);
	sigaltstack(&alternate, nullptr);
	a.sa_handler = handle;
	sigaction(SIGUSR1, &a, nullptr);
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &a, nullptr);
	for (int i = 0; i < 5; i++) {
		raises(SIGUSR1);
		raises(SIGUSR2);
		raise(SIGUSR1);
	}
}

static void coroutines()
{
	static char stack[65536];

	getcontext(&away);
	away.uc_stack.ss_sp = stack;
	away.uc_stack.ss_size = sizeof(stack);
	makecontext(&away, yields, 0);
	for (int i = 0; i < 10; i++) {
		swapcontext(&home, &away);
		point(9);
		hollow(9);
	}
}

static void print(int fd)
{
	char line[64];

	for (int i = 0; i < 32; i++)
		if (accounts[i].all) {
			int n = snprintf(line, sizeof(line), "%d %d %d %d\n", i, accounts[i].all,
					 accounts[i].outer, accounts[i].other);

			if (write(fd, line, (size_t)n) != n)
				_exit(3);
		}
}

// The child is made in a call of outer's, and comes out of it.
extern "C" APART void forks()
{
	outers = outers + 1;
	pid_t child = fork();

	if (!child)
		memset(accounts, 0, sizeof(accounts));
	point(child ? 10 : 11);
	outers = outers - 1;
	if (child) {
		waitpid(child, nullptr, 0);
		return;
	}
}

static void *runs(void *)
{
	for (int i = 0; i < 1000; i++) {
		outer(1, i % 3);
		other(2);
		point(0);
	}
	return nullptr;
}

static void round()
{
	pthread_t threads[3];
	pid_t self = getpid();

	memset(accounts, 0, sizeof(accounts));
	for (pthread_t &t : threads)
		pthread_create(&t, nullptr, runs, nullptr);
	for (pthread_t &t : threads)
		pthread_join(t, nullptr);
	catches();
	jumps();
	signals();
	coroutines();
	tail(7);
	outers = outers - 1;
	point(7);
	forks();
	if (getpid() != self) {
		point(12);
		outer(12, 1);
	}
	print(1);
	if (getpid() != self)
		_exit(0);
}

int main(int n, char **)
{
	char line[16];

	if (n == 1) {
		round();
		return 0;
	}
	for (;;) {
		if (write(1, ".\n", 2) != 2 || read(0, line, sizeof(line)) <= 0)
			return 0;
		round();
	}
}
