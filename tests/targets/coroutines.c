/* Coroutines of every make: swapcontext; a hand-written switch, with generators that are suspended
 * at the same place, that move from thread to thread, and whose stacks lie in an array in main's
 * own frame; jumps in Boost.Context's manner that never come back from a finished one; a switch
 * inlined into a C function. */
#include <string.h>
#include <ucontext.h>

#include "tree.h"

#define STACK 32768

void switch_to(void **from, void *to);
struct jumped { void *from, *value; };
struct jumped jump(void *to, void *value);

struct co {
	struct tree tree;
	void *sp, *back;         /* where it is suspended; who resumed it */
	struct tree *back_tree;
	int value, over;
	char *stack;
};
static long sum;

/* --- by hand ------------------------------------------------------------------ */

static void co_yield(struct co *c)
{
	tree_now = c->back_tree;
	switch_to(&c->sp, c->back);
}

TRACED static int t_resume(struct co *c)
{
	ENTER;
	c->back_tree = tree_now;
	tree_now = &c->tree;
	switch_to(&c->back, c->sp);
	leave();
	return c->value;
}

TRACED static void t_give(struct co *c, int value)
{
	ENTER;
	c->value = value;
	co_yield(c);
	leave();
}

TRACED static void t_walk(struct co *c, int depth)
{
	ENTER;
	if (depth)
		t_walk(c, depth - 1);
	t_give(c, depth);
	if (depth)
		t_walk(c, depth - 1);
	leave();
}

static void start(void);
TRACED static void t_generator(struct co *c)
{
	ENTER;
	t_walk(c, 2);
	c->over = 1;
	leave();
}

static __thread struct co *starting;
static void start(void)
{
	struct co *c = starting;

	t_generator(c);
	for (;;)
		co_yield(c);
}

static void co_make(struct co *c, char *stack, void (*entry)(void))
{
	void **top = (void **)(stack + STACK - 64);

	memset(c, 0, sizeof(*c));
	c->stack = stack;
	*--top = 0;
	*--top = (void *)entry;
	top -= 6;
	memset(top, 0, 48);
	c->sp = top;
	tree_coroutine(&c->tree);
}

static int co_next(struct co *c)
{
	starting = c;
	return t_resume(c);
}

/* Two that stand at the same place, resumed in turn; and their stacks used again. */
TRACED static void t_twins(char *first, char *second)
{
	struct co a, b;

	ENTER;
	for (int round = 0; round < 2; round++) {
		co_make(&a, first, start);
		sum += co_next(&a);
		co_make(&b, second, start);
		sum += co_next(&b);
		for (int i = 0; !a.over || !b.over; i++)
			sum += co_next(i % 3 ? &a : &b) * i;
	}
	leave();
}

/* --- from thread to thread ---------------------------------------------------- */

static struct co travellers[3];
static int turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

TRACED static void t_step(int i) { ENTER; sum += co_next(&travellers[i % 3]); leave(); }

