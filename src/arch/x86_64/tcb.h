/* SPDX-License-Identifier: MIT */
/* glibc's tcbhead_t on x86-64: a pointer to itself at 0 and at 0x10, `multiple_threads` at 0x18,
 * and 64 unused bytes before struct pthread's own fields, the second word of which is the thread's
 * id. Sanitizers rely on the size of this head: it has not changed since 2.4. */
#pragma once

#define TCB_SELF 0x10
#define TCB_MULTIPLE 0x18
#define TCB_GUARD 0x30
#define TCB_FREE 0x280
#define TCB_TID 0x2d0
