/* Emits an event of the program's from a shared library, which has nops and a state of its own. */
#include "events_def.h"

void emit_from_library(long n);

void emit_from_library(long n)
{
	brace_truth_tick(n, RED, 1000);
}
