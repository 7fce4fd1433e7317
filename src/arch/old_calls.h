/* SPDX-License-Identifier: MIT */
/* System calls that Linux has on some machines only: later ones do without them, because another
 * call does the same with one argument more (openat, clone, ppoll). No other folder names one:
 * tools/check-layers. The machine's part has:
 *   OLD_CALLS_FORKS(X)  rows X(name) of calls besides clone and clone3 that make a process
 *   OLD_CALLS_WAITING   numbers of those that end with EINTR because a thread was stopped, each
 *                       followed by a comma; may be empty
 *   OLD_CALLS_STARTING  likewise those that a C library may make before it has a thread pointer
 *   OLD_CALL_STAT, _READLINK, _ACCESS   the number of the call by which the agent does this with a
 *                       path, and OLD_CALL_..._ARGS(path, ...) the call's arguments
 * inside.h makes the last three. */
#pragma once
#include <asm/unistd.h>
#include <stdbool.h>

#include "arch/machine.h"

/* True for the call that suspends its thread until the child, which borrows the memory, is done. */
static inline bool old_calls_is_vfork(long number);

#include MACHINE_HEADER(old_calls.h)

/* True for each call that makes a thread or a process. */
static inline bool old_calls_makes_task(long number)
{
#define OLD_CALLS_IS(name) number == __NR_##name ||
	return OLD_CALLS_FORKS(OLD_CALLS_IS) number == __NR_clone || number == __NR_clone3;
#undef OLD_CALLS_IS
}
