/* A library that is loaded, called and unloaded again by loads.c. How often that really happens
 * depends on what the other thread holds at the moment, so it counts itself, where $PLUGIN_COUNTS
 * is set. */
#include "truth.h"

int plugin_answer(int (*back)(int), int n);
static int state;

__attribute__((constructor)) static void plugin_begins(void)
{
	state = 40;
	if (getenv("PLUGIN_COUNTS"))
		truth("plugin_begins", 1);
}

__attribute__((destructor)) static void plugin_ends(void)
{
	state = -1;
	if (getenv("PLUGIN_COUNTS"))
		truth("plugin_ends", 1);
}

__attribute__((noinline, noclone)) static int inner(int n)
{
	__asm__ volatile("");
	return n + state;
}

int plugin_answer(int (*back)(int), int n)
{
	return back(inner(n)) + 1;
}
