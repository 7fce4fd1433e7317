/* SPDX-License-Identifier: MIT */
/* Test points: named places at which tests kill one side or the other, or send the program a signal
 * (tests/death/killer.c). A point is no instruction: it is an entry in a section that is not
 * loaded, .brace_points: the place's address (64 bits), its name, a NUL. */
#pragma once
#ifndef NO_POINTS
#define POINT(name)                                                                                \
	__asm__ volatile("707:\n\t.pushsection .brace_points, \"\", @progbits\n\t.quad 707b\n\t"  \
			 ".asciz \"" #name "\"\n\t.popsection")
#else
#define POINT(name) ((void)0)
#endif
