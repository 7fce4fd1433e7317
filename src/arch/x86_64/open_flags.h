/* SPDX-License-Identifier: MIT */
/* arch/open_flags.h for x86-64: as the kernel's asm-generic/fcntl.h has it. */
#pragma once

#define OPEN_LARGE_FILE 0x8000u
