/* Functions that return twice, of every make: a pair written by hand, the compiler's own, contexts,
 * vfork; and gotos out of nested functions, which drop frames without a function's help. */
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "truth.h"

enum { ROUNDS = 500 };

/* A setjmp of our own: it keeps what a caller expects to find again, and its own return address
 * with it. */
struct place { long registers[8]; };
int keep_place(struct place *) __attribute__((returns_twice));
_Noreturn void go_to_place(const struct place *, int);
__asm__(".text\n.globl keep_place\n.type keep_place, @function\nkeep_place:\n"
	"	mov (%rsp), %rax; mov %rax, (%rdi); lea 8(%rsp), %rax; mov %rax, 8(%rdi)\n"
	"	mov %rbx, 16(%rdi); mov %rbp, 24(%rdi); mov %r12, 32(%rdi)\n"
	"	mov %r13, 40(%rdi); mov %r14, 48(%rdi); mov %r15, 56(%rdi)\n"
	"	xor %eax, %eax\n	ret\n.size keep_place, . - keep_place\n"
	".globl go_to_place\n.type go_to_place, @function\ngo_to_place:\n"
	"	mov 16(%rdi), %rbx; mov 24(%rdi), %rbp; mov 32(%rdi), %r12\n"
	"	mov 40(%rdi), %r13; mov 48(%rdi), %r14; mov 56(%rdi), %r15\n"
	"	mov %esi, %eax; mov 8(%rdi), %rsp; jmp *(%rdi)\n.size go_to_place, . - go_to_place\n");

static struct place place;
static void *builtin_place[5];
static ucontext_t context;

TRACED static long leaf(long n) { BARRIER(); return n * 3 + 1; }

TRACED static void dive(int n)
{
	if (!n)
		go_to_place(&place, 9);
	dive(n - 1);
	BARRIER();
}

TRACED static long by_hand(int depth)
{
	volatile long sum = 0;
	int again = keep_place(&place);

	sum += leaf(again);
	if (again != 9)
		dive(depth);
	return sum;
}

TRACED static void builtin_dive(int n)
{
	if (!n)
		__builtin_longjmp(builtin_place, 1);
	builtin_dive(n - 1);
	BARRIER();
}

TRACED static long by_builtin(int depth)
{
	volatile long sum = depth;

	if (__builtin_setjmp(builtin_place) == 0)
		builtin_dive(depth);
	sum += leaf(1);
	return sum;
}

TRACED static void context_dive(int n)
{
	if (!n)
		setcontext(&context);
	context_dive(n - 1);
	BARRIER();
}

TRACED static long by_context(int times)
{
	volatile long sum = 0, n = 0;

	getcontext(&context);
	sum += leaf(n);
	if (n++ < times)
		context_dive((int)n);
	return sum;
}

TRACED static long by_vfork(int n)
{
	int status = 0;
	pid_t child = vfork();

	if (!child)
		_exit(n % 100);
	require(waitpid(child, &status, 0) == child, "waitpid");
	return leaf(WEXITSTATUS(status));
}

/* The nested function's goto ends it, `between` and every level of it. */
TRACED static void between(int n, void (*at_end)(int))
{
	if (n)
		between(n - 1, at_end);
	else
		at_end(n);
	BARRIER();
}

TRACED static long by_goto(int depth)
{
	__label__ out;
	volatile long sum = depth;
	__attribute__((noinline)) void nested(int n) { sum += leaf(n); goto out; }

	between(depth, nested);
	sum = -1;
out:
	return leaf(sum);
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		sum = sum * 5 + by_hand(i % 20);
		sum = sum * 5 + by_builtin(i % 20);
		sum = sum * 5 + by_context(i % 5);
		sum = sum * 5 + by_goto(i % 20);
		if (i % 10 == 0)
			sum = sum * 5 + by_vfork(i);
	}
	printf("%ld\n", sum);
	truth("by_hand", ROUNDS);
	truth("by_builtin", ROUNDS);
	truth("by_context", ROUNDS);
	truth("by_goto", ROUNDS);
	truth("by_vfork", ROUNDS / 10);
	truth("dive", ROUNDS / 20 * 210);
	truth("builtin_dive", ROUNDS / 20 * 210);
	truth("between", ROUNDS / 20 * 210);
	truth("leaf", ROUNDS * (2 + 1 + 3 + 2) + ROUNDS / 10);
	return 0;
}
