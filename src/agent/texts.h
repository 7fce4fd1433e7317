/* SPDX-License-Identifier: MIT */
/* Which callers are code of a file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct patch_text;

/* Is there a file's code at the address? Only such a caller may be given a stub to return to: code of no file is a
 * translator's, which finds its callers by return addresses. What is not known is looked up, and may be no file's for now.
 * Any thread, in a slow path. */
bool texts_has(uint64_t address);
/* The tracer's word on n executable mappings of files. Any thread, signals blocked. */
void texts_learn(const struct patch_text *at, uint32_t n);
/* Files' code has come, or gone, and anything may stand in its place: what is known is looked up once more. Any thread. */
void texts_changed(bool gone);
void texts_after_fork(void);
