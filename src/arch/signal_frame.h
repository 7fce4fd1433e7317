/* SPDX-License-Identifier: MIT */
/* The frame that the kernel makes for a signal's handler. The machine's part, which assembly
 * includes, too, says how it lies, and has:
 *   SIGNAL_CONTEXT_BYTES   of struct ucontext in it
 *   SIGNAL_CONTEXT_AT, SIGNAL_INFO_AT
 *                          bytes from the handler's entry (arch/entry.h) to struct ucontext, and to
 *                          struct siginfo */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(signal_frame.h)
