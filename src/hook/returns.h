/* SPDX-License-Identifier: MIT */
/* The instructions by which a function returns, for probes of its return: each is probed, so that
 * the program's stack stays as it is. A function that leaves in another way is told, with the
 * place: its return happens in other code. */
#pragma once
#include "hook/probe.h"

/* Reasons why returns are not all seen. */
#define RETURN_BARS(X)                                                                             \
	X(NONE, "")                                                                                \
	X(NO_FUNCTION, "no function begins here")                                                  \
	X(TAIL_CALL, "the function goes on in another one by a jump, and that one returns")        \
	X(COMPUTED, "the function jumps to an address that it computes")                           \
	X(UNDECODABLE, "there are bytes in the function that are no instruction")                  \
	X(NEVER, "the function has no return instruction")                                         \
	X(WINDOW, "no probe fits at a return instruction")                                         \
	X(OVERLAP, "two return instructions are too close to each other for a probe at each")

enum return_bar {
#define X(id, text) RETURN_BAR_##id,
	RETURN_BARS(X)
#undef X
	RETURN_BARS_N
};
extern const char *const return_bar_texts[RETURN_BARS_N];

struct hook_returns {
	VEC(const struct hook_probe *) at; /* the prober's, by vaddr; none if there is a bar */
	enum return_bar bar;
	uint64_t where;           /* vaddr of what bars; 0: nothing in particular */
	enum hook_reason reason;  /* of WINDOW */
};

/* Finds the returns of the function that begins at vaddr, also those in its cold fragments. The
 * caller frees with hook_returns_free(). */
void hook_returns_find(struct hook_prober *p, uint64_t vaddr, struct hook_returns *out);
void hook_returns_free(struct hook_returns *r);
