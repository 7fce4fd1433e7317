/* SPDX-License-Identifier: MIT */
/* arch/trampoline.h for x86-64: no template is longer than 512 bytes. */
#pragma once

#define TRAMPOLINE_MAX_BYTES (512 + CONDITION_CODE_MAX + RELOCATE_MAX_BYTES)
#define TRAMPOLINE_ARGUMENTS_BYTES 19
