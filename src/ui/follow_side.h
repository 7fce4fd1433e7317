/* SPDX-License-Identifier: MIT */
/* The kernel's side of brace follow: what the user names of it (-k, --into), opened, and what is
 * said of it at the end. */
#pragma once
#include "follow/kernel.h"
#include "follow/presets.h"
#include "ui/invocation.h"

/* Zeroed: nothing is read yet. */
struct follow_side {
	struct follow_preset preset;
	struct follow_expression expression;
	struct follow_shown shown;
	struct follow_kernel *kernel;
	char *type;              /* "struct sk_buff" */
	uint64_t attach_ms, detach_ms; /* that it took */
};

/* Reads the object and the fields to be shown (NULL: none). 0, or -errno and *err. */
int follow_side_read(struct follow_side *s, const char *text, const char *show, struct err *err);
/* Finds the functions. lists: -l, -n and -L; ends: the user's, NULL-terminated, or NULL: the usual
 * ones; some: objects are met in processes that are asked for only. 0, or -errno and *err. */
int follow_side_open(struct follow_side *s, const struct invocation *inv,
		     const struct settings *lists, const char *const *ends, bool some,
		     struct err *err);
/* Takes the program out of the functions. After follow_kernel_losses(). */
void follow_side_detach(struct follow_side *s);
/* Says how many functions are watched, and why others are not. */
void follow_side_say_functions(const struct follow_side *s);
void follow_side_say_losses(const struct follow_losses *l);
/* Prints both as one line of JSON, which ends --json's lines. */
void follow_side_print_json(const struct follow_side *s, const struct follow_losses *l,
			    struct out *to);
void follow_side_free(struct follow_side *s);
