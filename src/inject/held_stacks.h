/* SPDX-License-Identifier: MIT */
/* The stacks of a held process: what on them leads into code that is to go, or to change. */
#pragma once
#include "image/maps.h"
#include "tracee/tracee.h"

struct held_range { uint64_t from, to; };

/* Where stubs are, and how far into one a call's return address points. */
struct held_arena { uint64_t begin, end; uint32_t stub_return; };

/* Takes stubs out of thread i's stack: a return address that is a stub's becomes that of the call site
 * it stands for, as if the call had never been followed. Stacks that no thread is on (coroutines) are
 * not found; the stubs themselves stay. Exceptions on their way to a handler get their mark of it moved
 * along, if there may be `exceptions`. The thread is not to be unwinding. */
void held_unstub(struct tracee *t, size_t i, const struct maps *maps, const struct held_arena *arena, bool exceptions);

/* Where GCC's unwinder is: a library's text, or a part of a static program's. */
struct held_unwinder { struct held_range ranges[8]; size_t n; bool in_program; };

/* Is thread i in the midst of unwinding (in GCC's unwinder)? It may have taken a stub for a frame. `patient`:
 * what looks so on the stack of a thread that waits in the kernel is taken for rubbish. */
bool held_is_unwinding(struct tracee *t, size_t i, const struct maps *maps, const struct held_unwinder *u, bool patient);

/* Does a thread stand in one of the ranges, or will it when a signal handler returns? */
bool held_is_inside(struct tracee *t, const struct maps *maps, const struct held_range *ranges, size_t n);
/* Lets threads that stand in the ranges go on until they do not: `rounds` times, each of which costs the whole
 * process about 0.3 ms. False if one still stands there. */
bool held_run_out(struct tracee *t, const struct held_range *ranges, size_t n, unsigned rounds);
/* The same for threads of which `stays` is true. */
bool held_run_on(struct tracee *t, bool (*stays)(const void *context, uint64_t rip), const void *context, unsigned rounds);

/* Calls f for the place where each interrupted signal handler of thread i's stack goes on. */
void held_interrupted(struct tracee *t, size_t i, const struct maps *maps, void (*f)(void *context, uint64_t rip),
		      void *context);
