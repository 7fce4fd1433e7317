/* Functions shorter than a jump with no padding behind them, called in every way that a compiler
 * calls: directly, by tail calls of both kinds, from the first bytes of a hooked function, through
 * a pointer, recursively. Counts its calls.
 *   getters         a fixed number of calls; a forked child makes as many
 *   getters spin    threads that call until SIGTERM; prints "right" if every result was */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "truth.h"

enum { ROUNDS = 1000, THREADS = 2 };
struct box { int a, b, c; };

#define FUNCTION(name, body) \
	".globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" body ".cfi_endproc\n.size " #name ", .-" #name "\n"

int get_a(const struct box *b), get_b(const struct box *b), get_c(const struct box *b), by_pointer(const struct box *b);
int nothing(const struct box *b), begins_with_call(const struct box *b), tail(const struct box *b), near_tail(const struct box *b);
int by_condition(const struct box *b), down(const struct box *b, int n), guarded(const struct box *b), after_all(const struct box *b);

__asm__(".text\n"
	FUNCTION(get_a, "\tmov (%rdi), %eax\n\tret\n")
	FUNCTION(get_b, "\tmov 4(%rdi), %eax\n\tret\n")
	FUNCTION(get_c, "\tmov 8(%rdi), %eax\n\tret\n")
	FUNCTION(by_pointer, "\tmov 8(%rdi), %eax\n\tret\n")
	FUNCTION(nothing, "\tret\n")
	FUNCTION(begins_with_call, "\tcall get_b\n\tadd $1, %eax\n\tret\n")
	/* The assembler would make short ones. */
	FUNCTION(tail, "\tadd $0, %rdi\n\t.byte 0xe9\n\t.long get_b - . - 4\n")
	FUNCTION(by_condition, "\ttest %rdi, %rdi\n\tlea (%rdi), %rdi\n\t.byte 0x0f, 0x85\n\t.long get_a - . - 4\n\tret\n")
	FUNCTION(near_tail, "\tadd $0, %rdi\n\tnop\n\tjmp 1f\n1:\tjmp get_c\n\tnop\n\tnop\n\tnop\n")
	/* A loop to its second byte, and it calls itself. */
	FUNCTION(down, "\tnop\n1:\ttest %esi, %esi\n\tje 2f\n\tdec %esi\n\tpush %rdi\n\t.cfi_adjust_cfa_offset 8\n"
		 "\tcall down\n\tpop %rdi\n\t.cfi_adjust_cfa_offset -8\n\txor %esi, %esi\n\tjmp 1b\n2:\tmov (%rdi), %eax\n\tret\n")
	/* Five bytes behind a jump to which nothing leads: they would be a call. */
	FUNCTION(guarded, "\tmov (%rdi), %eax\n\tlea (%rax), %eax\n\tret\n\tcall get_c\n\tret\n")
	FUNCTION(after_all, "\tlea (%rdi), %rdi\n\tlea (%rdi), %rdi\n\tmov (%rdi), %eax\n\tret\n"));

static volatile sig_atomic_t ends;
static int (*volatile pointer)(const struct box *) = by_pointer;

static void on_term(int signal)
{
	ends = 1;
}

TRACED int round_of(const struct box *b)
{
	int sum = get_a(b) + get_b(b) + get_c(b);

	nothing(b);
	sum += begins_with_call(b) + tail(b) + by_condition(b) + near_tail(b) + down(b, 3) + guarded(b) + after_all(b);
	sum += pointer(b) + by_pointer(b);
	BARRIER();
	return sum;
}

static int is_right(int i)
{
	struct box b = { i, i + 1, i + 2 };

	return round_of(&b) == 5 * b.a + 3 * b.b + 4 * b.c + 1;
}

static void *spin(void *argument)
{
	long wrong = 0;

	for (int i = 0; !ends; i = (i + 1) % 1000)
		wrong += !is_right(i);
	return (void *)wrong;
}

static int run_on(void)
{
	pthread_t threads[THREADS];
	long wrong = 0;

	signal(SIGTERM, on_term);
	for (int i = 0; i < THREADS; i++)
		require(pthread_create(&threads[i], NULL, spin, NULL) == 0, "a thread");
	puts("runs");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		wrong += (long)result;
	}
	puts(wrong ? "wrong" : "right");
	return wrong != 0;
}

static void rounds(void)
{
	for (int i = 0; i < ROUNDS; i++)
		require(is_right(i), "the sum");
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "spin") == 0)
		return run_on();
	rounds();
	if (argc > 1)
		return 0;
	child = fork();
	if (child == 0) {
		rounds();
		return 0;
	}
	require(waitpid(child, &status, 0) == child && status == 0, "the child");
	truth("get_a", 4 * ROUNDS);
	truth("get_b", 6 * ROUNDS);
	truth("nothing", 2 * ROUNDS);
	truth("down", 8 * ROUNDS);
	puts("counted");
	return 0;
}
