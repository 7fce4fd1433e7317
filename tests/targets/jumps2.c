/* longjmp and what it leaves: over many frames, out of recursive functions at every depth, out of
 * handlers on the same and on another stack, to one of several places, through a library's frames,
 * and as a way to switch coroutines. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "tree.h"

static jmp_buf buf;
static sigjmp_buf sig_buf;
static long sum;

TRACED static void t_leaf(int n) { ENTER; sum += n; BARRIER(); leave(); }

TRACED static void t_dive(int n, int value)
{
	ENTER;
	if (!n)
		longjmp(buf, value);
	t_leaf(n);
	t_dive(n - 1, value);
	leave();
}

TRACED static int t_catch(int depth)
{
	int at = tree_now->depth + 1, got;

	ENTER;
	got = setjmp(buf);
	if (got) {
		tree_cut(at);
		t_leaf(got);
	} else {
		t_dive(depth, 7);
	}
	leave();
	return got;
}

/* Every level may be jumped to; the frames all look the same. */
static jmp_buf levels[12];
TRACED static void t_level(int n, int to)
{
	int at = tree_now->depth + 1;

	ENTER;
	if (setjmp(levels[n])) {
		tree_cut(at);
		leave();
		return;
	}
	if (n == 11)
		longjmp(levels[to], 1);
	t_level(n + 1, to);
	t_leaf(n);
	leave();
}

/* No call between landing and return. */
TRACED static int t_bare(int n)
{
	int at = tree_now->depth + 1;

	ENTER;
	if (setjmp(buf)) {
		tree_cut(at);
		leave();
		return 1;
	}
	t_dive(n, 1);
	return 0;
}

static int at_handler;
TRACED static void t_handler(int signal)
{
	ENTER;
	t_leaf(signal);
	if (signal == SIGUSR2)
		siglongjmp(sig_buf, 1);
	leave();
}

TRACED static void t_raise(int n, int signal)
{
	ENTER;
	if (n)
		t_raise(n - 1, signal);
	else
		raise(signal);
	leave();
}

TRACED static void t_signals(int signal)
{
	ENTER;
	at_handler = tree_now->depth;
	if (sigsetjmp(sig_buf, 1)) {
		tree_cut(at_handler);
		t_leaf(1);
	} else {
		t_raise(3, signal);
		t_leaf(2);
	}
	leave();
}

TRACED static int t_compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	ENTER;
	if (x == 5)
		longjmp(buf, 5);
	leave();
	return x - y;
}

TRACED static void t_sort(void)
{
	int numbers[] = { 9, 8, 7, 6, 5, 4, 3, 2 }, at = tree_now->depth + 1;

	ENTER;
	if (setjmp(buf))
		tree_cut(at);
	else
		qsort(numbers, 8, sizeof(int), t_compare);
	t_leaf(3);
	leave();
}

/* The compiler's own, with no function to call. */
static void *builtin[5];
TRACED static void t_far(int n)
{
	ENTER;
	if (!n)
		__builtin_longjmp(builtin, 1);
	t_far(n - 1);
	BARRIER();
	leave();
}

TRACED static void t_builtin(void)
{
	static int at;

	ENTER;
	at = tree_now->depth;
	if (__builtin_setjmp(builtin))
		tree_cut(at);
	else
		t_far(4);
	t_leaf(4);
	leave();
}

/* Coroutines by setjmp: two contexts that jump to each other, neither of which ever returns to. */
static jmp_buf here, there;
static struct tree other_tree;
static char other_stack[65536] __attribute__((aligned(16)));

TRACED static void t_ping(int n)
{
	ENTER;
	if (!setjmp(here)) {
		tree_now = &other_tree;
		longjmp(there, n);
	}
	tree_now = &tree_own;
	leave();
}

TRACED static void t_pong(void)
{
	ENTER;
	if (!setjmp(there)) {
		tree_now = &tree_own;
		longjmp(here, 1);
	}
	tree_now = &other_tree;
	leave();
}

static void other(void)
{
	for (;;)
		t_pong();
}

TRACED static void t_first(void)
{
	ENTER;
	if (!setjmp(here)) {
		tree_coroutine(&other_tree);
		tree_now = &other_tree;
		__asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tpush $0\n\tjmp *%1"
				 : : "r"(other_stack + sizeof(other_stack)), "r"(other) : "memory");
	}
	tree_now = &tree_own;
	leave();
}

int main(void)
{
	static char alternate[65536];
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction act = { .sa_handler = t_handler };

	tree_now = &tree_own;
	for (int i = 0; i < 30; i++)
		sum += t_catch(i);
	for (int to = 0; to < 12; to++)
		t_level(0, to);
	for (int i = 0; i < 5; i++)
		sum += t_bare(i);
	for (int stack = 0; stack < 2; stack++) {
		sigaction(SIGUSR1, &act, 0);
		sigaction(SIGUSR2, &act, 0);
		for (int i = 0; i < 3; i++) {
			t_signals(SIGUSR1);
			t_signals(SIGUSR2);
		}
		sigaltstack(&ss, 0);
		act.sa_flags = SA_ONSTACK;
	}
	t_sort();
	t_builtin();
	t_first();
	for (int i = 1; i < 6; i++)
		t_ping(i);
	printf("%ld\n", sum);
	tree_write(getenv("TREE"));
	return 0;
}
