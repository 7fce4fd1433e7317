/* SPDX-License-Identifier: MIT */
/* arch/sigframe.h for x86-64: the vector registers in the form of XSAVE, and a word of 4 bytes that
 * marks their end. The mark of frames is the code segment, which stands with three others in the
 * word after the flags. */
#pragma once

#define SIGFRAME_CONTEXT 320
#define SIGFRAME_VECTORS_MAX 16384
#define SIGFRAME_END 4
#define SIGFRAME_LINK 8
#define SIGFRAME_MARK_AFTER 2
