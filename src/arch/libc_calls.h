/* SPDX-License-Identifier: MIT */
/* The code of libc around a system call that leads through the agent (agent/libc_calls.h), and the
 * registers that the agent's assembly passes on. The machine's part has:
 *   CALL_REGISTERS         members arg0 to arg5 and number, as they are pushed
 *   CALL_PLAN_REGISTERS    members arg0 to arg3 and number, as they are loaded again
 *   LIBC_CALL_BYTES        bytes of the instructions that a jump to the agent replaces
 *   LIBC_CALL_AGAIN        where behind that jump libc_call_again, which has the rest of these
 *                          bytes, is written: the system call and a return, for libc_calls.S */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"

/* True if the system call and the comparison after it stand at `at`, as libc_calls.S does them;
 * then *limit is what the result is compared with. */
static inline bool libc_call_is(const uint8_t *at, int64_t *limit);
/* True for libgcc's _Unwind_GetCFA, all of whose LIBC_GET_CFA_BYTES instructions stand at `at`: a
 * load from its first argument, and a return. */
static inline bool libc_is_get_cfa(const uint8_t *at);
/* True for a function that is a return and nothing else. */
static inline bool libc_is_empty(const uint8_t *at);
/* True if code at a return address is a call of rt_sigreturn. */
static inline bool libc_is_sigreturn(const uint8_t *at);

#include MACHINE_HEADER(libc_calls.h)
