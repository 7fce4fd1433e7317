/* SPDX-License-Identifier: MIT */
/* Objects of the kernel, followed through every function that takes a pointer to their type: which
 * functions these are is read from the kernel's BTF, and a BPF program at all of them tells of the
 * calls (wire.h). Nothing stays behind in the kernel when the process ends, however it ends. In a
 * brace that was built without BPF, follow_kernel_open() says so and fails. One thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <string.h>

#include "follow/expression.h"
#include "model/function_list.h"

struct follow_kernel;

struct follow_spec {
	const struct follow_expression *expression;
	const struct follow_shown *shown;
	const char *const *ends; /* functions, NULL-terminated, in which objects end; globs */
	bool ends_usual;         /* not the user's: one that is not there is no fault */
	bool by_identity;
	/* objects are met in some processes only: follow_kernel_ask_for() names them */
	bool some;
	/* a descriptor of these processes, and what is behind it, in place of the expression's
	 * objects, which are files; -1: none */
	int descriptor;
	/* a buffer of these processes, in place of the expression's objects; bytes 0: none */
	uint64_t buffer, buffer_bytes;
	const char *packets;     /* those of an expression of pcap; NULL: all */
	/* functions, as -l, -n and -L have them; empty lists: all, none, everywhere */
	const struct function_list *filter, *notrace, *modules;
	uint64_t limit;          /* functions, where each has to be attached to alone */
	const char *way;         /* the only one; NULL: the best that the kernel has */
};

/* Whether bios and requests with the data of the objects are followed, too: inodes, or bios. */
static inline bool follow_wants_io(const struct follow_spec *w)
{
	return w->by_identity && w->descriptor < 0 && !w->buffer_bytes &&
	       (!strcmp(w->expression->type, "inode") || !strcmp(w->expression->type, "bio"));
}

/* The ways in which the kernel lets the program in, the best first. */
enum follow_way { FOLLOW_SESSION, FOLLOW_MULTI, FOLLOW_SINGLE, FOLLOW_WAYS_N };

enum follow_returns { FOLLOW_VOID, FOLLOW_SIGNED, FOLLOW_UNSIGNED, FOLLOW_POINTER };

struct follow_function {
	char *name;
	const char *module;      /* "vmlinux", or a module's name */
	uint64_t address;
	uint16_t flags;          /* FOLLOW_ENDS, FOLLOW_GIVES */
	uint8_t returns, bytes;  /* enum follow_returns; of the result */
	uint8_t slots[FOLLOW_SLOTS]; /* arguments that may be objects, FOLLOW_NO_SLOT behind them */
};

/* Functions that take the type: takes is the sum of the others. */
struct follow_census {
	unsigned takes, watched;
	unsigned untraceable;    /* the kernel has no place to trace them at */
	unsigned beyond;         /* the object is not in a register */
	unsigned ambiguous;      /* several functions have the name */
	unsigned unchosen;       /* by -l, -n or -L */
	unsigned refused;        /* by the kernel, when they were attached to */
};

/* All that may be missing. known_missed: the kernel tells of `missed`. */
struct follow_losses {
	uint64_t full;           /* events: the buffer was full */
	uint64_t missed;         /* calls that the kernel's own probe missed */
	uint64_t recursed;       /* calls at which a BPF program ran already on that CPU */
	uint64_t deep;           /* returns of calls that were too deep to be remembered */
	uint64_t crowded;        /* objects: too many at once */
	bool known_missed;
};

/* Finds the functions and loads the program, which sees nothing before follow_kernel_attach().
 * 0, or -errno and *err: bad names with their column, no root, no BTF, no BPF. */
int follow_kernel_open(const struct follow_spec *spec, struct follow_kernel **out,
		       struct err *err);
/* 0, or -errno and *err: the kernel does not let it in; E2BIG: only one function after another, and
 * there are more than spec->limit. */
int follow_kernel_attach(struct follow_kernel *k, struct err *err);
/* From now on, after follow_kernel_attach(), objects may be met in this process, too. waits: it is
 * brace's child, and has not executed its program: only what it does then counts. False: there are
 * too many processes. */
bool follow_kernel_ask_for(struct follow_kernel *k, uint32_t pid, bool waits);
enum follow_way follow_kernel_way(const struct follow_kernel *k);
const char *follow_kernel_way_name(enum follow_way way);
const struct follow_census *follow_kernel_census(const struct follow_kernel *k);
/* By the number in events; NULL: there is none. */
const struct follow_function *follow_kernel_function(const struct follow_kernel *k, uint32_t n);
const struct follow_plan *follow_kernel_plan(const struct follow_kernel *k);

typedef void follow_sink(void *context, const struct follow_event *e);
/* Waits up to so long for events, and gives all that are there. 0, or -errno and *err. */
int follow_kernel_read(struct follow_kernel *k, int wait_ms, follow_sink *sink, void *context,
		       struct err *err);
/* Takes the program out of the functions; what was told before can still be read. */
void follow_kernel_detach(struct follow_kernel *k);
/* Before follow_kernel_detach(). */
void follow_kernel_losses(struct follow_kernel *k, struct follow_losses *out);
/* NULL is fine. */
void follow_kernel_close(struct follow_kernel *k);
