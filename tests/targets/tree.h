/* A program's own account of its call tree: a line for each call's beginning and end, with the
 * stack it was made on and its depth there, counted by the program. The functions that count begin
 * with t_. tests/run/nesting.sh compares with what brace replays. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "truth.h"

/* One stack of execution: a thread's, or a coroutine's. */
struct tree {
	int coroutine;  /* 0: the thread's own */
	int depth;
	const char *open[512];
};

extern __thread struct tree *tree_now;
extern __thread struct tree tree_own;

void tree_write(const char *path); /* everything so far */
void tree_log(char sign, const char *name);
void tree_cut(int depth);          /* control is back at depth: what was above has ended */
/* A coroutine's, numbered in the order of making. */
void tree_coroutine(struct tree *t);

static inline __attribute__((always_inline)) void enter(const char *name)
{
	tree_log('+', name);
	tree_now->open[tree_now->depth++] = name;
}

static inline __attribute__((always_inline)) void leave(void)
{
	tree_cut(tree_now->depth - 1);
}

/* The body of a traced function that makes an account of itself. */
#define ENTER enter(__func__)
