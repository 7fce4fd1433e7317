/* SPDX-License-Identifier: MIT */
/* Words to the user, left in the session memory: see shared/notes.h. */
#pragma once
#include <stdint.h>

#include "shared/notes.h"

/* A handle for note_withdraw, never 0. `name` has NOTE_NAME bytes. */
uint32_t note_write(enum note_kind kind, uint32_t number, const char *name);
/* It did not come true. */
void note_withdraw(uint32_t note);
