/* SPDX-License-Identifier: MIT */
/* The memory of a process that has registered words in it (user_events): a program's own memory
 * from one exec to the next, whose words brace changes while the program runs. A fork makes another
 * one, with a copy of the words. All calls may come from any thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

/* A memory stands for itself by its descriptor: after an exec the words of the former program
 * cannot be reached by it. Forks of one exec have one mark. */
struct user_word_memory {
	pid_t pid;
	uint64_t start;           /* the process's, in clock ticks since boot */
	int fd;                   /* /proc/PID/mem */
	uint64_t mark_at;         /* 16 bytes that the kernel draws at each exec (AT_RANDOM) */
	uint8_t mark[16];
};
typedef VEC(struct user_word_memory) user_word_memories;

/* Opens the memory of the thread's process. 0, and *out for user_word_close(); or -errno and *err:
 * the process is gone, or brace may not look at it. */
int user_word_open(pid_t thread, struct user_word_memory *out, struct err *err);
void user_word_close(struct user_word_memory *m);

/* Told by what the program cannot write, and not by its mark. */
bool user_word_is_same(const struct user_word_memory *a, const struct user_word_memory *b);
/* Whether b is a fork of a, or the other way round, or both of another. */
bool user_word_is_kin(const struct user_word_memory *a, const struct user_word_memory *b);
/* False: its last process has ended, or executed another program. */
bool user_word_is_there(const struct user_word_memory *m);

/* Sets or clears a bit of the byte at the address; other bits of the byte may be the program's, or
 * another tracer's: one that changes at the same instant may be lost. What the program itself may
 * not write stays as it is, and so does what it may execute, unless `code`. 0; -ESRCH: the memory
 * is gone; -EFAULT; -ETIMEDOUT: its page does not come. */
int user_word_set(const struct user_word_memory *m, uint64_t address, unsigned bit, bool on,
		  bool code);
/* Whether the program may execute what lies there. */
bool user_word_is_code(const struct user_word_memory *m, uint64_t address);
/* user_word_set() for a thread that waits for brace, where the program may not write: -EFAULT. */
int user_word_set_checked(const struct user_word_memory *m, uint64_t address, unsigned bit,
			  bool on);
/* Writes a number of 4 bytes. Errors as above. */
int user_word_write(const struct user_word_memory *m, uint64_t address, uint32_t number);

/* Adds the memories of all processes that began at `since` or later and are kin of one of these n.
 * user_word_close() each of the new ones, unless it is kept. */
void user_word_find_kin(const struct user_word_memory *const *of, size_t n, uint64_t since,
			user_word_memories *out);

/* Opens the memory of the parent of m's process. 0; -ESRCH: it is no kin of m, or gone. */
int user_word_open_parent(const struct user_word_memory *m, struct user_word_memory *out);

/* Now, in the unit of user_word_memory.start. */
uint64_t user_word_now(void);
