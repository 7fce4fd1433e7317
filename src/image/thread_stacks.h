/* SPDX-License-Identifier: MIT */
/* Where the threads of a running process stand: the calls that each has open, by the unwind tables
 * of the files that it maps. The process is stopped for as long as its stacks are walked. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

#define THREAD_STACK_MOST 1024u /* frames of one thread */
#define STACK_NO_FILE SIZE_MAX
#define STACK_NO_SOURCE SIZE_MAX

/* A frame. pc: where the thread stands, or where a call returns to. file: the mapped file that has
 * the instruction (of a call: that of the call); STACK_NO_FILE: the code is no file's. */
struct stack_frame {
	uint64_t pc;
	uint64_t offset, vaddr;   /* of the instruction, in the file; vaddr is known if `placed` */
	size_t file;
	size_t source;            /* of thread_stacks_source() */
	bool placed;
	bool rest;                /* not filled by the file; no stack has such frames */
	bool returns;             /* pc is a return address */
	bool signal;              /* the kernel's frame between a handler and what it interrupted */
	bool by_frame;            /* found by a frame pointer, which no table confirms */
};

enum stack_end {
	STACK_WHOLE,              /* the tables say that the last one has no caller */
	STACK_NO_TABLE,           /* nothing tells who called the last one */
	STACK_LONG,               /* there are more than THREAD_STACK_MOST */
};

struct standing_stack {
	pid_t tid;
	int64_t call;             /* number of the system call that it is in; negative: none */
	enum stack_end end;
	VEC(struct stack_frame) frames; /* the innermost first */
};

struct thread_stacks;

/* Stops the process, walks, and lets it go. Returns 0; or -errno and *err as tracee_stop() does.
 * thread_stacks_free() frees *out. It starts a thread, which ends before it returns or waits for
 * the process's late threads (tracee/holder.h). */
int thread_stacks_take(pid_t pid, struct thread_stacks **out, struct err *err);
void thread_stacks_free(struct thread_stacks *s); /* NULL is fine */

/* The number of threads that were walked; thread i of them, valid until thread_stacks_free(). */
size_t thread_stacks_count(const struct thread_stacks *s);
const struct standing_stack *thread_stacks_at(const struct thread_stacks *s, size_t i);
/* The longest time that a thread stood still, in nanoseconds. */
uint64_t thread_stacks_stood(const struct thread_stacks *s);

/* A frame's file as the process names it; NULL: it has none. */
const char *thread_stacks_path(const struct thread_stacks *s, const struct stack_frame *f);
/* The symbol of a frame's function, and how far behind its beginning pc is; NULL: it has none. Code
 * of no file has the name that its program told profilers (sym/made_code.h). Reads the file's
 * symbols when it is first asked for. Valid until thread_stacks_free(). */
const char *thread_stacks_symbol(struct thread_stacks *s, const struct stack_frame *f,
				 uint64_t *behind);

/* Looks up the source lines of all frames, by the debug information of their files. A file without
 * it, or with what cannot be read, has none. */
void thread_stacks_read_sources(struct thread_stacks *s);
/* The path of a frame's source file, as the compiler saw it, and the line of the instruction; NULL:
 * not known. Valid until thread_stacks_free(). */
const char *thread_stacks_source(const struct thread_stacks *s, const struct stack_frame *f,
				 uint32_t *line);
