/* SPDX-License-Identifier: MIT */
/* glibc's control block of a thread, at its thread pointer: the fields by which it is recognised,
 * and bytes that are free. Offsets from the thread pointer; the machine's part has them:
 *   TCB_SELF       the thread pointer once more, as at 0
 *   TCB_MULTIPLE   0 or 1
 *   TCB_FREE       bytes that glibc does not use, 64 of them
 *   TCB_TID        the thread's id, 32 bits
 *   TCB_GUARD      the number that addresses in a jmp_buf are mixed with */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(tcb.h)
