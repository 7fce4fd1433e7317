/* SPDX-License-Identifier: MIT */
/* The pages by which the kernel maps memory and changes its protection, of this machine, and where
 * a program's addresses end: constants, since the agent, which has no libc, cannot ask for them.
 * Any thread. */
#pragma once
#include <stdint.h>

#include "arch/machine.h"

/* ARCH_PAGE: bytes of a page, a power of two, as uint64_t. The macro also stands in attributes and
 * in assertions. ARCH_ADDRESS_END: all addresses of a program's own are below it; a power of two,
 * as uint64_t. Mappings of the kernel's for programs ([vsyscall]) may be above. */
#include MACHINE_HEADER(page.h)
