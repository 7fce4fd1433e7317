/* SPDX-License-Identifier: MIT */
/* The registers in which a function may return a value, behind its return. For the agent, on the
 * thread that returns: nothing is changed. The machine's part has:
 *   returned_regs_read(r, rax, rdx)  fills in *r; rax, rdx: as they were at the return */
#pragma once
#include "arch/machine.h"
#include "base/prototype.h"
#include MACHINE_HEADER(returned_regs.h)
