/* The stacks of a held process: what on them leads into code that is to go. */
#pragma once
#include "session/maps.h"
#include "tracee/tracee.h"

struct held_range { uint64_t from, to; };

/* Where stubs are, and how far into one a call's return address points. */
struct held_arena { uint64_t begin, end; uint32_t stub_return; };

/* Takes stubs out of the stacks: a return address that is a stub's becomes that of the call site
 * it stands for, as if the call had never been followed. Stacks that no thread is on (coroutines) are not
 * found; the stubs themselves stay. Returns how many words of the arena remain that are no return address. */
size_t held_unstub(struct tracee *t, const struct maps *maps, const struct held_arena *arena);

/* Does a thread stand in one of the ranges, or has it such an address in a register? */
bool held_is_inside(struct tracee *t, const struct held_range *ranges, size_t n);
/* Is there such an address on a stack (a saved register, a signal frame)? */
bool held_stacks_lead(struct tracee *t, const struct maps *maps, const struct held_range *ranges, size_t n);
/* Lets threads that stand in the ranges go on, an instruction at a time, until they do not. */
bool held_step_out(struct tracee *t, const struct held_range *ranges, size_t n);
