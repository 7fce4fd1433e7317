/* SPDX-License-Identifier: MIT */
/* The stacks of a stopped process: addresses on them that lead into code that is to go, or to
 * change. */
#pragma once
#include "image/maps.h"
#include "tracee/tracee.h"

struct stopped_range { uint64_t from, to; };

/* The stretch of stubs, and how far into a stub a call's return address points. */
struct stopped_arena { uint64_t begin, end; uint32_t stub_return; };

/* Takes stubs out of thread i's stack: a return address that is a stub's becomes the return address
 * of the call that it stands for, as if the call had never been followed. Stacks that no thread is
 * on (coroutines) are not found; the stubs themselves stay. If there may be `exceptions` under way,
 * the mark of their handlers is moved along. The thread must not be unwinding. */
void stopped_unstub(struct tracee *t, size_t i, const struct maps *maps,
		    const struct stopped_arena *arena, bool exceptions);

/* The text of GCC's unwinder: a library's, or a part of a static program's. */
struct stopped_unwinder { struct stopped_range ranges[8]; size_t n; bool in_program; };

/* Whether thread i is in the midst of unwinding (in GCC's unwinder), and may have taken a stub for
 * a frame. `patient`: an address on the stack of a thread that waits in the kernel does not count,
 * it is taken for a remnant. */
bool stopped_is_unwinding(struct tracee *t, size_t i, const struct maps *maps,
			  const struct stopped_unwinder *u, bool patient);

/* Whether a thread stands in one of the ranges, or will when a signal handler returns. */
bool stopped_is_inside(struct tracee *t, const struct maps *maps,
		       const struct stopped_range *ranges, size_t n);
/* Lets threads that stand in the ranges run until they do not: `rounds` times, each of which costs
 * the whole process about 0.3 ms. False if one still stands there. */
bool stopped_run_out(struct tracee *t, const struct stopped_range *ranges, size_t n,
		     unsigned rounds);
/* Works like stopped_run_out, for threads of which `stays` is true. */
bool stopped_run_on(struct tracee *t, bool (*stays)(const void *context, uint64_t pc),
		    const void *context, unsigned rounds);

/* Calls f with the address at which each interrupted signal handler's frame on thread i's stack
 * goes on. */
void stopped_interrupted(struct tracee *t, size_t i, const struct maps *maps,
			 void (*f)(void *context, uint64_t pc), void *context);
