/* SPDX-License-Identifier: MIT */
/* arch/filter_code.h for x86-64: at most 28 bytes an instruction, in rax and rcx. */
#pragma once

#define FILTER_CODE_MAX (FILTER_CODE_INSNS * 28u + 16u)
