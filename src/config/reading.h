/* SPDX-License-Identifier: MIT */
/* A boot configuration while it becomes writes: keys are marked as they are read, so that those
 * nobody knows can be told. One thread. */
#pragma once
#include "config/writes.h"

struct config_reading {
	const struct bootconfig *c;
	struct config_writes *to;
	const char *instance;    /* of the writes that are added; NULL: the top */
	bool *known;             /* by key */
};

/* The key below `key`, marked as known; BOOTCONFIG_NONE: there is none. */
uint32_t reading_find(struct config_reading *r, uint32_t key, const char *path);
/* Marks all keys below `key`: one remark tells of them. */
void reading_know_all(struct config_reading *r, uint32_t key);
/* The place of a key's value number i, or of the key, if it has fewer. */
size_t reading_position(const struct config_reading *r, uint32_t key, size_t i);
/* Adds a write. Takes `file` and `text` over. */
void reading_write(struct config_reading *r, size_t at, char *file, char *text, bool append);
void reading_remark(struct config_reading *r, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The values joined by a separator, for free(). */
char *reading_join(const struct config_reading *r, uint32_t key, const char *separator);
