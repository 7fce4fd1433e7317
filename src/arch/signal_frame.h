/* SPDX-License-Identifier: MIT */
/* The frame that the kernel makes for a signal's handler. The machine's part, which assembly
 * includes, too, says how it lies, and has:
 *   SIGNAL_CONTEXT_BYTES   of struct ucontext in it */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(signal_frame.h)
