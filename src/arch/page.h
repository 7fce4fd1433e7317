/* SPDX-License-Identifier: MIT */
/* The pages by which the kernel maps memory and changes its protection, of this machine: a
 * constant, since the agent, which has no libc, cannot ask for it. Any thread. */
#pragma once
#include <stdint.h>

#include "arch/machine.h"

/* ARCH_PAGE: bytes of a page, a power of two, as uint64_t. The macro also stands in attributes and
 * in assertions. */
#include MACHINE_HEADER(page.h)
