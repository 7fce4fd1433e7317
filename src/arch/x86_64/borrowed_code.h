/* SPDX-License-Identifier: MIT */
/* arch/borrowed_code.h for x86-64: places in the code of borrowed_code.c. */
#pragma once

#define BORROWED_CODE_BYTES 32
#define BORROWED_CODE_RESULT 2
#define BORROWED_CODE_BACK 5
#define BORROWED_CODE_END 28
