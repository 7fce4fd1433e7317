/* SPDX-License-Identifier: MIT */
/* arch/condition_code.h for x86-64: the program twice, of 13 bytes a term and a jump behind each,
 * and the end. */
#pragma once

#define CONDITION_CODE_MAX (2 * (CONDITION_CODE_INSNS * 13u + 5u) + 56u)
