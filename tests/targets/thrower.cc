// The library half of exceptions.cc: throws through its own frames into the program's.
#include "thrower.h"

static int alive;

struct Guard {
	Guard() { alive++; }
	~Guard() { alive--; }
};

__attribute__((noinline)) static int inner(int depth, int (*back)(int))
{
	Guard g;
	if (depth)
		return inner(depth - 1, back) + 1;
	return back(depth);
}

int library_call(int depth, int (*back)(int))
{
	Guard g;
	return inner(depth, back);
}

int library_alive() { return alive; }
