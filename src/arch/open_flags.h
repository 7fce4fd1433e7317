/* SPDX-License-Identifier: MIT */
/* Flags of open(2) that the C library's headers do not tell. Constant; any thread. The machine's
 * part has:
 *   OPEN_LARGE_FILE   the kernel's O_LARGEFILE, which is 0 in the C library where all files may be
 *                     large */
#pragma once
#include "arch/machine.h"
#include MACHINE_HEADER(open_flags.h)
