/* SPDX-License-Identifier: MIT */
/* arch/kept_words.h for x86-64: agent/entry.S and stub.S push them. */
#pragma once

enum {
	KEPT_ARG0 = -6,   /* rdi */
	KEPT_ARG1 = -7,   /* rsi */
	KEPT_ARG2 = -2,   /* rdx */
	KEPT_ARG5 = -21,  /* r9 */
	KEPT_HANDLER_INFO = -19,    /* rsi */
	KEPT_HANDLER_CONTEXT = -2,  /* rdx */
	KEPT_SCOPE = -4,
	KEPT_SLOT = -5,
	KEPT_RESULT = -2, /* rax */
	KEPT_SECOND = -3, /* rdx */
	KEPT_FLOAT = -5,  /* the lower half of xmm0 */
};
