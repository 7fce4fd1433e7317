/* SPDX-License-Identifier: MIT */
/* arch/signal_frame.h for x86-64, for C and assembly. From low addresses to high: the return
 * address, the ucontext (the handler's third argument points to it), the siginfo (its second
 * argument). */
#pragma once
/* struct ucontext; arch/x86_64/sigframe.c compares it with libc's */
#define SIGNAL_CONTEXT_BYTES 304
#define SIGNAL_CONTEXT_AT 8
#define SIGNAL_INFO_AT (SIGNAL_CONTEXT_AT + SIGNAL_CONTEXT_BYTES)