static void *rider(void *arg)
{
	int me = arg != 0;

	for (int i = 0; i < 24; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 2 != me)
			pthread_cond_wait(&moved, &lock);
		t_step(turn);
		turn++;
		pthread_cond_broadcast(&moved);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

static void travel(void)
{
	pthread_t other;

	for (int i = 0; i < 3; i++) { /* each begins at once: they are numbered in this order */
		co_make(&travellers[i], malloc(STACK), start);
		co_next(&travellers[i]);
	}
	pthread_create(&other, 0, rider, &sum);
	rider(0);
	pthread_join(other, 0);
}

/* --- by jumps ----------------------------------------------------------------- */

static struct tree jump_tree;
static struct tree *home_tree;

TRACED static void t_leaf(void) { ENTER; BARRIER(); leave(); }

TRACED static struct jumped t_hop(struct jumped j)
{
	ENTER;
	t_leaf();
	tree_now = home_tree;
	j = jump(j.from, j.value);
	leave();
	return j;
}

/* Entered by a jump: %rdi where from, %rdx value. */
static void hopper(void *from, void *unused, void *value)
{
	struct jumped j = { from, value };

	for (int i = 0; i < 5; i++)
		j = t_hop(j);
	tree_now = home_tree;
	jump(j.from, 0); /* never to come back */
	__builtin_trap();
}

static void *jump_make(char *stack)
{
	char *top = (char *)((uintptr_t)(stack + STACK) & ~(uintptr_t)15) - 0x48;

	memset(top, 0, 0x40);
	__asm__("stmxcsr %0\n\tfnstcw %1" : "=m"(*(int *)top), "=m"(*(short *)(top + 4)));
	*(void **)(top + 0x38) = (void *)hopper;
	return top;
}

TRACED static void t_jumps(char *stack)
{
	struct jumped j = { jump_make(stack), 0 };

	ENTER;
	tree_coroutine(&jump_tree);
	home_tree = tree_now;
	for (int i = 0; i < 6; i++) {
		tree_now = &jump_tree;
		j = jump(j.from, &j);
		t_leaf();
	}
	leave();
}

/* --- by libc ------------------------------------------------------------------- */

static ucontext_t main_context, contexts[3];
static struct tree context_trees[3];

TRACED static void t_swap(ucontext_t *from, struct tree *from_tree, ucontext_t *to, struct tree *to_tree)
{
	ENTER;
	tree_now = to_tree;
	swapcontext(from, to);
	tree_now = from_tree;
	leave();
}

TRACED static void t_deep(int me, int depth)
{
	ENTER;
	if (depth)
		t_deep(me, depth - 1);
	else
		t_swap(&contexts[me], &context_trees[me], &main_context, &tree_own);
	leave();
}

TRACED static void t_context(int me)
{
	ENTER;
	for (int i = 0; i < 4; i++)
		t_deep(me, i);
	tree_cut(0);
	tree_now = &tree_own;
}

TRACED static void t_contexts(void)
{
	ENTER;
	for (int i = 0; i < 3; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK);
		contexts[i].uc_stack.ss_size = STACK;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))t_context, 1, i);
		tree_coroutine(&context_trees[i]);
	}
	for (int round = 0; round < 5; round++)
		for (int i = 0; i < 3; i++)
			t_swap(&main_context, &tree_own, &contexts[i], &context_trees[i]);
	leave();
}

/* --- a switch in the middle of a C function ------------------------------------------------ */

TRACED static void t_inline(struct co *c)
{
	ENTER;
	t_leaf();
	c->back_tree = tree_now;
	tree_now = &c->tree;
	__asm__ volatile("push %%rbp\n\tpush %%rbx\n\t"
			 "lea 1f(%%rip), %%rax\n\tpush %%rax\n\t"
			 "mov %%rsp, (%0)\n\tmov (%1), %%rsp\n\tret\n"
			 "1:\tpop %%rbx\n\tpop %%rbp"
			 : : "D"(&c->back), "S"(&c->sp)
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
	t_leaf();
	leave();
}

TRACED static void t_inner(struct co *c)
{
	ENTER;
	t_leaf();
	tree_now = c->back_tree;
	__asm__ volatile("push %%rbp\n\tpush %%rbx\n\t"
			 "lea 1f(%%rip), %%rax\n\tpush %%rax\n\t"
			 "mov %%rsp, (%0)\n\tmov (%1), %%rsp\n\tret\n"
			 "1:\tpop %%rbx\n\tpop %%rbp"
			 : : "D"(&c->sp), "S"(&c->back)
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
	t_leaf();
	leave();
}

static struct co inlined;
static void inline_start(void)
{
	for (;;)
		t_inner(&inlined);
}

TRACED static void t_inlines(char *stack)
{
	void **top = (void **)(stack + STACK - 64);

	ENTER;
	*--top = 0;
	*--top = (void *)inline_start;
	inlined.sp = top;
	tree_coroutine(&inlined.tree);
	for (int i = 0; i < 4; i++)
		t_inline(&inlined);
	leave();
}

int main(void)
{
	char stacks[3][STACK];

	tree_now = &tree_own;
	t_twins(stacks[0], stacks[1]);
	travel();
	t_jumps(stacks[2]);
	t_contexts();
	t_inlines(malloc(STACK));
	printf("%ld\n", sum);
	tree_write(getenv("TREE"));
	return 0;
}
