/* SPDX-License-Identifier: MIT */
/* The code of libc around a system call that leads through the agent (agent/libc_calls.h), and the
 * registers that the agent's assembly passes on. The machine's part has:
 *   CALL_REGISTERS         members arg0 to arg5 and number, as they are pushed
 *   CALL_PLAN_REGISTERS    members arg0 to arg3 and number, as they are loaded again
 *   LIBC_CALL_BYTES        bytes of the instructions that a jump to the agent replaces
 *   LIBC_CALL_AGAIN        where behind a jump to the agent libc_call_again stands: the system
 *                          call and a return, for libc_calls.S
 *   LIBC_CALL_ASIDE        bytes of the padding behind a function that such a jump takes, if it
 *                          stands there and a short one in place of the system call leads to it
 *   LIBC_CALL_READ         bytes from the system call on that libc_call_aside() may look at */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "arch/machine.h"

/* True if the system call and the comparison after it stand at `at`, as libc_calls.S does them;
 * then *limit is what the result is compared with. */
static inline bool libc_call_is(const uint8_t *at, int64_t *limit);
/* True if the system call stands at `at`, and a jump of CODE_JUMP_BYTES after it: a probe's. */
static inline bool libc_call_is_probed(const uint8_t *at);
/* Returns how far behind the system call at `at` its function's padding begins; 0: it has no room
 * for a jump, or is out of a short jump's reach. `at`: where the call will run; p: where its bytes
 * can be read; end: the function's. The agent and the tracer ask, and must have one answer. */
static inline unsigned libc_call_aside(const uint8_t *p, uint64_t at, uint64_t end);
/* True for libgcc's _Unwind_GetCFA, all of whose LIBC_GET_CFA_BYTES instructions stand at `at`: a
 * load from its first argument, and a return. */
static inline bool libc_is_get_cfa(const uint8_t *at);
/* True for a function that is a return and nothing else. */
static inline bool libc_is_empty(const uint8_t *at);
/* True if code at a return address is a call of rt_sigreturn. */
static inline bool libc_is_sigreturn(const uint8_t *at);

#include MACHINE_HEADER(libc_calls.h)
