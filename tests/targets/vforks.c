/* Children that run in their parent's memory until they execute or end: vfork, the system call of
 * that name, clone with the same flags on a stack of its own, posix_spawn; one in another, in
 * several threads, with functions called on either side. The account of all calls is
 * tests/targets/tree.h's. A child's are on a stack of its own. */
#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "tree.h"

#define THREADS 3
#define ROUNDS 8
#define STACK 65536

extern char **environ;

TRACED void t_leaf(int n)
{
	ENTER;
	BARRIER();
	leave();
}

TRACED void t_deep(int n)
{
	ENTER;
	if (n > 0)
		t_deep(n - 1);
	t_leaf(n);
	leave();
}

TRACED void t_nothing(void)
{
	ENTER;
	leave();
}

/* The work of a child, whose stack of calls begins here. */
TRACED void t_child(int n)
{
	ENTER;
	t_deep(n);
	leave();
}

static void begin_child(struct tree *t)
{
	*t = (struct tree){ 0 };
	tree_now = t;
}

static void waited(pid_t pid)
{
	int status;

	tree_now = &tree_own;
	require(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's end");
}

TRACED void t_executes(int n)
{
	static __thread struct tree child;
	pid_t pid;

	ENTER;
	pid = vfork();
	if (!pid) {
		begin_child(&child);
		t_child(n);
		execl("/nonexistent", "none", NULL);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	tree_now = &tree_own;
	t_leaf(n);
	waited(pid);
	leave();
}

TRACED void t_ends(int n)
{
	static __thread struct tree child;
	pid_t pid;

	ENTER;
	t_deep(1);
	pid = vfork();
	if (!pid) {
		begin_child(&child);
		t_child(n);
		_exit(0);
	}
	tree_now = &tree_own;
	t_deep(n);
	waited(pid);
	leave();
}

/* Its child has one too, in the same memory. */
TRACED void t_nested(int n)
{
	static __thread struct tree child, grandchild;
	pid_t pid, inner;
	int status;

	ENTER;
	pid = vfork();
	if (!pid) {
		begin_child(&child);
		t_leaf(n);
		inner = vfork();
		if (!inner) {
			begin_child(&grandchild);
			t_child(n);
			_exit(0);
		}
		tree_now = &child;
		t_child(n);
		_exit(waitpid(inner, &status, 0) != inner);
	}
	tree_now = &tree_own;
	t_leaf(n);
	waited(pid);
	leave();
}

/* The instruction itself. No memory below the stack pointer is the parent's. */
TRACED void t_by_instruction(int n)
{
	static __thread struct tree child;
	long pid = SYS_vfork;

	ENTER;
	t_leaf(n);
	__asm__ volatile("syscall" : "+a"(pid) : : "rcx", "r11", "memory");
	if (!pid) {
		begin_child(&child);
		t_child(n);
		_exit(0);
	}
	tree_now = &tree_own;
	t_deep(n);
	waited((pid_t)pid);
	leave();
}

static int on_its_stack(void *child)
{
	begin_child(child);
	t_child(2);
	_exit(0);
}

TRACED void t_by_clone(int (*clones)(int (*)(void *), void *, int, void *, ...))
{
	static __thread struct tree child;
	char *stack = malloc(STACK);
	pid_t pid;

	ENTER;
	pid = clones(on_its_stack, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
	tree_now = &tree_own;
	t_leaf(0);
	waited(pid);
	free(stack);
	leave();
}

TRACED void t_spawns(int n)
{
	char *argv[] = { "true", NULL };
	pid_t pid;

	ENTER;
	require(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ), "posix_spawn");
	t_leaf(n);
	waited(pid);
	leave();
}

TRACED void t_all(int n)
{
	/* who imports clone starts threads itself, as far as brace knows */
	int (*clones)(int (*)(void *), void *, int, void *, ...) = dlsym(RTLD_DEFAULT, "clone");

	ENTER;
	t_executes(n);
	t_ends(n);
	t_nested(n);
	t_by_instruction(n);
	t_by_clone(clones);
	t_spawns(n);
	t_nothing();
	leave();
}

static void *in_thread(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		t_all(i % 3);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	in_thread(NULL);
	for (int i = 0; i < THREADS; i++)
		require(!pthread_create(&t[i], NULL, in_thread, NULL), "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	t_leaf(0);
	tree_write(getenv("TREE"));
	return 0;
}
