/* SPDX-License-Identifier: MIT */
/* The registers in which a function may return a value, behind its return. For the agent, on the
 * thread that returns: nothing is changed. The machine's part has:
 *   returned_regs_read(r, first, second)  fills in *r; first, second: the registers
 *                                         of a whole number, as they were at the return */
#pragma once
#include "arch/machine.h"
#include "base/prototype.h"
#include MACHINE_HEADER(returned_regs.h)
