// Exceptions, with an account of every call: through recursive frames, rethrown, nested in destructors, with
// landing pads that call; forced unwinding by pthread_exit and pthread_cancel; std::terminate in a
// child; C++20 coroutines, which have no stack of their own.
#include <coroutine>
#include <exception>
#include <stdexcept>
#include <sys/wait.h>

extern "C" {
#include "tree.h"

// Ends the account of a call, however it ends.
struct Call {
	__attribute__((always_inline)) explicit Call(const char *name) { enter(name); }
	__attribute__((always_inline)) ~Call() { leave(); }
};
#define CALL Call call(__func__)

static long sum;
TRACED static void t_leaf(int n) { CALL; sum += n; BARRIER(); }
TRACED static void t_destroy(int n) { CALL; t_leaf(n); }

struct Noisy {
	int n;
	~Noisy() { t_destroy(n); }
};

TRACED static void t_throw(int n) { CALL; t_leaf(n); throw n; }

TRACED static void t_recurse(int n)
{
	CALL;
	if (!n)
		t_throw(3);
	t_recurse(n - 1);
	BARRIER();
}

TRACED static void t_noisy(int n)
{
	CALL;
	Noisy noisy{n};
	if (!n)
		t_throw(4);
	t_noisy(n - 1);
	BARRIER();
}

TRACED static void t_rethrow(int n)
{
	CALL;
	try {
		if (n)
			t_rethrow(n - 1);
		else
			t_throw(5);
	} catch (int) {
		t_leaf(n);
		throw;
	}
}

// Throws and catches while another exception is on its way.
struct Busy {
	~Busy()
	{
		try {
			t_recurse(2);
		} catch (int n) {
			t_leaf(n);
		}
	}
};
TRACED static void t_busy(int n)
{
	CALL;
	Busy busy;
	if (!n)
		t_throw(6);
	t_busy(n - 1);
}

TRACED static void t_nested(void)
{
	CALL;
	try {
		try {
			t_noisy(2);
		} catch (const std::runtime_error &) {
			t_leaf(0);
		}
	} catch (int n) {
		t_leaf(n);
		try {
			t_recurse(1);
		} catch (int m) {
			t_leaf(m);
		}
	}
}

// The caught exception is the last thing before the return: no call in between.
TRACED static int t_quiet(int n)
{
	CALL;
	try {
		t_recurse(n);
	} catch (...) {
	}
	return n;
}

TRACED static void t_exit(int n)
{
	CALL;
	Noisy noisy{n};
	if (!n)
		pthread_exit(0);
	t_exit(n - 1);
	BARRIER();
}

TRACED static void t_wait(int n)
{
	CALL;
	Noisy noisy{n};
	if (!n)
		for (;;)
			pause();
	t_wait(n - 1);
	BARRIER();
}

static void *exits(void *) { t_exit(3); return 0; }
static void *waits(void *) { t_wait(3); return 0; }

static void threads(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, exits, 0);
	pthread_join(thread, 0);
	pthread_create(&thread, 0, waits, 0);
	pthread_cancel(thread);
	pthread_join(thread, 0);
}

TRACED static void t_no(int n) noexcept { CALL; t_throw(n); }
}

static void terminates()
{
	pid_t child = fork();
	int status;

	if (!child) {
		std::set_terminate([] { _exit(7); });
		t_no(1);
	}
	waitpid(child, &status, 0);
	require(WEXITSTATUS(status) == 7, "the child terminates");
}

// A generator: its body is a function that is called to resume it.
struct Numbers {
	struct promise_type {
		int value;
		Numbers get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v) { value = v; return {}; }
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> handle;
};

static Numbers numbers(int n)
{
	for (int i = 0; i < n; i++) {
		t_leaf(i);
		co_yield i;
	}
	t_recurse(2);
}

extern "C" {
TRACED static void t_next(Numbers *n) { CALL; n->handle.resume(); }
}

static void stackless()
{
	Numbers a = numbers(3), b = numbers(2);

	for (int i = 0; i < 2; i++) {
		t_next(&a);
		t_next(&b);
	}
	try {
		t_next(&b);
	} catch (int n) {
		t_leaf(n);
	}
	t_next(&a);
	a.handle.destroy();
	b.handle.destroy();
}

int main()
{
	tree_now = &tree_own;
	for (int i = 0; i < 8; i++) {
		try {
			i % 2 ? t_noisy(i) : t_recurse(i);
		} catch (int n) {
			t_leaf(n);
		}
		try {
			i % 2 ? t_rethrow(i) : t_busy(i % 3);
		} catch (int n) {
			t_leaf(n);
		}
		sum += t_quiet(i);
		t_nested();
	}
	threads();
	stackless();
	terminates();
	printf("%ld\n", sum);
	tree_write(getenv("TREE"));
}
