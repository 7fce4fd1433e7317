/* SPDX-License-Identifier: MIT */
/* One line that a user types in the last row: what to search, what to show. */
#pragma once
#include "view/grid.h"
#include "view/keys.h"

#define PROMPT_BYTES 256

struct prompt {
	const char *label;       /* NULL: closed */
	char text[PROMPT_BYTES]; /* UTF-8; stays when it is closed */
};

enum prompt_answer { PROMPT_OPEN, PROMPT_GIVEN, PROMPT_LEFT };

/* Opens it, empty; label is a literal. */
void prompt_open(struct prompt *p, const char *label);
/* Takes a key while it is open: GIVEN (Enter) or LEFT (Escape) close it. */
enum prompt_answer prompt_key(struct prompt *p, const struct view_event *e);
void prompt_draw(const struct prompt *p, struct grid *g);
