/* SPDX-License-Identifier: MIT */
/* arch/page.h for x86-64: pages of 2 MiB and 1 GiB are made of these. With five levels of tables
 * there are addresses above, which a program gets only if it asks for them. */
#pragma once

#define ARCH_PAGE UINT64_C(4096)
#define ARCH_ADDRESS_END (UINT64_C(1) << 47)
