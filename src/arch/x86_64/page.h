/* SPDX-License-Identifier: MIT */
/* arch/page.h for x86-64: pages of 2 MiB and 1 GiB are made of these. */
#pragma once

#define ARCH_PAGE UINT64_C(4096)
