/* SPDX-License-Identifier: MIT */
/* The words and texts of plan.h's closed lists, for `brace list --why`, reports and sentences.
 * Constants only, for any thread. */
#include "hook/plan.h"

#define WORD(id, word, text) word,
#define TEXT(id, word, text) text,

const char *const hook_kind_words[HOOK_KINDS_N] = { HOOK_KINDS(WORD) };
const char *const hook_kind_texts[HOOK_KINDS_N] = { HOOK_KINDS(TEXT) };
const char *const hook_reason_words[REASONS_N] = { HOOK_REASONS(WORD) };
const char *const hook_reason_texts[REASONS_N] = { HOOK_REASONS(TEXT) };
