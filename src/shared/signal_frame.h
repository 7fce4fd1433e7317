/* SPDX-License-Identifier: MIT */
/* For C and assembly: the frame that the kernel makes for a signal's handler. Above the return address stands the ucontext, to which the
 * third argument points, and right after it the siginfo, to which the second one does. */
#pragma once
#define SIGNAL_CONTEXT_BYTES 304 /* the kernel's struct ucontext; tracee/sigframe.c holds it against the C library's */
