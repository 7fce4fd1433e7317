/* SPDX-License-Identifier: MIT */
/* Each function of a file, and how it would be hooked or why not: the rows of `brace list`. */
#pragma once
#include "hook/cache.h"

struct hook_list_row {
	uint64_t vaddr;
	uint32_t size;
	char *name;            /* as hook_function_name gives it */
	bool plt;              /* a PLT entry: a call into another module */
	bool hooked;
	bool entry_only;
	const char *kind;      /* one of hook_kind_words: "jump", "none", ... */
	const char *kind_text;
	/* One of hook_reason_words: why not hooked or entry only; "" = neither. */
	const char *reason;
	const char *reason_text;
	uint32_t callers; /* number of redirected calls, of a function that is hooked by them */
	bool unseen;           /* there are further callers, which are not seen */
};

struct hook_list {
	VEC(struct hook_list_row) rows; /* by vaddr */
	/* Counts of these rows; by_reason counts those not hooked. */
	uint32_t by_kind[HOOK_KINDS_N], by_reason[REASONS_N];
	uint64_t code_bytes, unknown_bytes; /* of the whole file: as struct sym_module's */
};

/* Lists the functions of the file at path for which select(name, arg) is true (select NULL: all).
 * Returns 0, or -errno and *err as hook_module_load(). hook_list_free() frees its contents. */
int hook_list_load(const char *path, bool (*select)(const char *name, void *arg), void *arg,
		   struct hook_list *out, struct err *err);
void hook_list_free(struct hook_list *l);
