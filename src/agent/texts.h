/* SPDX-License-Identifier: MIT */
/* The callers that are code of a file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct patch_text;

/* True if there is code of a file at the address. Only such a caller may be given a stub to return
 * to: code of no file is a translator's, which finds its callers by their return addresses. An
 * unknown address is looked up, and may count as no file's for now. Any thread, in a slow path. */
bool texts_has(uint64_t address);
/* Learns n executable mappings of files from the tracer. Any thread, signals blocked. */
void texts_learn(const struct patch_text *at, uint32_t n);
/* Modules have come, or gone, and anything may be in their place: known ranges are checked once
 * more. Any thread. */
void texts_changed(bool gone);
/* In a child: frees the lock, whose holder may not exist there. */
void texts_after_fork(void);
