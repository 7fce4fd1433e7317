/* SPDX-License-Identifier: MIT */
/* A boot configuration while its text is read: what the kernel's grammar (bootconfig.c) and JSON
 * (json.c) have in common. One thread. */
#pragma once
#include "config/bootconfig.h"

struct parser {
	struct bootconfig *c;
	struct err *err;
	const char *at;          /* the byte to be read next, of c->text */
	uint32_t key;            /* the key whose subkeys are read: that of the innermost brace */
	uint32_t open[BOOTCONFIG_WORDS_MAX]; /* keys outside of each open brace */
	unsigned depth;
};

/* Sets the error: a sentence, and the line of c->text that it speaks of. Returns -EINVAL. */
int parsing_fault(struct parser *p, const char *where, const char *sentence);
/* Finds or makes the key between two places of c->text, WORD.WORD..., below p->key. 0, or -EINVAL
 * and the error. */
int parsing_key(struct parser *p, const char *begin, const char *end, uint32_t *key);
/* Adds a value to a key, and takes its text over, also if it fails. 0, or -EINVAL and the error:
 * there are too many. */
int parsing_value(struct parser *p, uint32_t key, const struct bootconfig_value *v);

/* Reads all of c->text, an object of JSON. 0, or -EINVAL and the error. */
int parsing_json(struct parser *p);
