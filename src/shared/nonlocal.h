/* SPDX-License-Identifier: MIT */
/* Functions that may make a thread continue elsewhere than after their call (longjmp, setcontext,
 * unwinders): docs/nesting.md. */
#pragma once
#include <stdint.h>

/* The way in which a call may leave its stack other than by returning. Also a field of an id word,
 * at NONLOCAL_SHIFT. */
enum nonlocal_kind {
	NONLOCAL_NOT,
	NONLOCAL_SOMEWHERE,         /* destination unknown */
	NONLOCAL_BY_JMP_BUF,        /* for good, to its first argument, a jmp_buf */
	NONLOCAL_BY_CONTEXT,        /* for good, to its first argument, a ucontext_t */
	/* to its second argument, a ucontext_t; control may come back */
	NONLOCAL_BY_SECOND_CONTEXT,
	/* Up this stack; the unwinder tells separately which calls it passes
	 * (RECORD_EVENT_UNWIND). */
	NONLOCAL_BY_UNWINDING,
	/* does not leave, but control may return again to where it returns (setjmp) */
	NONLOCAL_MARK,
	/* Does not leave, but makes a child that may run with its thread pointer (vfork). */
	NONLOCAL_LENDING,
	NONLOCAL_KINDS
};

/* Ways in which a function makes a thread that no C library sets up. Before it does, no_tls.c gives
 * all threads other blocks. */
enum start_kind {
	START_NOT,
	START_BY_CLONE,          /* libc's clone(): flags and thread pointer are its arguments */
	/* the system call stands in it; with which flags is not known at its entry */
	START_BY_HAND,
	START_KINDS
};

#define NONLOCAL_SHIFT 26
#define NONLOCAL_MASK 7u
#define NONLOCAL_SILENT (1u << 29) /* the call itself is not to be recorded */
#define NONLOCAL_START_SHIFT 30    /* in nonlocal_info.size */
#define NONLOCAL_SIZE_MASK ((1u << NONLOCAL_START_SHIFT) - 1)

/* Stands in the trampoline of such a function. */
struct nonlocal_info {
	uint32_t id_word, size;  /* size of the function in bytes; above them, its start_kind */
	int32_t from;            /* offset from the end of this struct to the function */
};
