/* Coroutines over a switch that no symbol table and no unwind information describes (untyped.S): in
 * the program, or in a library that it calls through its PLT. SWITCH is its name. The account of
 * all calls is tests/targets/tree.h's. */
#include "tree.h"

#define FIBERS 3
#define ROUNDS 5
#define STACK 8192 /* words */

void SWITCH(void **from, void **to);

struct fiber {
	struct tree calls;
	void *at;
	void *stack[STACK];
};
static struct fiber fibers[FIBERS], *running;
static void *main_at;

TRACED void t_work(int n)
{
	ENTER;
	BARRIER();
	leave();
}

TRACED void t_yield(int n)
{
	struct fiber *f = running;

	ENTER;
	if (n > 0) {
		t_yield(n - 1);
	} else {
		tree_now = &tree_own;
		SWITCH(&f->at, &main_at);
	}
	leave();
}

TRACED void t_resume(struct fiber *f)
{
	ENTER;
	running = f;
	tree_now = &f->calls;
	SWITCH(&main_at, &f->at);
	leave();
}

TRACED void t_body(void)
{
	ENTER;
	for (int i = 0;; i++) {
		t_work(i);
		t_yield(i % 3);
	}
}

__attribute__((unused)) static void finished(void)
{
	require(0, "no fiber ends");
}

#ifndef BOTTOM
#define BOTTOM (void *)finished
#endif

/* As if it had been left in a switch, to whose end six registers are popped. */
static void make(struct fiber *f)
{
	void **sp = f->stack + STACK;

	*--sp = BOTTOM; /* where t_body would return to */
	*--sp = (void *)t_body;
	f->at = sp - 6;
	tree_coroutine(&f->calls);
}

int main(void)
{
	for (int i = 0; i < FIBERS; i++)
		make(&fibers[i]);
	for (int i = 0; i < ROUNDS * FIBERS; i++) {
		t_resume(&fibers[i % FIBERS]);
		t_work(i);
	}
	tree_write(getenv("TREE"));
	return 0;
}
