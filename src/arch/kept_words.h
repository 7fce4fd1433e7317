/* SPDX-License-Identifier: MIT */
/* Words that the agent's assembly keeps on the stack for the C code that it calls, by their index
 * from a stack address that it passes, which is the return address's place. The machine's part has:
 *   KEPT_ARG0, KEPT_ARG1   the function's first two arguments, for agent_slow_nonlocal's C code
 *   KEPT_ARG2, KEPT_ARG5   its third and sixth one, for that of the trampolines of clone
 *   KEPT_HANDLER_INFO, KEPT_HANDLER_CONTEXT
 *                          a handler's second and third argument, for agent/faults.c
 *   KEPT_SCOPE             the address behind the trampoline's scope word, for agent/state.c
 *   KEPT_SLOT              the slot of a record of two words, for agent_record2()
 *   KEPT_RESULT            the returned value, for agent_record_valued() and agent/returned.c
 *   KEPT_SECOND            the second register of a returned value, for returned.c
 *   KEPT_FLOAT             the returned floating-point number, for agent_record_float(), too */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(kept_words.h)
