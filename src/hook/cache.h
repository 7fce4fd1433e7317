/* SPDX-License-Identifier: MIT */
/* A module ready to be hooked: functions, names, plan and original bytes. It comes from the cache
 * ($XDG_CACHE_HOME/brace, by the file's identity: sym/file_key.h) if it is there, else from the
 * file itself, which is then read, planned and cached. */
#pragma once
#include "arch/code.h"
#include "base/vec.h"
#include "hook/plan.h"

#define HOOK_WINDOW_MAX 24

struct hook_function {
	uint64_t vaddr;
	uint32_t size;         /* 0 = unknown */
	uint32_t name;         /* offset into strings; 0 = no symbol */
	bool plt;              /* a PLT entry; name is the imported symbol's */
};

/* The file's bytes in the places of patches. */
struct hook_bytes {
	uint8_t window[HOOK_WINDOW_MAX]; /* from vaddr + patch_offset */
	uint8_t window_len;              /* >= recipe.len and >= patch_len of a hooked function */
	uint8_t island[CODE_JUMP_BYTES];               /* HOOK_SHORT: at the island */
};

struct hook_module {
	const char *name;                       /* last component of its path */
	uint32_t n;                             /* functions, by vaddr */
	const struct hook_function *functions;
	/* One each; change them through hook_module_entry(). */
	const struct hook_plan_entry *entries;
	/* Copies of changed entries as they were before; the oldest first. */
	VEC(struct hook_plan_entry) planned;
	const struct hook_bytes *bytes;         /* one each */
	const struct hook_call *calls;          /* n_calls: by function, then by address */
	uint32_t n_calls;
	const char *strings;                    /* NUL-terminated names; byte 0 is NUL */
	uint32_t n_strings;
	const struct sym_segment *segments;     /* PT_LOAD */
	uint32_t n_segments;
	uint8_t build_id[20];
	uint8_t build_id_len;                   /* 0 = it has none */
	uint16_t e_type;
	uint8_t language;                       /* enum sym_language */
	uint64_t entry;
	const char *interp;                     /* NULL: statically linked, or a library */
	const char *const *needed;              /* DT_NEEDED, n_needed of them */
	uint32_t n_needed;
	uint32_t by_kind[HOOK_KINDS_N], by_reason[REASONS_N]; /* as planned */
	bool starts_threads;                    /* as struct hook_plan's */
	uint64_t code_bytes, unknown_bytes;     /* as struct sym_module's */
	bool cached;                            /* it came from the cache */
};

/* Loads the module of a file. Returns 0, or -errno and *err as sym_open's. A cache that cannot be
 * read or written is no error: the file is planned then. hook_module_free() frees it. */
int hook_module_load(const char *path, struct hook_module **out, struct err *err);
/* hook_module_load() for an open regular file, which the caller closes; path and root as
 * sym_open_fd's. */
int hook_module_load_fd(int fd, const char *path, const char *root, struct hook_module **out,
			struct err *err);
void hook_module_free(struct hook_module *m);

/* Returns entry i for a change. All users of the module see the change until
 * hook_module_restore(). */
struct hook_plan_entry *hook_module_entry(struct hook_module *m, uint32_t i);
/* Makes all entries again as they were planned. */
void hook_module_restore(struct hook_module *m);

/* Return the file's bytes in the place of the patch of function i, and those of its island. */
static inline const uint8_t *hook_module_bytes(const struct hook_module *m, uint32_t i)
{
	return m->bytes[i].window;
}
static inline const uint8_t *hook_module_island(const struct hook_module *m, uint32_t i)
{
	return m->bytes[i].island;
}

/* Writes the function's name as reports show it; without a symbol, module and offset:
 * "nginx+0x4a3f0". */
void hook_function_name(const struct hook_module *m, uint32_t i, char *out, size_t n);
/* (tests) Is there a function of this name with code of its own, no PLT entry, no cold fragment? */
bool hook_module_has(const struct hook_module *m, const char *name);
