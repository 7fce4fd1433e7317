/* SPDX-License-Identifier: MIT */
/* arch/wrapper.h for x86-64: a load of at most seven bytes, the call of two, and 20 to reach the
 * agent. */
#pragma once

#define WRAPPER_BYTES_MAX 9u
#define WRAPPER_CODE_MAX 32u
