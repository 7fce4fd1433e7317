/* SPDX-License-Identifier: MIT */
/* The kernel's own code for the machine, as its traces and its symbols show it. Constant; any
 * thread. The machine's part has:
 *   KERNEL_CODE_FAULT_USER   the bit of a page fault's error code that says: not in the kernel
 *   KERNEL_CODE_INTERRUPTS   { } of beginnings of names: what an interrupt enters cannot be traced
 *                            there, so these are the first functions that can, and those that
 *                            enclose the handling
 *   KERNEL_CODE_TIMER, KERNEL_CODE_TIMER_OLDER
 *                            the function that handles a processor's timer, and its name in older
 *                            kernels */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(kernel_code.h)
