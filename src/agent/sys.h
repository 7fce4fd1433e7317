/* SPDX-License-Identifier: MIT */
/* Raw system calls: the agent has no libc. Results are the kernel's (-errno on failure). */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "arch/inside.h"

#define sys6(n, a, b, c, d, e, f) inside_syscall(n, a, b, c, d, e, f)
#define sys0(n) sys6(n, 0, 0, 0, 0, 0, 0)
#define sys1(n, a) sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define sys2(n, a, b) sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(n, a, b, c) sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(n, a, b, c, d) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(n, a, b, c, d, e) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
