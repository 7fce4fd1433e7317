/* How deep a call is, where no return is followed: the name of one function says to brace that this
 * is the OCaml runtime, whose functions may all be called by code that looks at its return address.
 * Levels call each other, push arguments, are left by longjmp; a handler runs. The truth is what is
 * within the first three levels; with the argument `graph`, what level3 is and calls. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "truth.h"

enum { ROUNDS = 200, LEVELS = 6 };
static unsigned long called[LEVELS + 1], handled, many;
static jmp_buf back;

TRACED void caml_call_gc(void)
{
	BARRIER();
}

TRACED void level6(int leave)
{
	called[6]++;
	BARRIER();
	if (leave)
		longjmp(back, 1);
	BARRIER();
}

TRACED void level5(int leave)
{
	called[5]++;
	level6(leave);
	BARRIER();
}

TRACED void level4(int leave)
{
	called[4]++;
	level5(leave);
	level5(leave);
	BARRIER();
}

/* Two of the arguments are pushed, where the return address of the call before stood. */
TRACED long level3_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	many++;
	BARRIER();
	return a + b + c + d + e + f + g + h;
}

TRACED void level3(int leave)
{
	called[3]++;
	level4(0);
	level4(leave);
	BARRIER();
}

TRACED void level2(int i)
{
	called[2]++;
	level3(0);
	level3_many(1, 2, 3, 4, 5, 6, 7, 8);
	level3(i < 0);
	BARRIER();
}

TRACED void level2_left(void)
{
	level3(1);
	BARRIER();
}

TRACED void level1(int i)
{
	called[1]++;
	level2(i);
	if (!setjmp(back))
		level2_left();
	level2(i);
	BARRIER();
}

TRACED void level1_handler(int sig)
{
	(void)sig;
	handled++;
	BARRIER();
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, level1_handler);
	for (int i = 0; i < ROUNDS; i++) {
		level1(i);
		if (i % 8 == 0)
			raise(SIGUSR1);
	}
	if (argc < 2) {
		truth("level1", called[1]);
		truth("level2", called[2]);
		truth("level2_left", ROUNDS);
		truth("level3", called[3]);
		truth("level3_many", many);
		truth("level1_handler", handled);
	} else if (!strcmp(argv[1], "graph")) {
		truth("level3", called[3]);
		truth("level4", called[4]);
		truth("level5", called[5]);
		truth("level6", called[6]);
	}
	printf("%lu %lu\n", called[6], many);
	return 0;
}
